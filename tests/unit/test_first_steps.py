"""The first things that somebody runs: ./maar, make setup, make test."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from maar import __version__

ROOT = Path(__file__).parents[2]
PIP = """\
Obtaining file:///maar
Collecting aiohttp>=3.13 (from maar==0.1.0)
  Downloading aiohttp-3.13.2-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (8.1 kB)
Collecting PyYAML
  Downloading pyyaml-6.0.3-cp311-cp311-manylinux_2_28_x86_64.whl (806 kB)
Installing collected packages: PyYAML, aiohttp
"""


def test_maar_runs_from_its_own_folder_and_from_others(tmp_path: Path) -> None:
    if not (ROOT / ".venv/.ready").exists():
        pytest.skip("needs the environment in .venv: make setup makes it")
    result = subprocess.run(
        [ROOT / "maar", "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, f"maar {__version__}\n", "")


@pytest.mark.parametrize("where", ["terminal", "pipe"])
def test_setup_says_how_far_it_has_come(
    where: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_terminal = where == "terminal"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    progress = runpy.run_path(str(ROOT / "tools/install.py"))["Progress"](63)
    for line in PIP.splitlines():
        progress.hear(line)
    progress.end()
    reported = capsys.readouterr().out
    if is_terminal:
        assert "\r\033[Ksetup: package 2 of about 63: pyyaml, 806 kB" in reported
        assert "\n" not in reported
        assert reported.endswith("\r\033[K")
    else:
        assert reported == "setup: unpacking 2 packages, which takes a moment\n"


def test_a_run_says_what_it_skipped_and_why() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MAAR_KUBERNETES"}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/e2e/test_server_restart.py"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "what was skipped" in result.stdout
    assert "needs a real control plane: make test-kubernetes runs it\n" in result.stdout
