"""How commands fail: one sentence on standard error, an exit code, and never a stack trace."""

import os
import sys
from typing import Final

import typer

FAILED: Final = 1  # something the user can put right; 2 is a wrong command line
BUG: Final = 70


class CommandError(Exception):
    """Something the user can put right; its text says what and how."""


def run(app: typer.Typer, name: str) -> None:
    """Run a command line; it leaves with its exit code."""
    try:
        app(prog_name=name)
    except CommandError as error:
        _leave(str(error), FAILED)
    except Exception as error:
        if os.environ.get("MAAR_TRACE"):
            raise
        _leave(
            f"a bug in Maar: {type(error).__name__}: {error} (set MAAR_TRACE=1 to see where, and report it)",
            BUG,
        )


def _leave(sentence: str, code: int) -> None:
    typer.echo(f"error: {sentence}", err=True)
    sys.exit(code)
