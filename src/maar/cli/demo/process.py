"""`maar up` as a child process of the demo, in a temporary folder."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

import typer

from maar.cli.failure import CommandError

_PROGRAM: Final = (sys.executable, "-c", "from maar.cli.entry import maar; maar()")
_IS_UP: Final = "maar is up"
_STOP_WITHIN_S: Final = 10.0
_LAST_LINES: Final = 5


class ClusterProcess:
    """A cluster that runs while it is entered; whatever happens then, nothing of it is left."""

    def __init__(self, nodes: str) -> None:
        self._nodes = nodes

    def __enter__(self) -> Self:
        self._temporary = TemporaryDirectory(prefix="maar-demo-")
        self.folder = Path(self._temporary.name)
        self.kubeconfig = self.folder / "kubeconfig"
        self._log = self.folder / "maar-up.log"
        command = (*_PROGRAM, "up", "--data", str(self.folder), "--port", "0", "--nodes", self._nodes)
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(  # noqa: S603  # our own program
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    process_group=0,  # Ctrl-C is for us, and we end it in our own time
                )
        except BaseException:
            self._temporary.cleanup()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.terminate()
            self._process.wait(_STOP_WITHIN_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as problem:
            self._process.kill()
            self._process.wait()
            if isinstance(problem, subprocess.TimeoutExpired):  # otherwise Ctrl-C was pressed twice
                typer.echo(f"warning: maar up did not stop in {_STOP_WITHIN_S:g} s and was killed", err=True)
        finally:
            if self._process.stdout:
                self._process.stdout.close()
            self._temporary.cleanup()

    def wait_until_up(self) -> None:
        """Wait until it says that it is up."""
        for line in self._process.stdout or ():
            if line.startswith(_IS_UP):
                return
        raise self.ended()

    def ended(self) -> CommandError:
        """What to say when it has ended by itself."""
        words = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
        return CommandError("maar up ended unexpectedly; the end of its output:", *words)

    @property
    def has_ended(self) -> bool:
        """Whether it runs no longer."""
        return self._process.poll() is not None
