"""Processes of tests end with the test run, however it ends, and are missed when they end before."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from support import maar_up, until
from support.maar_up import MaarUp
from support.processes import Group, bounded
from support.until import TIMEOUT_S

TESTS = Path(__file__).parents[1]
STARTS_AND_WAITS = """
import pathlib, signal, sys
from support.processes import Group
with Group(pathlib.Path(sys.argv[1])) as group:
    group.start("sleeper", ["sh", "-c", "sleep 600 > alive; true"])
    signal.pause()
"""


def test_nothing_outlives_whoever_started_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    command = [sys.executable, "-c", STARTS_AND_WAITS, str(tmp_path)]
    with bounded(subprocess.Popen(command, cwd=TESTS)) as starter, (tmp_path / "alive").open("rb") as alive:
        assert not select.select([alive], [], [], 0)[0], "the sleeper holds the other end"
        starter.send_signal(signal.SIGKILL)
        assert select.select([alive], [], [], TIMEOUT_S)[0], "nobody holds it any more"


def test_a_process_that_ends_by_itself_is_missed(tmp_path: Path) -> None:
    def keep_checking(group: Group) -> None:
        while True:
            group.check()

    with Group(tmp_path) as group:
        group.start("server", ["sh", "-c", "echo the port is taken; exit 3"])
        with pytest.raises(ChildProcessError, match=r"(?s)server ended by itself with 3.*the port is taken"):
            keep_checking(group)


def test_a_server_that_does_not_come_up_is_ended_and_what_it_said_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "never-ready"
    program.write_text("#!/bin/sh\necho $$ > number\necho the disk is slow >&2\nexec sleep 600\n")
    program.chmod(0o755)
    log = tmp_path / "maar.log"

    def times() -> Iterator[float]:
        while not (log.exists() and "slow" in log.read_text()):
            yield 0.0
        yield 0.0  # where it said so before anybody looked
        while True:
            yield 2 * TIMEOUT_S

    monkeypatch.setattr(maar_up, "_MAAR", str(program))
    monkeypatch.setattr(until, "time", SimpleNamespace(monotonic=times().__next__, sleep=time.sleep))
    with pytest.raises(AssertionError, match="the disk is slow"), MaarUp(tmp_path):
        pytest.fail("it is not up")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "number").read_text()), 0)
