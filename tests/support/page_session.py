"""The commands of a page, run one after the other as a reader would, on a cluster."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from support.page_commands import ROOT, PageCommand
from support.programs import find_binaries
from support.until import TIMEOUT_S, wait_until

_WATCHED_S: Final = 3.0
_ENDLESS: Final = re.compile(r" (?:-w|--watch)\b|^maar (?:scheduler|controllers) ")
_RECORDED: Final = re.compile(r"--record (\S+)")
_OF_THE_READER: Final = ("maar up ", "export ", "make ")  # the test has done that already
_EXIT_CODES: Final = {"maar whatif": (0, 3)}  # 3: somebody would be evicted


class PageSession:
    """A shell in a folder that looks like a clone, with the kubeconfig of a cluster."""

    def __init__(self, folder: Path, kubeconfig: Path, stdin: str = "") -> None:
        self.folder, self._stdin = folder, stdin
        for name in ("docs", "examples", "deploy"):
            (folder / name).symlink_to(ROOT / name)
        places = [str(Path(sys.executable).parent), str(find_binaries()), os.environ["PATH"]]
        self.environment: Mapping[str, str] = {
            **os.environ,
            "PATH": os.pathsep.join(places),
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(folder),
            "COLUMNS": "100",
        }

    def run(self, command: PageCommand) -> None:
        """Run a command; where the page shows what it prints, until it prints that."""
        if command.text.startswith(_OF_THE_READER):
            return
        if _ENDLESS.search(command.text):
            self._interrupt(command.text)
            return
        printed = list[str]()

        def is_printed() -> bool:
            printed[:] = [self._output(command.text)]
            return not command.output or _lines(printed[0]) == _lines(command.output)

        wait_until(lambda: f"{command.page}: {command.text} printed\n{printed[0]}", is_printed, pause_s=0.5)

    def _output(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "-c", f"{text}\nexit $?"], cwd=self.folder, env=self.environment, input=self._stdin,
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        allowed = next((codes for begin, codes in _EXIT_CODES.items() if text.startswith(begin)), (0,))
        assert done.returncode in allowed, f"{text}\n{done.stdout}{done.stderr}"
        assert "error" not in done.stderr.lower(), f"{text}\n{done.stderr}"
        assert (done.stdout + done.stderr).strip(), f"{text} printed nothing"
        return done.stdout

    def _interrupt(self, text: str) -> None:
        """Run what does not end by itself for a while, then press Ctrl-C."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {text}"], cwd=self.folder, env=self.environment, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        time.sleep(_WATCHED_S)
        if recorded := _RECORDED.search(text):
            wait_until(f"{text} has recorded", (self.folder / recorded[1]).exists)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert "error" not in err.lower(), err
        assert (out + err).strip(), f"{text} said nothing"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
