"""What keeps an answer from being given: a sentence for each thing, with the next step."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Something that the caller can put right.

    Sentences about one option go on from its name; a command writes that as a flag.
    """

    def __init__(self, *sentences: str, option: str = "") -> None:
        super().__init__("\n".join(f"{option}{sentence}" for sentence in sentences))
        self.sentences, self.option = sentences, option


class PlanError(InputError):
    """What keeps a cluster from being planned: a sentence a line, each with its place."""


class SimulationError(InputError):
    """What keeps a workload from being simulated: a sentence a line."""


@contextmanager
def raising(kind: type[InputError]) -> Iterator[None]:
    """Raise what is wrong with some input as an error of this kind."""
    try:
        yield
    except InputError as error:
        raise kind(*error.sentences, option=error.option) from None


def why(error: OSError) -> str:
    """What the system says of a file, without a number and without the name of the file."""
    return (error.strerror or str(error)).lower()
