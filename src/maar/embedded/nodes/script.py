"""The simulated run of a pod on a virtual node, from its annotations."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from maar.core.model.durations import BadDurationError, seconds

RUN_FOR: Final = "maar.sh/run-for"
EXIT_CODE: Final = "maar.sh/exit-code"
STOP_AFTER: Final = "maar.sh/stop-after"

_LARGEST_CODE: Final = 255


class BadAnnotationError(ValueError):
    """An annotation that cannot be followed."""


class Script(NamedTuple):
    """How a pod runs: for how long (None: until it is deleted), how it ends, how long it takes to stop."""

    run_for: float | None = None
    exit_code: int = 0
    stop_after: float = 0.0


UNTIL_DELETED: Final = Script()


def script_of(annotations: Mapping[str, str]) -> Script:
    """Read the annotations of a pod."""
    run_for, code, stop_after = (annotations.get(name) for name in (RUN_FOR, EXIT_CODE, STOP_AFTER))
    if run_for is code is stop_after is None:
        return UNTIL_DELETED
    return Script(
        None if run_for is None else _duration(RUN_FOR, run_for),
        0 if code is None else _exit_code(code),
        0.0 if stop_after is None else _duration(STOP_AFTER, stop_after),
    )


def _duration(name: str, text: str) -> float:
    try:
        return seconds(text)
    except BadDurationError as error:
        raise BadAnnotationError(f"annotation {name}: {error}") from None


def _exit_code(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST_CODE))):
        raise BadAnnotationError(f'annotation {EXIT_CODE}: {text!r} is not an exit code: write "0" or "1"')
    if int(text) > _LARGEST_CODE:
        raise BadAnnotationError(f"annotation {EXIT_CODE}: {text} is above {_LARGEST_CODE}: write less")
    return int(text)
