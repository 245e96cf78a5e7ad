"""How Volcano's commands fail: `Failed to run job: …` and exit code 255; here on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

from maar.cli.failure import CommandError

FAILED: Final = 255


@contextmanager
def failing_as(what: str) -> Iterator[None]:
    """Give failures Volcano's words and exit code; `what` is the verb and the noun."""
    try:
        yield
    except CommandError as error:
        for sentence in error.sentences:
            typer.echo(f"Failed to {what}: {sentence}" if what else f"Failed to: {sentence}", err=True)
        raise typer.Exit(FAILED) from None


def named(name: str, verb: str) -> str:
    """The name of a job, which Volcano's commands take as a flag."""
    if not name:
        raise CommandError(f"job name is mandatory to {verb} a particular job")
    return name
