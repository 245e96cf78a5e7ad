"""Processes that end when we do, however we end."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

LOG_LINES_SHOWN: Final = 20
TIMEOUT_S: Final = 60


class Group:
    """Processes with one life: all are killed at the end of the block, or when whoever opened it dies."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        # Its input ends when we close it and, since nobody else holds the other end, also when we are killed.
        self._supervisor = subprocess.Popen(
            ["sh", "-c", "read -r _; kill -KILL 0"], stdin=subprocess.PIPE, process_group=0
        )

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start a process; what it says goes to the end of its log."""
        with self.log(name).open("ab") as log:
            self._started[name] = subprocess.Popen(
                command,
                cwd=self._logs,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=self._supervisor.pid,
            )

    def stop(self, name: str, by: signal.Signals) -> None:
        """Send a signal and wait for the end."""
        process = self._started.pop(name)
        process.send_signal(by)
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise TimeoutError(
                f"{name} still ran {TIMEOUT_S} s after {by.name}, and was killed.\n{self.last_words(name)}"
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
