"""Processes of tests end with the test run, however it ends, and are missed when they end before."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import Group

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
    with subprocess.Popen(command, cwd=TESTS) as starter, (tmp_path / "alive").open("rb") as alive:
        assert not select.select([alive], [], [], 0)[0], "the sleeper holds the other end"
        starter.send_signal(signal.SIGKILL)
        assert select.select([alive], [], [], 30)[0], "nobody holds it any more"


def test_a_process_that_ends_by_itself_is_missed(tmp_path: Path) -> None:
    def keep_checking(group: Group) -> None:
        while True:
            group.check()

    with Group(tmp_path) as group:
        group.start("server", ["sh", "-c", "echo the port is taken; exit 3"])
        with pytest.raises(ChildProcessError, match=r"(?s)server ended by itself with 3.*the port is taken"):
            keep_checking(group)
