"""What `maar whatif` says comes true: the change is then made on a cluster of `maar up`, which decides."""

import asyncio
import json
import os
import random
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from maar.cli.cluster.access import Access
from maar.cli.cluster.client import connected
from maar.core.answers.changes import Change, DeleteObject
from maar.core.answers.known_objects import BadChangeError
from maar.core.answers.whatif import WhatIf, what_if
from maar.core.model.job import Job
from maar.core.model.resources import Resources
from support.changed_cluster import ChangedCluster, Standing
from support.faults import proxy
from support.maar_up import MaarUp

CHANGES: Final = int(os.environ.get("MAAR_CHANGES", "4"))  # 100 take a quarter of an hour
EACH: Final = 10  # changes of one cluster, one after the other
MAAR: Final = Path(sys.executable).with_name("maar")
SEED: Final = int(os.environ.get("MAAR_SEED", random.randrange(1 << 30)))
SAME: Final = f"seed {SEED}"


@pytest.mark.parametrize("first", range(0, CHANGES, EACH))
def test_what_is_said_of_a_change_comes_true(tmp_path: Path, first: int) -> None:
    with MaarUp(tmp_path, "--nodes", "none") as up:
        asyncio.run(ask_and_make(up.kubeconfig, random.Random(SEED + first), min(EACH, CHANGES - first)))


def test_asking_about_a_cluster_writes_nothing_to_it(tmp_path: Path) -> None:
    with MaarUp(tmp_path, "--nodes", "2x4cpu,16Gi") as up:
        asyncio.run(ask_only(up.kubeconfig, tmp_path))


async def ask_only(kubeconfig: Path, folder: Path) -> None:
    changes = [
        ("--set", "queue/default.weight=3", "--add-nodes", "1x8cpu,32Gi", "-o", "json"),
        ("--delete", "job/default/job-1", "--drain", "node-1"),
        ("--submit", str(folder / "job.json")),
    ]
    async with connected(Access(kubeconfig)) as client:
        cluster = ChangedCluster(client, random.Random(1))
        await cluster.make(Job, cluster.new_job(["default"]))
        (folder / "job.json").write_text(json.dumps(cluster.new_job(["default"])), encoding="utf-8")
        before = await cluster.at_rest()
        async with proxy(kubeconfig, folder) as (passing, through):
            for arguments in changes:
                command = (str(MAAR), "whatif", "--kubeconfig", str(through), *arguments)
                process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
                printed, wrong = await process.communicate()
                assert process.returncode in (0, 3), wrong
                assert printed
            methods = Counter(one.split(" ")[0] for one in passing.asked)
        assert methods.keys() == {"GET"}
        assert await cluster.at_rest() == before


async def ask_and_make(kubeconfig: Path, choice: random.Random, count: int) -> None:
    async with connected(Access(kubeconfig)) as client:
        cluster = ChangedCluster(client, choice)
        await cluster.fill()
        before, done = await cluster.at_rest(), 0
        while done < count:
            change = await cluster.choose()
            try:
                answer = what_if(await cluster.present(), [change])
            except BadChangeError:
                continue  # a cluster refuses it, too: the unit tests show that
            await cluster.carry_out(change)
            after = await cluster.at_rest()
            compare(answer, change, before, after)
            before, done = after, done + 1


def compare(answer: WhatIf, change: Change, before: Standing, after: Standing) -> None:
    """Hold an answer to what has happened."""
    running = Counter[str]()
    for job, pods in zip(answer.jobs.job, answer.jobs.running_after.tolist(), strict=True):
        running[job] += pods
    deleted = f"{change.target.removeprefix('job/')}-" if isinstance(change, DeleteObject) else " "
    evicted = {  # a pod of a group that is not admitted any more comes back later
        pod
        for pod, (uid, node) in before.pods.items()
        if node and after.pods.get(pod, ("", ""))[0] != uid and not pod.startswith(deleted)
    }
    assert (change, {job: pods for job, pods in running.items() if pods}) == (change, after.running), SAME
    assert (change, evicted) == (change, {*answer.evictions.pod}), SAME
    assert (change, deserved(answer)) == (change, after.deserved), SAME


def deserved(answer: WhatIf) -> dict[str, Resources]:
    """What each queue deserves with the change."""
    found: dict[str, dict[str, int]] = {}
    queues = answer.queues
    for name, resource, units in zip(
        queues.queue, queues.resource, queues.deserved_after.tolist(), strict=True
    ):
        found.setdefault(name, {})[resource] = units
    return {name: Resources(units) for name, units in found.items()}
