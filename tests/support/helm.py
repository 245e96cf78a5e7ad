"""The real helm, where `make kubernetes` keeps it, and how tests run it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from support.programs import cache
from support.until import TIMEOUT_S

HELM: Final = "4.3.1"
CHART: Final = Path(__file__).parents[2] / "deploy" / "chart" / "maar"


def helm_folder() -> Path:
    """Where helm of this version is, once it is built; it does not share a module with Kubernetes."""
    return cache() / f"helm-{HELM}"


def find_helm() -> Path | None:
    """The program, or nothing where `make kubernetes` has not been run."""
    return helm_folder() / "helm" if helm_folder().is_dir() else None


def helm(
    *arguments: str, environment: Mapping[str, str] | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run helm; a failure raises with what it said, unless told not to check."""
    program = find_helm()
    if program is None:
        raise FileNotFoundError("helm is missing: run make kubernetes")
    ended = subprocess.run(
        [program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if check and ended.returncode:
        raise ChildProcessError(f"helm {' '.join(arguments)} ended with {ended.returncode}: {ended.stderr}")
    return ended
