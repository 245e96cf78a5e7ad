"""`maar up` as a user runs it: the real program in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from support.processes import Group
from support.programs import find_binaries, in_time
from support.until import TIMEOUT_S, wait_until

_MAAR: Final = str(Path(sys.executable).with_name("maar"))
_SERVER: Final = str(Path(__file__).with_name("embedded_server.py"))
_ADDRESS: Final = re.compile(r"https://\S+:\d+")


class MaarUp:
    """A cluster of Maar's own; it can be stopped, killed and started again at the same address."""

    def __init__(self, folder: Path, *flags: str, alone: bool = False) -> None:
        """With `alone` only the API server and its controllers run: nobody schedules."""
        self.folder, self.flags, self._alone = folder, flags, alone
        self.kubeconfig = folder / "data" / "kubeconfig"
        self.process = 0  # its number
        self._port = "0"

    def __enter__(self) -> Self:
        with ExitStack() as life:
            self._processes = life.enter_context(Group(self.folder))
            self.start()
            self._life = life.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._life.close()

    @property
    def log(self) -> Path:
        """Where it writes its log."""
        return self._processes.log("maar")

    def start(self) -> None:
        """Start it, and wait until it says that it is up."""
        data = str(self.folder / "data")
        command = [_MAAR, "up", "--data", data, "--port", self._port, *self.flags]
        if self._alone:
            command = [sys.executable, _SERVER, data, self._port]
        out = self.folder / "said.txt"
        self.process = self._processes.start("maar", command, out=out)

        def is_up() -> bool:
            self._processes.check()
            self.reported = out.read_text()
            return _ADDRESS.search(self.reported) is not None

        wait_until(lambda: f"maar up is up: {self.reported}\n{self._processes.last_words('maar')}", is_up)
        self.url = _ADDRESS.findall(self.reported)[0]
        self._port = self.url.rsplit(":", 1)[1]

    @property
    def environment(self) -> dict[str, str]:
        """What kubectl needs to find it."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}

    def stop(self, by: signal.Signals = signal.SIGINT) -> int:
        """Stop it, and give its exit code."""
        return self._processes.stop("maar", by)

    def kubectl(
        self, *arguments: str, stdin: str = "", check: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        """Run the real kubectl on it, without extra flags."""
        folder = find_binaries()
        if folder is None:
            raise RuntimeError("kubectl has not been built: run make kubernetes")
        done = subprocess.run(
            [folder / "kubectl", *in_time(arguments)],
            input=stdin, capture_output=True, text=True, check=False, env=self.environment,
            timeout=2 * TIMEOUT_S,
        )  # fmt: skip
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done
