"""Containers as processes of this machine, each with a supervisor, which a later server finds again."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from maar.embedded.nodes.container_supervisor import RunRequest, began, boot

KILLED: Final = 137
_CANNOT_START: Final = 128
LOST: Final = "Lost"
CAN_OUTLIVE: Final = sys.platform == "linux"  # where a process can be found again, and known for the same

_SUPERVISOR: Final = Path(__file__).with_name("container_supervisor.py")
_CHUNK: Final = 4096
_FOR_PYTHON: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # what the interpreter may need to start
_REAP_AGAIN: Final = 0.01  # seconds


class Ending(NamedTuple):
    """How a container ended; an empty reason says no more than the exit code."""

    exit_code: int
    reason: str = ""
    message: str = ""
    at: float | None = None  # None: now


class _Report(msgspec.Struct):
    """A line from the supervisor."""

    supervisor: int | None = None
    began: str = ""
    boot: str = ""
    cpus: list[int] = []
    pid: int | None = None
    failed: str | None = None
    exit_code: int | None = None
    out_of_memory: bool = False
    at: float | None = None


class _Supervisor(Protocol):
    """A supervisor: a child of this process, or one that another server started."""

    @property
    def source(self) -> int:
        """A file descriptor that is readable when there is something to read, and at the end."""

    def read(self) -> bytes:
        """What it has reported since; nothing at the end."""

    def send_signal(self, number: int) -> None:
        """Send a signal."""

    def is_gone(self) -> bool:
        """Whether it has ended, and is reaped."""

    def close(self) -> None:
        """Release it."""


class Process:
    """A container that runs; it is there as soon as it is made, so that none is started unnoticed."""

    def __init__(self, supervisor: _Supervisor, if_lost: Ending) -> None:
        self._loop = asyncio.get_running_loop()
        self._supervisor, self._if_lost = supervisor, if_lost
        self._unread = b""
        self._unsent: int | None = None  # before the supervisor listens
        self._ending: Ending | None = None
        self.cpus: list[int] = []
        self.started: asyncio.Future[bool] = self._loop.create_future()
        self.ended: asyncio.Future[Ending] = self._loop.create_future()

    @classmethod
    def start(cls, run_request: RunRequest) -> "Process":
        """Start a container."""
        child = _Child(run_request)
        process = cls(
            child, Ending(KILLED, "Error", "the process that watched over the container was killed")
        )
        process._loop.add_reader(child.source, process._on_change)
        return process

    @classmethod
    def found(cls, record: Path) -> "Process":
        """The container of a record: one that runs, or one that has ended."""
        said = record.read_bytes()
        first = _report(said.partition(b"\n")[0])
        if (supervisor := _Found.of(first, record)) is None:
            process = cls(_Gone(), _lost(first))
            process._read_reports(record.read_bytes())  # again: it may have ended after the first time
            process._end()
        else:
            process = cls(supervisor, _lost(first))
            process._read_reports(supervisor.read())
            process._loop.add_reader(supervisor.source, process._on_change)
        return process

    def terminate(self) -> None:
        """Ask it to end: SIGTERM to its process group."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End it, and whatever it started."""
        self._send(signal.SIGUSR1)

    def release(self) -> None:
        """Follow it no more; it runs on."""
        if not self.ended.done():
            self.ended.cancel()
            self._loop.remove_reader(self._supervisor.source)
            self._supervisor.close()

    def _send(self, number: int) -> None:
        if not self.started.done():
            self._unsent = number
        elif not self.ended.done():
            with contextlib.suppress(ProcessLookupError):
                self._supervisor.send_signal(number)

    def _on_change(self) -> None:
        data = self._supervisor.read()
        self._read_reports(data)
        if not data:
            self._loop.remove_reader(self._supervisor.source)
            self._end()

    def _read_reports(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._take(_report(line))

    def _take(self, report: _Report) -> None:
        if report.supervisor is not None:
            self.cpus = report.cpus
        elif report.pid is not None:
            self.started.set_result(True)
            if self._unsent is not None:
                self._send(self._unsent)
        elif report.failed is not None:
            self._ending = Ending(_CANNOT_START, "StartError", report.failed)
        elif report.exit_code is not None:
            reason = "OOMKilled" if report.out_of_memory else ""
            self._ending = Ending(report.exit_code, reason, at=report.at)

    def _end(self) -> None:
        """Take note of the end, once the supervisor is reaped; without blocking."""
        if self.ended.cancelled():
            return
        if not self._supervisor.is_gone():
            self._loop.call_later(_REAP_AGAIN, self._end)
            return
        self._supervisor.close()
        if not self.started.done():
            self.started.set_result(False)
        # A supervisor without last report was killed; the kernel kills its container with it.
        self.ended.set_result(self._ending or self._if_lost)


def runs_on(record: Path) -> bool:
    """Whether the container of a record still has its supervisor."""
    found = _Found.of(_report(record.read_bytes().partition(b"\n")[0]), record)
    if found is not None:
        found.close()
    return found is not None


class _Child:
    """A supervisor that this process has started."""

    def __init__(self, run_request: RunRequest) -> None:
        server_lives, self._lifeline = os.pipe()
        self.source, reports = os.pipe()
        try:
            with tempfile.TemporaryFile() as file:
                file.write(json.dumps(run_request).encode())
                file.seek(0)
                self._process = subprocess.Popen(  # noqa: S603  running commands is what a local node is for
                    [sys.executable, "-I", "-S", str(_SUPERVISOR), str(file.fileno())],
                    stdin=server_lives,
                    stdout=reports,
                    env={name: os.environ[name] for name in _FOR_PYTHON if name in os.environ},
                    cwd="/",
                    pass_fds=(file.fileno(),),
                    start_new_session=True,
                )
        finally:
            os.close(server_lives)
            os.close(reports)
        os.set_blocking(self.source, False)

    def read(self) -> bytes:
        return os.read(self.source, _CHUNK)

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def is_gone(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        os.close(self.source)
        os.close(self._lifeline)
        self._process.returncode = self._process.returncode or 0  # if it runs on, it is not ours to reap


class _Found:
    """A supervisor that an earlier server has started; its source is readable once it has ended."""

    def __init__(self, handle: int, record: Path) -> None:
        self.source = handle
        self._record = record.open("rb")

    @classmethod
    def of(cls, first: _Report, record: Path) -> "_Found | None":
        """The supervisor that a record begins with, if it is still there."""
        pid = first.supervisor
        if not CAN_OUTLIVE or pid is None or first.boot != boot():
            return None
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return None
        if not first.began or began(pid) != first.began:  # another process has its number now
            os.close(handle)
            return None
        return cls(handle, record)

    def read(self) -> bytes:
        return self._record.read()

    def send_signal(self, number: int) -> None:
        signal.pidfd_send_signal(self.source, number)

    def is_gone(self) -> bool:
        return True  # its source has said so

    def close(self) -> None:
        os.close(self.source)
        self._record.close()


class _Gone:
    """A supervisor that has ended before anybody looked."""

    source = -1

    def read(self) -> bytes:
        return b""

    def send_signal(self, number: int) -> None:
        """There is nothing to send it to."""

    def is_gone(self) -> bool:
        return True

    def close(self) -> None:
        """There is nothing to release."""


def _report(line: bytes) -> _Report:
    try:
        return msgspec.json.decode(line, type=_Report)
    except msgspec.MsgspecError:  # a full disk has cut it off
        return _Report()


def _lost(first: _Report) -> Ending:
    if first.boot and first.boot != boot():
        why = "the machine was restarted while the container ran"
    else:
        why = "the process that watched over the container was killed while maar up was away"
    return Ending(KILLED, LOST, f"{why}: the container is gone, and its exit code is not known")
