"""Maar's programs beside a real cluster, to be killed, stopped, resumed and measured."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Final

from support.processes import Group
from support.until import TIMEOUT_S, until

MAAR: Final = str(Path(sys.executable).with_name("maar"))
AT_WORK: Final = "at work"  # what our programs say after their first decision


class Daemons(Group):
    """Processes of Maar, by name; all end with the block."""

    def run(self, name: str, part: str, kubeconfig: Path, *flags: str) -> None:
        """Start `maar scheduler` or `maar controllers`; what it says goes to its log."""
        self.log(name).unlink(missing_ok=True)  # what an earlier life of it said is no sign of this one
        self.start(name, [MAAR, part, "--kubeconfig", str(kubeconfig), *flags])

    def has_logged(self, name: str, words: str) -> bool:
        """Whether it has said something in this life of it."""
        return words in self.log(name).read_text(encoding="utf-8", errors="replace")

    async def until_at_work(self, name: str) -> None:
        """Wait until it is at work."""

        def is_at_work() -> bool:
            self.check()
            return self.has_logged(name, AT_WORK)

        await until(f"{name} is at work", is_at_work)

    def kill(self, name: str) -> None:
        """As `kill -9` does."""
        self.stop(name, signal.SIGKILL)

    def signal(self, name: str, by: signal.Signals) -> None:
        """Send a signal, and go on."""
        self._started[name].send_signal(by)

    def ended(self, name: str) -> int:
        """Wait until it has ended by itself, as it should, and give its exit code."""
        return self._started.pop(name).wait(TIMEOUT_S)

    def memory_mb(self, name: str) -> float:
        """What it has in memory now, in megabytes."""
        return self._status(name, "VmRSS") / 1024

    def peak_memory_mb(self, name: str) -> float:
        """The most that it ever had in memory, in megabytes."""
        return self._status(name, "VmHWM") / 1024

    def processor_s(self, name: str) -> float:
        """How long it has kept processors busy, in seconds."""
        return processor_s(self._started[name].pid)

    def _status(self, name: str, field: str) -> int:
        text = Path(f"/proc/{self._started[name].pid}/status").read_text(encoding="utf-8")
        found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
        if found is None:
            raise LookupError(f"the system does not tell {field} of {name}: this needs Linux")
        return int(found[1])


def processor_s(pid: int) -> float:
    """How long a process has kept processors busy, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
