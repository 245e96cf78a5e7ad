"""`maar demo` as `make demo` runs it: to its end, stayed with, and interrupted."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.until import TIMEOUT_S

MAAR = str(Path(sys.executable).with_name("maar"))
ROOT = Path(__file__).parents[2]
FOLDER = re.compile(r"\(in (\S+), seed 1\)")


class Demo:
    """A demo at the highest speed and without a terminal; what it says can be waited for."""

    def __init__(self, *flags: str) -> None:
        self._process = subprocess.Popen(
            [MAAR, "demo", "--speed", "120", *flags],
            cwd=ROOT, env={**os.environ, "TERM": "xterm-256color"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._limit = threading.Timer(TIMEOUT_S, self._process.terminate)
        self._limit.start()
        self.reported = ""

    def until(self, words: str) -> None:
        """Read until a line has the words."""
        for line in self._process.stdout or ():
            self.reported += line
            if words in line:
                return
        raise AssertionError(f"it never said {words!r}:\n{self.reported}")

    def end(self, by: signal.Signals | None = None) -> int:
        """Let it end, or make it; give its exit code."""
        if by is not None:
            self._process.send_signal(by)
        self.reported += self._process.communicate()[0]
        self._limit.cancel()
        return self._process.returncode

    def close(self) -> None:
        """End it in any case."""
        if self._process.returncode is None:
            self.end(signal.SIGTERM)

    @property
    def folder(self) -> Path:
        """Where its cluster was."""
        found = FOLDER.search(self.reported)
        assert found, self.reported
        return Path(found[1])


@pytest.fixture
def demo() -> Iterator[Callable[..., Demo]]:
    """Start demos; they end with the test."""
    started: list[Demo] = []

    def start(*flags: str) -> Demo:
        started.append(Demo(*flags))
        return started[-1]

    yield start
    for one in started:
        one.close()


def processes_in(folder: Path) -> list[str]:
    """The command lines of processes that have to do with a folder."""
    lines = subprocess.run(
        ["ps", "-eo", "args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [line for line in lines if str(folder) in line]


def test_it_shows_what_it_should_and_ends_by_itself(demo: Callable[..., Demo]) -> None:
    hour = demo()
    assert hour.end() == 0, hour.reported
    _, _, summary = hour.reported.partition("CPUs on average")
    assert summary.count("✓") == 4, hour.reported
    assert re.search(r"serving got its 24 CPUs back in \d+\.\d s: others used \d+", summary)
    assert (
        "course waits: it needs cpu 12 and queue research/notebooks can use cpu 8 at most: never" in summary
    )
    assert re.search(r"legacy: Closing at 3\d:\d\d with \d+ groups, Closed at \d\d:\d\d", summary)
    rows = {line.split()[0]: line.split()[1:] for line in summary.splitlines()[2:15]}
    assert len(rows) == 13
    assert rows["legacy"][2] == rows["legacy"][3]  # it has drained: all of its groups are done
    assert float(rows["root"][0]) > 48  # CPUs: more than half of the cluster, over the whole hour
    assert "\x1b" not in hour.reported
    assert not hour.folder.exists()
    assert not processes_in(hour.folder)


def test_it_stays_until_somebody_ends_it(demo: Callable[..., Demo]) -> None:
    hour = demo("--stay")
    hour.until("maar queue open legacy")
    kubeconfig = hour.folder / "kubeconfig"
    assert f"export KUBECONFIG={kubeconfig}" in hour.reported
    listed = subprocess.run(
        [MAAR, "queue", "list", "-o", "name", "--kubeconfig", str(kubeconfig)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert len(listed.stdout.split()) == 14
    assert hour.end(signal.SIGINT) == 0, hour.reported
    assert not hour.folder.exists()
    assert not processes_in(hour.folder)


@pytest.mark.parametrize(
    ("moment", "by"),
    [
        ("maar up", signal.SIGINT),  # its cluster starts
        ("language begins to submit", signal.SIGINT),
        ("analytics begins to submit", signal.SIGTERM),
    ],
)
def test_an_interrupted_demo_leaves_nothing(
    demo: Callable[..., Demo], moment: str, by: signal.Signals
) -> None:
    hour = demo()
    hour.until(moment)
    assert hour.end(by) == 130, hour.reported
    assert "Traceback" not in hour.reported
    assert not hour.folder.exists()
    assert not processes_in(hour.folder)
