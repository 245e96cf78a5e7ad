"""The README's commands for a shell are run as they stand, with the real kubectl where it has been built."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from support.maar_up import MaarUp
from support.programs import find_binaries

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINES: Final = [line for block in BLOCK.findall(README) for line in block.splitlines() if line.strip()]
RUN: Final = [line for line in LINES if line.startswith(("kubectl ", "maar q", "maar --"))]
WATCHED_S: Final = 3.0


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaarUp]:
    """`maar up` with the flags that the README gives it."""
    if find_binaries() is None:
        pytest.skip("needs kubectl: make kubernetes builds it")
    line = next(line for line in LINES if line.startswith("maar up"))
    with MaarUp(tmp_path_factory.mktemp("up"), *shlex.split(line, comments=True)[2:]) as running:
        yield running


def environment(up: MaarUp) -> dict[str, str]:
    folders = [str(Path(sys.prefix) / "bin"), str(find_binaries()), os.environ["PATH"]]
    return {**os.environ, "KUBECONFIG": str(up.kubeconfig), "PATH": os.pathsep.join(folders)}


def test_the_readme_has_commands_for_a_cluster() -> None:
    assert any(line.startswith("kubectl get") for line in RUN)
    assert any(line.startswith("maar queue") for line in RUN)


def test_the_kubeconfig_is_where_the_readme_says(up: MaarUp) -> None:
    named = next(line for line in LINES if "KUBECONFIG=" in line)
    assert "~/.local/share/maar/kubeconfig" in named
    assert up.kubeconfig.is_file()


@pytest.mark.parametrize("line", RUN)
def test_a_command_of_the_readme_works(up: MaarUp, line: str) -> None:
    """In the order of the page: what is applied first is there for the next."""
    watches = " -w" in line
    process = subprocess.Popen(
        ["sh", "-c", f"exec {line}"], cwd=ROOT, env=environment(up), start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    if watches:
        time.sleep(WATCHED_S)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "error" not in err.lower()
    assert out.strip()
    assert watches or process.returncode == 0
