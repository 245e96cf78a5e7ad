"""What `maar whatif` says comes true: the change is then made on a cluster of `maar up`, which decides."""

import asyncio
import json
import os
import random
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from maar.cli.cluster.access import Access
from maar.cli.cluster.client import connected
from maar.core.admission.request import Options
from maar.core.answers.future import Present
from maar.core.answers.whatif.ask import WhatIf, objects_at_rest, what_if
from maar.core.answers.whatif.changes import Change, DeleteObject, apply
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.model.job import Job
from maar.core.model.resources import Resources
from support.changed_cluster import ChangedCluster, Standing
from support.departures import Departures
from support.faults import proxy
from support.maar_up import MaarUp

CHANGES: Final = int(os.environ.get("MAAR_CHANGES", "4"))  # 100 take a quarter of an hour
EACH: Final = 10  # changes of one cluster, one after the other
ORDERS: Final = 60  # in which victims leave, where that matters
MAAR: Final = Path(sys.executable).with_name("maar")
SEED: Final = int(os.environ.get("MAAR_SEED", "1"))
SAME: Final = f"seed {SEED}"


@pytest.mark.parametrize("first", range(0, CHANGES, EACH))
def test_what_is_said_of_a_change_comes_true(
    tmp_path: Path, first: int, record_property: Callable[[str, object], None]
) -> None:
    """All victims of a decision leave at one moment in an answer; see `support/departures.py`."""
    choice, count = random.Random(SEED + first), min(EACH, CHANGES - first)
    with MaarUp(tmp_path, "--nodes", "none") as up:
        seen = asyncio.run(ask_and_make(up.kubeconfig, choice, count))
    record_property("seen", str(seen))
    assert seen["as said"] > count / 2, (SAME, seen)


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


async def ask_and_make(kubeconfig: Path, choice: random.Random, count: int) -> Counter[str]:
    async with connected(Access(kubeconfig)) as client:
        cluster, seen = ChangedCluster(client, choice), Counter[str]()
        await cluster.fill()
        before = await cluster.at_rest()
        while seen.total() < count:
            change = await cluster.choose()
            present = await cluster.present()
            try:
                answer = what_if(present, [change])
            except BadChangeError:
                continue  # a cluster refuses it, too: the unit tests show that
            await cluster.carry_out(change)
            after = await cluster.at_rest()
            happened = outcome_of(change, before, after)
            if said(answer) == happened:
                seen["as said"] += 1
            else:
                possible = dict.fromkeys(outcomes(present, change))
                assert len(possible) > 1, (SAME, change, said(answer), happened)
                assert happened in possible, (SAME, change, [*possible], happened)
                seen["as in another order"] += 1
            before = after
        return seen


class Outcome(NamedTuple):
    """What has become of a cluster: the pods on nodes by job, who was evicted, what queues deserve."""

    running: frozenset[tuple[str, int]]
    evicted: frozenset[str]
    deserved: frozenset[tuple[str, Resources]]


def outcome_of(change: Change, before: Standing, after: Standing) -> Outcome:
    """What has really happened."""
    deleted = f"{change.target.removeprefix('job/')}-" if isinstance(change, DeleteObject) else " "
    evicted = {  # a pod of a group that is not admitted any more comes back later
        pod
        for pod, (uid, node) in before.pods.items()
        if node and after.pods.get(pod, ("", ""))[0] != uid and not pod.startswith(deleted)
    }
    return Outcome(frozenset(after.running.items()), frozenset(evicted), frozenset(after.deserved.items()))


def said(answer: WhatIf) -> Outcome:
    """What an answer says."""
    running, deserved = Counter[str](), dict[str, dict[str, int]]()
    for job, pods in zip(answer.jobs.job, answer.jobs.running_after.tolist(), strict=True):
        running[job] += pods
    queues = answer.queues
    for name, resource, units in zip(
        queues.queue, queues.resource, queues.deserved_after.tolist(), strict=True
    ):
        deserved.setdefault(name, {})[resource] = units
    return Outcome(
        frozenset((+running).items()),
        frozenset(answer.evictions.pod),
        frozenset((name, Resources(units)) for name, units in deserved.items()),
    )


def outcomes(present: Present, change: Change) -> Iterator[Outcome]:
    """What may become of a change, in many orders in which victims leave."""
    for order in range(ORDERS):
        future = Departures(present, random.Random(order))
        future.now()
        changed = apply(objects_at_rest(present.objects, future), [change], Options())
        future.change(changed.events, changed.evicted)
        plans, cluster = future.now(), future.simulation.cluster
        queues = future.simulation.engine.decide(future.simulation.time).queues
        owners = {key: one.metadata.owner_references[0].name for key, one in cluster.groups.items()}
        running = Counter(
            f"{one.metadata.namespace}/{owners[one.group_key]}"
            for one in cluster.pods.values()
            if one.spec.node_name and not one.is_finished
        )
        evicted = {one.pod for plan in plans for one in plan.evictions}
        yield Outcome(
            frozenset(running.items()),
            frozenset({*changed.evicted, *evicted}),
            frozenset((name, one.deserved) for name, one in queues.items()),
        )
