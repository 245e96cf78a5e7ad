"""Processes that end when we do, however we end."""

import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, Self, TypeVar

from support.until import TIMEOUT_S

T = TypeVar("T", str, bytes)

LOG_LINES_SHOWN: Final = 20


@contextmanager
def bounded(process: "subprocess.Popen[T]") -> "Iterator[subprocess.Popen[T]]":
    """A process that outlives neither the block nor the limit of every wait, after which reads of it end."""
    limit = threading.Timer(TIMEOUT_S, process.kill)
    limit.start()
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()


class Group:
    """Processes with one life: all are killed at the end of the block, or when whoever opened it dies."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        # Its input ends when we close it and, since nobody else holds the other end, also when we are killed.
        self._supervisor = subprocess.Popen(
            ["sh", "-c", "read -r _; kill -KILL 0"], stdin=subprocess.PIPE, process_group=0
        )

    def start(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        out: Path | None = None,
    ) -> int:
        """Start a process, which appends to its log, or writes its output to `out`; give its number."""
        with self.log(name).open("ab") as log, out.open("wb") if out else nullcontext(log) as printed:
            self._started[name] = subprocess.Popen(
                command,
                cwd=self._logs,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=log,
                process_group=self._supervisor.pid,
            )
        return self._started[name].pid

    def stop(self, name: str, by: signal.Signals) -> int:
        """Send a signal, wait for the end and give the exit code."""
        process = self._started.pop(name)
        process.send_signal(by)
        try:
            return process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise TimeoutError(
                f"{name} still ran {TIMEOUT_S:.0f} s after {by.name}, and was killed.\n"
                f"{self.last_words(name)}"
            ) from None

    def check(self) -> None:
        """Raise if a process has ended that nobody stopped."""
        for name, process in self._started.items():
            if process.poll() is not None:
                raise ChildProcessError(
                    f"{name} ended by itself with {process.returncode}.\n{self.last_words(name)}"
                )

    def last_words(self, *names: str) -> str:
        """The ends of the logs of these processes, or of all, and where the whole is."""
        lines = list[str]()
        for log in map(self.log, names) if names else sorted(self._logs.glob("*.log")):
            lines.append(f"The end of {log}:")
            lines += log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return "\n".join(lines)

    def log(self, name: str) -> Path:
        """Where a process of that name writes what it says."""
        return self._logs / f"{name}.log"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._supervisor.communicate()
        for process in self._started.values():
            process.wait()
