"""The commands of the page about a shared workstation are run as they stand."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from support.job_stand_in import JobStandIn
from support.maar_up import MaarUp
from support.programs import find_binaries

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "shared-workstation.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINES: Final = [line for block in BLOCK.findall(PAGE) for line in block.splitlines() if line.strip()]
RUN: Final = [line for line in LINES if not line.startswith(("maar up", "export "))]
PRINTED: Final = {
    "echo hello": {"hello"},
    "range(10)": {"45"},
    "the long one": {"the long one is done"},
    "--array": {"part 0", "part 1", "part 2", "part 3"},
    "-q ben --gpus 1": {"my GPU is 0"},
    "-q ana --gpus 1": {"my GPU is 0", "my GPU is 1"},
    "pi_together": {"pi is 3.141593"},
    "get --raw": {"slept"},
}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaarUp]:
    with MaarUp(tmp_path_factory.mktemp("up"), "--local", "--local-gpus", "2") as running:
        with JobStandIn(running.kubeconfig):
            yield running
        running.stop()


@pytest.mark.parametrize("line", RUN)
def test_a_command_of_the_page(up: MaarUp, line: str) -> None:
    binaries = find_binaries()
    if line.startswith("kubectl ") and binaries is None:
        pytest.skip("needs kubectl: make kubernetes builds it")
    folders = [str(Path(sys.executable).parent), str(binaries), os.environ["PATH"]]
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
        env={**os.environ, "KUBECONFIG": str(up.kubeconfig), "PATH": os.pathsep.join(folders)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    printed = {text.partition("] ")[2] or text for text in done.stdout.splitlines()}
    for mark, expected in PRINTED.items():
        if mark in line:
            assert expected <= printed


def test_the_page_has_all_that_is_looked_for() -> None:
    assert all(any(mark in line for line in RUN) for mark in PRINTED)
