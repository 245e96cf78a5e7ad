"""`maar up` as a user runs it: the real program in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from support.programs import find_binaries

_WITHIN_S: Final = 60.0
_MAAR: Final = Path(sys.executable).with_name("maar")
_SERVER: Final = Path(__file__).with_name("embedded_server.py")
_ADDRESS: Final = re.compile(r"https://\S+:\d+")


class MaarUp:
    """A cluster of Maar's own; it can be stopped, killed and started again at the same address."""

    def __init__(self, folder: Path, *flags: str, alone: bool = False) -> None:
        """With `alone` only the API server and its controllers run: nobody schedules."""
        self.folder, self.flags, self._alone = folder, flags, alone
        self.kubeconfig = folder / "data" / "kubeconfig"
        self.log = folder / "maar.log"
        self._port = "0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.stop(signal.SIGKILL)

    def start(self) -> None:
        """Start it, and wait until it says that it is up."""
        data = str(self.folder / "data")
        command = [str(_MAAR), "up", "--data", data, "--port", self._port, *self.flags]
        if self._alone:
            command = [sys.executable, str(_SERVER), data, self._port]
        reported = self.folder / "said.txt"
        with self.log.open("ab") as log, reported.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=log)
        deadline = time.monotonic() + _WITHIN_S
        while not (found := _ADDRESS.search(text := reported.read_text())):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"maar up did not come up:\n{text}\n{self.log.read_text()}")
            time.sleep(0.05)
        self.reported = text
        self.url = found[0]
        self._port = self.url.rsplit(":", 1)[1]

    @property
    def process(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def environment(self) -> dict[str, str]:
        """What kubectl needs to find it."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}

    def stop(self, by: signal.Signals = signal.SIGINT) -> int:
        """Stop it, and give its exit code."""
        self._process.send_signal(by)
        return self._process.wait(_WITHIN_S)

    def kubectl(
        self, *arguments: str, stdin: str = "", check: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        """Run the real kubectl on it, without extra flags."""
        folder = find_binaries()
        if folder is None:
            raise RuntimeError("kubectl has not been built: run make kubernetes")
        done = subprocess.run(
            [folder / "kubectl", *arguments],
            input=stdin, capture_output=True, text=True, timeout=_WITHIN_S, env=self.environment, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done
