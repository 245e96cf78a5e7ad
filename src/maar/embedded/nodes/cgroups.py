"""Limits by cgroups (version 2), where this process may make them: in a delegated cgroup of its own.

A cgroup that has processes cannot hand out controllers to cgroups below it. So the server moves
itself into a cgroup of its own, `server`, beside which each container gets one. That works where
nobody else is in the cgroup that it was started in:
`systemd-run --user --scope -p Delegate=yes maar up --local`, a service with `Delegate=yes`, or a
container of its own with a writable cgroup. Elsewhere limits are kept by looking at the processes,
and the start says so.
"""

import logging
import os
from pathlib import Path
from typing import Final

from maar.core.model.resources import CPU, MEMORY, Resources

_MOST_PROCESSES: Final = 8192  # of a container, threads included: a fork bomb ends there
_PERIOD_US: Final = 100_000

_LOG: Final = logging.getLogger(__name__)
_ROOT: Final = Path("/sys/fs/cgroup")
_MEMBERSHIP: Final = Path("/proc/self/cgroup")
_NEEDED: Final = frozenset({"cpu", "memory", "pids"})
_SERVER: Final = "server"
_ADVICE: Final = "run it with systemd-run --user --scope -p Delegate=yes to have cgroup limits"


class Cgroups:
    """The cgroup in which those of containers are made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, name: str, limits: Resources) -> str:
        """A cgroup for one run of a container, with its limits; empty where there can be none."""
        folder = self._folder / name
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:  # the scope was stopped, for example
            _LOG.warning("no cgroup for %s: %s", name, error)
            return ""
        for file, value in limit_files(limits).items():
            if (folder / file).exists():  # else there is no swap, or an older kernel
                (folder / file).write_text(value, encoding="utf-8")
        return str(folder)


def limit_files(limits: Resources) -> dict[str, str]:
    """What is written where for a container's limits."""
    files = {"pids.max": str(_MOST_PROCESSES)}
    if memory := limits.get(MEMORY, 0):
        files |= {"memory.max": str(memory), "memory.swap.max": "0", "memory.oom.group": "1"}
    if cpu := limits.get(CPU, 0):
        files["cpu.max"] = f"{cpu * _PERIOD_US // 1000} {_PERIOD_US}"
    return files


def delegated(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> tuple[Cgroups | None, str]:
    """Cgroups for containers, or why there are none: a sentence for whoever starts the server."""
    try:
        return Cgroups(_prepared(root, membership)), ""
    except _NotDelegatedError as error:
        why = str(error)
    except OSError as error:
        why = f"{error.filename or root}: {error.strerror}"
    return None, f"No cgroup limits: {why}. Memory limits are checked five times a second; {_ADVICE}."


class _NotDelegatedError(Exception):
    """Why this process cannot make cgroups."""


def _prepared(root: Path, membership: Path) -> Path:
    if not (root / "cgroup.controllers").is_file():
        raise _NotDelegatedError(f"there is no cgroup version 2 at {root}")
    lines = membership.read_text(encoding="utf-8").splitlines()
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
    own = root / path.strip("/")
    if own.name == _SERVER:
        own = own.parent  # this process, or the one before it in this place, has moved already
    missing = _NEEDED - set((own / "cgroup.controllers").read_text(encoding="utf-8").split())
    if missing:
        raise _NotDelegatedError(f"{own} does not have the controllers {', '.join(sorted(missing))}")
    if not os.access(own, os.W_OK) or not os.access(own / "cgroup.subtree_control", os.W_OK):
        raise _NotDelegatedError(f"{own} belongs to somebody else")
    enabled = set((own / "cgroup.subtree_control").read_text(encoding="utf-8").split())
    if not enabled >= _NEEDED:
        _move_server(own)
        (own / "cgroup.subtree_control").write_text("+cpu +memory +pids", encoding="utf-8")
    return own


def _move_server(own: Path) -> None:
    here = set((own / "cgroup.procs").read_text(encoding="utf-8").split())
    if others := here - {str(os.getpid())}:
        raise _NotDelegatedError(f"other processes ({', '.join(sorted(others)[:5])}) are in {own} too")
    (own / _SERVER).mkdir(exist_ok=True)
    (own / _SERVER / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
