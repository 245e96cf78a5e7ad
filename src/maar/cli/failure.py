"""How commands fail: a sentence for each thing on standard error, an exit code, and never a stack trace."""

import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

import typer

from maar.api.errors import InputError
from maar.cli.visible import visible_output

T = TypeVar("T")

FAILED: Final = 1  # something the user can put right
WRONG_USAGE: Final = 2  # a wrong command line
BUG: Final = 70
_MOST_LINES: Final = 1_000


class CommandError(InputError):
    """What keeps a command from doing what it is asked; the user can put it right."""


def run(
    app: typer.Typer, name: str, wrong_usage: int = WRONG_USAGE, arguments: Sequence[str] | None = None
) -> None:
    """Run a command line; it leaves with its exit code, or with `wrong_usage` where the line is wrong."""
    with visible_output():
        _run(app, name, wrong_usage, arguments)


def _run(app: typer.Typer, name: str, wrong_usage: int, arguments: Sequence[str] | None) -> None:
    try:
        app(arguments, prog_name=name, color=True)  # escapes are shown and not left out, also in a pipe
    except SystemExit as left:
        if left.code == WRONG_USAGE:
            sys.exit(wrong_usage)
        raise
    except InputError as error:
        flag = f"--{error.option.replace('_', '-')}" if error.option else ""
        _leave(tuple(f"{flag}{sentence}" for sentence in error.sentences), FAILED)
    except Exception as error:
        if sentence := _of_plugin(error):
            _leave((sentence,), FAILED)
        if os.environ.get("MAAR_TRACE"):
            raise
        what = f"a bug in Maar: {type(error).__name__}: {error}"
        _leave((f"{what} (set MAAR_TRACE=1 to see where, and report it)",), BUG)


async def for_each(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do something to several things; a failure of one does not stop the others."""
    refusals: list[str] = []
    for item in items:
        try:
            await work(item)
        except InputError as error:
            refusals += error.sentences
    if refusals:
        raise CommandError(*refusals)


def shortened(lines: list[str]) -> list[str]:
    """As many lines as a person may still read, and the number of the others."""
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"... and {more:,} more like these"]


def _of_plugin(error: Exception) -> str:
    """What a third party's plugin did wrong, where it is the cause; a daemon's tasks fail in groups."""
    from maar.core.policy.plugin_hooks import PluginError  # noqa: PLC0415  # only a failure waits for it

    while isinstance(error, ExceptionGroup) and (of_plugin := error.subgroup(PluginError)) is not None:
        error = of_plugin.exceptions[0]
    return str(error) if isinstance(error, PluginError) else ""


def _leave(sentences: tuple[str, ...], code: int) -> None:
    for sentence in shortened([f"error: {sentence}" for sentence in sentences]):
        typer.echo(sentence, err=True, color=True)
    sys.exit(code)
