"""Limits by cgroups: what is written, when they can be had, and that a container is in its own."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.core.model.resources import Resources
from maar.embedded.nodes.cgroups import Cgroups, delegated, limit_files
from maar.embedded.nodes.local import LocalNodeSettings
from support.local_node import HERE, alive, finished, local, log, shell
from support.node_cluster import place


def test_limits_become_files() -> None:
    limits = Resources.parse({"cpu": "1500m", "memory": "64Mi"})
    assert limit_files(limits) == {
        "pids.max": "8192",
        "memory.max": str(64 << 20),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cpu.max": "150000 100000",
    }
    assert limit_files(Resources()) == {"pids.max": "8192"}


def a_hierarchy(folder: Path, controllers: str = "cpu memory pids", procs: str = "") -> tuple[Path, Path]:
    own = folder / "sys" / "user"
    own.mkdir(parents=True)
    for place_ in (own.parent, own):
        (place_ / "cgroup.controllers").write_text(controllers)
    (own / "cgroup.subtree_control").write_text("")
    (own / "cgroup.procs").write_text(procs)
    membership = folder / "membership"
    membership.write_text("1:cpu:/\n0::/user\n")
    return own.parent, membership


@pytest.mark.parametrize(
    ("controllers", "procs", "why"),
    [
        ("cpu io", "", "does not have the controllers memory, pids"),
        ("cpu memory pids", "1\n2\n", "other processes (1, 2) are in"),
    ],
)
def test_why_there_are_none_is_said(tmp_path: Path, controllers: str, procs: str, why: str) -> None:
    found, sentence = delegated(*a_hierarchy(tmp_path, controllers, procs))
    assert found is None
    assert why in sentence
    assert "systemd-run --user --scope -p Delegate=yes" in sentence


def test_version_one_is_none(tmp_path: Path) -> None:
    found, sentence = delegated(tmp_path, tmp_path / "membership")
    assert found is None
    assert "there is no cgroup version 2 at" in sentence


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A cgroup of this machine's hierarchy of version 2, whichever controllers that has."""
    mounts = Path("/proc/self/mountinfo")
    lines = mounts.read_text(encoding="utf-8").splitlines() if mounts.exists() else []
    root = next((line.split()[4] for line in lines if " - cgroup2 " in line), None)
    if root is None:
        pytest.skip("no cgroup hierarchy of version 2 is mounted")
    folder = Path(root) / "maar-test"
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    yield folder
    with contextlib.suppress(OSError):
        folder.rmdir()


def test_a_container_is_in_its_cgroup_which_ends_with_it(tmp_path: Path, cgroup: Path) -> None:
    script = "(setsid sleep 600 & echo $$!); cat /proc/self/cgroup"

    async def tell() -> None:
        async with local(tmp_path, LocalNodeSettings(cgroups=Cgroups(cgroup))) as cluster:
            place(cluster, shell("a", script), HERE)
            assert (await finished(cluster, "a"))["phase"] == "Succeeded"
            daemon, *lines = (await log(cluster, tmp_path, "a")).splitlines()
            [own] = [line for line in lines if line.startswith("0::")]
            assert own.endswith("-main-0")
            assert "/maar-test/" in own
            assert not alive(int(daemon))

    asyncio.run(tell())
    assert [one for one in cgroup.iterdir() if one.is_dir()] == []
