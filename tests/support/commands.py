"""Our programs as users run them, without the seconds that starting a process takes."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from maar.cli import main


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `maar`, `vcctl` or one of Volcano's short programs with arguments."""
    monkeypatch.setenv("COLUMNS", "200")  # sentences of the command line stay whole

    def ended(program: str, *arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main.run_program(program)
        reported = capsys.readouterr()
        assert "Traceback" not in reported.err
        assert "a bug in Maar" not in reported.err
        code = left.value.code
        return Ended(code if isinstance(code, int) else 0, reported.out, reported.err)

    return ended
