"""Installs Maar and its tools with pip, and says how far it has come; pip says nothing or too much."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

_STEP: Final = re.compile(
    r"(?:Collecting|Requirement already satisfied:) (?P<collected>[\w.\-]+)"
    r"|\s+Downloading (?P<file>\S+?)(?:-\d\S*)? \((?P<size>.*)\)"
    r"|(?P<installing>Installing collected packages): (?P<names>.*)"
    r"|(?P<preparing>Obtaining|\s+Installing build dependencies|\s+Preparing editable metadata)"
)
_EVERY: Final = 10  # packages, where lines stay


class Progress:
    """Where the installation stands: one line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self, total: int) -> None:
        self._total, self._names = total, set[str]()
        self._is_terminal = sys.stdout.isatty()

    def hear(self, line: str) -> None:
        """Take in a line of pip's."""
        step = _STEP.match(line)
        if step is None:
            return
        if step["collected"]:
            self._names.add(step["collected"].lower().replace("_", "-"))
            count = len(self._names)
            self._print(
                f"package {count} of about {self._total}: {step['collected']}", stays=not count % _EVERY
            )
        elif step["preparing"]:
            self._print("preparing the tools that build Maar")
        elif step["file"]:
            self._print(f"package {len(self._names)} of about {self._total}: {step['file']}, {step['size']}")
        else:
            count = step["names"].count(",") + 1
            self._print(
                f"unpacking {count} package{'s' if count > 1 else ''}, which takes a moment", stays=True
            )

    def end(self) -> None:
        """Leave a terminal as it was."""
        self._rewrite("")

    def _print(self, what: str, *, stays: bool = False) -> None:
        if self._is_terminal:
            self._rewrite(f"setup: {what}")
        elif stays:
            print(f"setup: {what}", flush=True)

    def _rewrite(self, text: str) -> None:
        if self._is_terminal:
            print(f"\r\033[K{text[:79]}", end="", flush=True)


def main() -> int:
    """Install, and on failure show all that pip said."""
    total = sum(1 for line in Path("constraints.txt").read_text().splitlines() if "==" in line)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--editable", ".[dev,docs]"]
    progress, output = Progress(total), list[str]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            output.append(line)
            progress.hear(line)
    progress.end()
    if pip.returncode:
        print(f"{''.join(output)}setup: pip could not install Maar; what it said is above", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main())
