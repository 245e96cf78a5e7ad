"""The wheel in an environment with nothing but Python: no clone, no variables, a new home folder."""

import os
import signal
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from maar import __version__
from support.processes import Group
from support.until import wait_until

ROOT: Final = Path(__file__).parents[2]
SCRIPTS: Final = frozenset(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"])


class Installed:
    """The programs of an installed wheel, and the only variables that there are."""

    def __init__(self, folder: Path) -> None:
        self.home, self.programs = folder / "home", folder / "python" / "bin"
        self.environment = {"HOME": str(self.home), "PATH": f"{self.programs}:/usr/bin:/bin"}

    def run(self, *command: str, variables: Mapping[str, str] | None = None) -> str:
        """Run a command of the environment in the home folder; what it printed."""
        done = subprocess.run(
            command, cwd=self.home, env={**self.environment, **(variables or {})},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("fresh")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    found = Installed(folder)
    found.home.mkdir()
    venv.create(folder / "python")
    # How this machine reaches its package index, and what has been downloaded for .venv: nothing of Maar's.
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    cache = subprocess.run(
        [sys.executable, "-m", "pip", "cache", "dir"], check=True, capture_output=True, text=True
    ).stdout
    constraints = f"--constraint={ROOT / 'constraints.txt'}"
    found.run(
        sys.executable, "-m", "pip", "--python", str(found.programs / "python"), "install", "--quiet",
        "--no-compile", "--disable-pip-version-check", constraints, str(wheel),
        variables={**index, "PIP_CACHE_DIR": cache.strip()},
    )  # fmt: skip
    return found


def test_the_programs_are_there(installed: Installed) -> None:
    assert {one.name for one in installed.programs.iterdir()} >= SCRIPTS
    assert installed.run("maar", "--version") == f"maar {__version__}\n"
    assert installed.run("kubectl-maar", "--version") == f"maar {__version__}\n"


def test_it_plans(installed: Installed) -> None:
    planned = installed.run("maar", "plan", "-f", str(ROOT / "examples" / "small"))
    assert "Would evict:" in planned
    assert installed.run("maar", "manifests").count("kind: CustomResourceDefinition") == 7


def test_it_runs_a_cluster_and_a_job(installed: Installed, tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    with Group(tmp_path) as processes:
        command = [str(installed.programs / "maar"), "up", "--local", "--port=0", "--no-console"]
        processes.start("maar", command, installed.environment, out=said)

        def is_up() -> bool:
            processes.check()
            return "https://" in said.read_text()

        wait_until(lambda: f"maar up is up: {said.read_text()}", is_up)
        access = {"KUBECONFIG": str(installed.home / ".local" / "share" / "maar" / "kubeconfig")}
        printed = installed.run("maar", "run", "--", "sh", "-c", "echo from a job", variables=access)
        assert "from a job" in printed
        assert "default" in installed.run("maar", "queue", "tree", variables=access)
        assert processes.stop("maar", signal.SIGINT) == 0
