"""Answers on `maar up`: planned starts are written, and questions are decided by its own configuration."""

import asyncio
import json
import random
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, cast

from maar.cli.cluster.access import Access
from maar.cli.cluster.client import ClusterClient, connected
from maar.core.model.job import Job
from maar.core.model.kinds import plain, to_json
from maar.core.model.metadata import Object
from maar.core.model.pod_group import PodGroup
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.kube.paths import ResourcePath
from maar.kube.write import delete
from support.changed_cluster import ChangedCluster, Document
from support.maar_up import MaarUp
from support.until import TIMEOUT_S, until_async

MAAR: Final = Path(sys.executable).with_name("maar")
CONFIG_MAPS: Final = ResourcePath("v1", "configmaps", namespaced=True)
NO_RECLAIM: Final = """
actions: "enqueue, allocate, backfill"
tiers:
  - plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: proportion}, {name: binpack}]
"""


def test_planned_starts_and_the_configuration_are_in_the_cluster(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(NO_RECLAIM, encoding="utf-8")
    flags = ("--nodes", "1x4cpu,16Gi", "--config", str(config), "--planned-starts-interval", "1s")
    with MaarUp(tmp_path, *flags) as up:
        asyncio.run(ask(up.kubeconfig))


async def ask(kubeconfig: Path) -> None:
    async with connected(Access(kubeconfig)) as client:
        cluster = ChangedCluster(client, random.Random(1))
        await cluster.make(Job, for_an_hour(cluster, "first"))
        await cluster.at_rest()
        await cluster.make(Job, for_an_hour(cluster, "second"))

        async def is_planned() -> bool:
            groups = await client.objects(PodGroup)
            return [one.status.planned_start is not None for one in groups if "second" in one.key] == [True]

        await until_async("the start of the second is planned", is_planned)
        await one_start_everywhere(client, cluster, kubeconfig)
        assert await answer(kubeconfig) == []
        await remove_configuration(client)
        assert await answer(kubeconfig) == ["there is no ConfigMap maar-system/maar-scheduler"]


async def one_start_everywhere(client: ClusterClient, cluster: ChangedCluster, kubeconfig: Path) -> None:
    """The status, `maar explain` and the list of jobs say the same of a job behind one without pods."""
    await cluster.make(Job, for_an_hour(cluster, "third"))

    async def starts() -> dict[str, str]:
        groups = [document(one) for one in await client.objects(PodGroup)]
        return {
            one["metadata"]["name"].partition("-")[0]: one["status"]["plannedStart"]["time"]
            for one in groups
            if one["status"].get("plannedStart", {}).get("time")
        }

    async def are_planned() -> bool:
        return (await starts()).keys() == {"second", "third"}

    await until_async("both starts are known", are_planned)
    known = await starts()
    listed = json.loads(await command(kubeconfig, "job", "list", "--start", "-o", "json"))["items"]
    planned = {one["metadata"]["name"]: one["status"].get("plannedStart") for one in listed}
    assert {name: planned[name]["time"] for name in known} == known
    for name, start in known.items():
        explained = json.loads(await command(kubeconfig, "explain", "job", name, "--within=1s", "-o", "json"))
        assert explained["start"]["time"] == start
        assert "movedFrom" not in explained["start"]
    first, last = (datetime.fromisoformat(known[name]) for name in ("second", "third"))
    assert last - first >= timedelta(hours=1)


def document(one: Object) -> Document:
    """An object as plain values."""
    return cast("Document", plain(to_json(one)))


async def command(kubeconfig: Path, *words: str) -> str:
    """What a command prints."""
    line = (str(MAAR), *words, "--kubeconfig", str(kubeconfig))
    done = await asyncio.to_thread(
        subprocess.run, line, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
    )
    return done.stdout


async def answer(kubeconfig: Path) -> list[str]:
    """What a what-if says of its configuration."""
    command = (str(MAAR), "whatif", "--kubeconfig", str(kubeconfig), "--set", "queue/default.weight=3")
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
    )
    return [line.removeprefix("note: ").partition(":")[0] for line in done.stderr.splitlines()]


async def remove_configuration(client: ClusterClient) -> None:
    await delete(client.server, CONFIG_MAPS, "maar-system/maar-scheduler")


def for_an_hour(cluster: ChangedCluster, name: str) -> Document:
    """A job that needs the whole node; only the template of its pods says for how long."""
    job = cluster.new_job(["default"])
    job["metadata"] |= {"name": name}
    job["spec"]["minAvailable"] = job["spec"]["tasks"][0]["replicas"] = 1
    template = job["spec"]["tasks"][0]["template"]
    template["metadata"] = {"annotations": {EXPECTED_RUN_TIME: "1h"}}
    container = template["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "4"}}
    return job
