"""`maar up --local` in a folder with virtual nodes: they run no programs, and somebody is told or asked."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from support.maar_up import MaarUp
from support.until import wait_until

MAAR = str(Path(sys.executable).with_name("maar"))
QUESTION = "has 2 virtual nodes from an earlier start. They run no programs"


def with_virtual_nodes(folder: Path) -> None:
    with MaarUp(folder, "--nodes", "2x16cpu,64Gi") as up:
        up.stop()


def test_without_a_terminal_they_stay_and_the_start_says_how_they_go(tmp_path: Path) -> None:
    with_virtual_nodes(tmp_path)
    with MaarUp(tmp_path, "--local") as up:
        assert "still has 2 virtual nodes from an earlier start" in up.reported
        assert "--nodes none removes them" in up.reported
        assert "with 3 nodes" in up.reported
        up.stop()
        up.flags = ("--local", "--nodes", "none")
        up.start()
        assert "with 1 node;" in up.reported
        assert "virtual" not in up.reported


@pytest.mark.parametrize(("answer", "nodes"), [("y\n", "with 1 node;"), ("n\n", "with 3 nodes;")])
def test_at_a_terminal_the_start_asks(tmp_path: Path, answer: str, nodes: str) -> None:
    with_virtual_nodes(tmp_path)
    ours, theirs = pty.openpty()
    command = [MAAR, "up", "--data", str(tmp_path / "data"), "--port", "0", "--no-console", "--local"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    os.set_blocking(ours, False)
    try:
        shown = bytearray()

        def shows(text: str) -> bool:
            with suppress(BlockingIOError):
                shown.extend(os.read(ours, 65_536))
            return text in " ".join(shown.decode().split())

        wait_until("it asks", lambda: shows(QUESTION))
        os.write(ours, answer.encode())
        wait_until("it is up", lambda: shows(nodes))
    finally:
        process.kill()
        process.wait()
        os.close(ours)
