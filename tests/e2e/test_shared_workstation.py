"""The commands of the page about a shared workstation are run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from support.maar_up import MaarUp
from support.programs import find_binaries
from support.until import TIMEOUT_S

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


def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    with MaarUp(tmp_path, "--local", "--local-gpus", "2") as up:
        for line in RUN:
            if not line.startswith("kubectl ") or find_binaries() is not None:
                check(up, line)
        up.stop()


def check(up: MaarUp, line: str) -> None:
    folders = [str(Path(sys.executable).parent), str(find_binaries()), os.environ["PATH"]]
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=ROOT,
        env={**os.environ, "KUBECONFIG": str(up.kubeconfig), "PATH": os.pathsep.join(folders)},
    )  # fmt: skip
    assert done.returncode == 0, line + done.stdout + done.stderr
    printed = {text.partition("] ")[2] or text for text in done.stdout.splitlines()}
    for mark, expected in PRINTED.items():
        if mark in line:
            assert expected <= printed, line


def test_the_page_has_all_that_is_looked_for() -> None:
    assert all(any(mark in line for line in RUN) for mark in PRINTED)
