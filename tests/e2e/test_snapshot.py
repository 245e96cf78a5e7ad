"""A scheduler under load is asked for snapshots and killed; what it wrote down gives its plans again."""

import asyncio
import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from maar.apps.snapshots.files import read
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from support.control_plane import ControlPlane
from support.load import Gang, make, make_nodes, prepare
from support.load_churn import Churn, Habits, reservations
from support.load_daemons import Daemons
from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes
from support.until import TIMEOUT_S, until

MAAR = str(Path(sys.executable).with_name("maar"))
NODES = [f"node-{number}" for number in range(8)]
CPUS = 16
SIZE = {"cpu": str(CPUS), "memory": "128Gi", "pods": "110"}
LIVES = 3
SECRET = "hunter2"  # noqa: S105  so that it can be looked for


@pytest.fixture(params=["embedded", "real"])
def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A cluster that nobody schedules for."""
    if request.param == "embedded":
        with MaarUp(tmp_path, alone=True) as up:
            yield up.kubeconfig
    else:
        needs_kubernetes()
        with ControlPlane(tmp_path, controllers=True, kwok=True) as plane:
            prepare(plane)
            yield plane.kubeconfig


def test_what_a_scheduler_wrote_down_gives_its_plans_again(kubeconfig: Path, tmp_path: Path) -> None:
    record, folder = tmp_path / "recording.jsonl", tmp_path / "snapshots"
    folder.mkdir()
    with Daemons(tmp_path) as daemons:
        flags = ("--no-leader-elect", "--record", str(record), "--snapshot-folder", str(folder))
        asyncio.run(live_and_die(kubeconfig, daemons, folder, flags))
    replayed = maar("replay", str(record), hash_seed="7")
    assert f"cycles of {LIVES} runs" in replayed.stdout
    assert counted("binds", replayed.stdout) > 10
    for file in folder.iterdir():
        found = read(file)
        assert found is not None
        planned = maar("plan", "-f", str(file), "-o", "json", hash_seed="7")
        assert planned.stdout == json.dumps({"cycles": [found[0].plan]}, indent=1, ensure_ascii=False) + "\n"
        assert "byte for byte" in planned.stderr


async def live_and_die(kubeconfig: Path, daemons: Daemons, folder: Path, flags: tuple[str, ...]) -> None:
    """Let schedulers work, each until it has written a snapshot and is killed."""
    async with ApiServer(await load(kubeconfig)) as server:
        await make_nodes(server, NODES, SIZE)
        await make(server, reservations(CPUS * len(NODES)))
        habits = Habits(("research", "production", "guests"), pause_s=0.05)
        churn = Churn(server, habits, CPUS * len(NODES), random.Random(8))
        async with churn.watching():
            churn.begin()
            for life in range(LIVES):
                daemons.run("scheduler", "scheduler", kubeconfig, *flags)
                await daemons.until_at_work("scheduler")
                await until("people have come and gone", partial(has_made, churn, churn.made + 10))
                daemons.signal("scheduler", signal.SIGUSR1)
                await until("it has written a snapshot", partial(has_written, folder, life + 1))
                daemons.kill("scheduler")


def has_made(churn: Churn, gangs: int) -> bool:
    return churn.made >= gangs


def has_written(folder: Path, count: int) -> bool:
    return len(list(folder.glob("maar-snapshot-*.json.gz"))) == count


def test_a_snapshot_of_a_cluster_is_planned_from_and_keeps_its_secrets(
    kubeconfig: Path, tmp_path: Path
) -> None:
    asyncio.run(populate(kubeconfig))
    file = tmp_path / "cluster.json.gz"
    taken = maar("snapshot", "--kubeconfig", str(kubeconfig), "-o", str(file))
    assert "maar plan -f" in taken.stderr
    assert SECRET not in gzip.decompress(file.read_bytes()).decode()
    planned = json.loads(maar("plan", "-f", str(file), "-o", "json").stdout)
    assert len(planned["cycles"][0]["binds"]) == 10
    piped = maar("snapshot", "--kubeconfig", str(kubeconfig)).stdout
    assert SECRET not in piped
    assert "kind: Snapshot" in piped
    (tmp_path / "cluster.yaml").write_text(piped, encoding="utf-8")
    again = json.loads(maar("plan", "-f", str(tmp_path / "cluster.yaml"), "-o", "json").stdout)
    assert again["cycles"][0]["binds"] == planned["cycles"][0]["binds"]


async def populate(kubeconfig: Path) -> None:
    async with ApiServer(await load(kubeconfig)) as server:
        await make_nodes(server, NODES, SIZE)
        documents = list(Gang("secretive").documents())
        for _, _, document in documents[1:]:
            container = document["spec"]["containers"][0]  # type: ignore[index]
            container["env"] = [{"name": "PASSWORD", "value": SECRET}]
            document["metadata"]["annotations"]["example.com/token"] = SECRET  # type: ignore[index]
        await make(server, documents)


def maar(*arguments: str, hash_seed: str = "random") -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [MAAR, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def counted(what: str, text: str) -> int:
    found = re.search(rf"([\d,]+) {what}", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))
