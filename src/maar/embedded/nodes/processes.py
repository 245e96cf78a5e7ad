"""Containers as processes of this machine, each with a supervisor that ends it with the server."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from maar.embedded.nodes.container_supervisor import RunRequest

KILLED: Final = 137
CANNOT_START: Final = 128

_SUPERVISOR: Final = Path(__file__).with_name("container_supervisor.py")
_CHUNK: Final = 4096
_FOR_PYTHON: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # what the interpreter may need to start
_REAP_AGAIN: Final = 0.01  # seconds


class Ending(NamedTuple):
    """How a container ended; an empty reason says no more than the exit code."""

    exit_code: int
    reason: str = ""
    message: str = ""


class _Report(msgspec.Struct):
    """A line from the supervisor."""

    pid: int | None = None
    failed: str | None = None
    exit_code: int | None = None
    out_of_memory: bool = False


class Process:
    """A container that runs; it is there as soon as it is made, so that none is started unnoticed."""

    def __init__(self, run_request: RunRequest) -> None:
        self._loop = asyncio.get_running_loop()
        self._pid = 0
        self._partial_line = b""
        self._ending: Ending | None = None
        self.started: asyncio.Future[bool] = self._loop.create_future()
        self.ended: asyncio.Future[Ending] = self._loop.create_future()
        signals, self._signals = os.pipe()
        self._reports, reports = os.pipe()
        try:
            with tempfile.TemporaryFile() as file:
                file.write(json.dumps(run_request).encode())
                file.seek(0)
                self._supervisor = subprocess.Popen(  # noqa: S603  running commands is what a local node is for
                    [sys.executable, "-I", "-S", str(_SUPERVISOR), str(file.fileno())],
                    stdin=signals,
                    stdout=reports,
                    env={name: os.environ[name] for name in _FOR_PYTHON if name in os.environ},
                    cwd="/",
                    pass_fds=(file.fileno(),),
                    start_new_session=True,
                )
        finally:
            os.close(signals)
            os.close(reports)
        os.set_blocking(self._reports, False)
        self._loop.add_reader(self._reports, self._on_change)

    def terminate(self) -> None:
        """Ask it to end: SIGTERM to its process group."""
        self._signal(b"TERM")

    def kill(self) -> None:
        """End it, and whatever it started."""
        self._signal(b"KILL")

    def _signal(self, word: bytes) -> None:
        if not self.ended.done():
            with contextlib.suppress(BrokenPipeError):
                os.write(self._signals, word)

    def _on_change(self) -> None:
        data = os.read(self._reports, _CHUNK)
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        for line in lines:
            self._take(msgspec.json.decode(line, type=_Report))
        if not data:
            self._loop.remove_reader(self._reports)
            os.close(self._reports)
            os.close(self._signals)
            self._reap()

    def _take(self, report: _Report) -> None:
        if report.pid is not None:
            self._pid = report.pid
            self.started.set_result(True)
        elif report.failed is not None:
            self._ending = Ending(CANNOT_START, "StartError", report.failed)
        elif report.exit_code is not None:
            reason = "OOMKilled" if report.out_of_memory else ""
            self._ending = Ending(report.exit_code, reason)

    def _reap(self) -> None:
        """Reap the supervisor, which has reported its end, without blocking."""
        if self._supervisor.poll() is None:
            self._loop.call_later(_REAP_AGAIN, self._reap)
            return
        if self._ending is None:  # the supervisor was killed: its container has gone with it
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL) if self._pid else None
            self._ending = Ending(KILLED, "Error", "the process that watched over the container was killed")
        if not self.started.done():
            self.started.set_result(False)
        self.ended.set_result(self._ending)
