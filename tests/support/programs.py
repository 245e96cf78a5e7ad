"""The programs of a real control plane: which versions, and where `make kubernetes` keeps them."""

import os
import re
from pathlib import Path
from typing import Final

from support.until import TIMEOUT_S

MODULE: Final = Path(__file__).parents[2] / "tools" / "kubernetes"


def _required(module: str) -> str:
    """The version that go.mod requires of a module, without its v."""
    found = re.search(rf"^\t{module} v(\S+)", (MODULE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{MODULE / 'go.mod'} does not require {module}: put the line back")
    return found[1]


KUBERNETES: Final = _required("k8s.io/kubernetes")
ETCD: Final = _required("go.etcd.io/etcd/server/v3")
KWOK: Final = "0.7.0"  # does not share a module with Kubernetes


def cache() -> Path:
    """The user's folder for what can be made again."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "maar"


def folder() -> Path:
    """Where the programs of these versions are, once they are built."""
    return cache() / f"kubernetes-{KUBERNETES}-etcd-{ETCD}-kwok-{KWOK}"


def find_binaries() -> Path | None:
    """The folder with the programs, or nothing where `make kubernetes` has not been run."""
    return folder() if folder().is_dir() else None


def in_time(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of kubectl, of which `wait` has a limit of its own."""
    return (*arguments, f"--timeout={TIMEOUT_S:.0f}s") if arguments[0] == "wait" else arguments
