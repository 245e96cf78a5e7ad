"""A random cluster of `maar up`, random changes of it, and how it stands once it has come to rest."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from maar.cli.cluster.client import ClusterClient
from maar.core.answers.future import Present
from maar.core.answers.whatif.changes import (
    AddNodes,
    Change,
    DeleteObject,
    DrainNode,
    SetField,
    SubmitDocument,
)
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.resources import Resources
from maar.embedded.nodes.specification import parse
from maar.kube.write import evict
from support.until import TIMEOUT_S

Document = dict[str, Any]

QUIET_LOOKS: Final = 20  # in which nothing may change: the scheduler writes statuses once a second
PAUSE_S: Final = 0.1


class Standing(NamedTuple):
    """A cluster at rest: who runs, what queues deserve, and which pods there are."""

    running: dict[str, int]  # pods on nodes, by job
    deserved: dict[str, Resources]
    pods: dict[str, tuple[str, str]]  # the uid and the node of each


@dataclass
class ChangedCluster:
    """A cluster of `maar up` under test."""

    client: ClusterClient
    choice: random.Random
    jobs: int = 0
    nodes: int = 0
    _made: list[Document] = field(default_factory=list)  # the nodes that were made up last

    # --- what there is

    async def fill(self) -> None:
        """Make nodes, a tree of queues and jobs, all of random sizes."""
        pick = self.choice
        await self.make(Node, *self._new_nodes(pick.randint(2, 4)))
        names = [f"q{number}" for number in range(pick.randint(2, 4))]
        for name in names:
            await self.make(Queue, _queue(name, weight=pick.randint(1, 4), reclaimable=pick.random() < 0.9))
        if pick.random() < 0.5:
            inner = [
                _queue(f"{names[0]}-{part}", parent=names[0], weight=pick.randint(1, 3)) for part in "ab"
            ]
            await self.make(Queue, *inner)
        leaves = await self.leaves()
        for _ in range(pick.randint(5, 12)):
            await self.make(Job, self.new_job(leaves))

    async def make(self, kind: type[Object], *documents: Document) -> None:
        """Create objects."""
        for one in documents:
            metadata = one["metadata"]
            await self.client.create(kind, kind.key_of(metadata.get("namespace", ""), metadata["name"]), one)

    async def leaves(self) -> list[str]:
        """The queues that hold work."""
        queues = await self.client.objects(Queue)
        parents = {one.parent for one in queues}
        return [one.key for one in queues if one.key not in parents]

    async def present(self) -> Present:
        """All that is known of it, as `maar whatif` reads it."""
        objects = [*await self.client.everything(), *await self.client.objects(Job)]
        return Present(tuple(objects), now=time.time())

    async def at_rest(self) -> Standing:
        """Wait until nothing changes any more, and say how it stands."""
        seen, equal = "", 0
        for _ in range(round(TIMEOUT_S / PAUSE_S)):
            pods, groups, queues, jobs = await asyncio.gather(
                self.client.objects(Pod),
                self.client.objects(PodGroup),
                self.client.objects(Queue),
                self.client.objects(Job),
            )
            now = repr([
                [(one.key, one.metadata.uid, one.spec.node_name, one.is_terminating) for one in pods],
                [(one.key, one.spec, one.status.phase) for one in groups],
                [(one.key, one.spec, one.status.deserved, one.status.used) for one in queues],
                [one.key for one in jobs],
            ])  # fmt: skip
            is_busy = any(one.is_terminating for one in pods) or _lacks_pods(jobs, groups, pods)
            if now != seen or is_busy:
                seen, equal = now, 0
            elif (equal := equal + 1) > QUIET_LOOKS:
                return Standing(
                    dict(Counter(_job_of(one) for one in pods if one.spec.node_name)),
                    {one.key: one.status.deserved for one in queues},
                    {one.key: (one.metadata.uid, one.spec.node_name) for one in pods},
                )
            await asyncio.sleep(PAUSE_S)
        raise AssertionError("the cluster does not come to rest")

    # --- changes

    async def choose(self) -> Change:
        """A change that the cluster accepts, most of the time."""
        pick, leaves = self.choice, await self.leaves()
        nodes, jobs = await self.client.objects(Node), await self.client.objects(Job)
        open_nodes = [one.key for one in nodes if not one.spec.unschedulable]
        queue = pick.choice([one for one in leaves if one != "default"])
        choices: list[Change] = [
            SetField(f"queue/{queue}.weight", str(pick.randint(1, 9))),
            SetField(f"queue/{queue}.weight", str(pick.randint(1, 9))),
            SetField(f"queue/{queue}.capability.cpu", str(pick.randint(1, 16))),
            SetField(f"queue/{queue}.guarantee.resource.cpu", str(pick.randint(0, 6))),
            SetField(f"queue/{queue}.guarantee.percentage.cpu", str(pick.randint(0, 30))),
            SetField(f"queue/{queue}.reclaimable", pick.choice(["true", "false"])),
            SetField(f"queue/{queue}.priority", str(pick.randint(0, 3))),
            AddNodes(tuple(from_document(Node, one) for one in self._new_nodes(1))),  # several come in turn
            SubmitDocument("a job", self.new_job(leaves)),
            SubmitDocument("a job", self.new_job(leaves)),
        ]
        if len(open_nodes) > 1:
            choices.append(DrainNode(pick.choice(open_nodes)))
        closed = [one.key for one in nodes if one.spec.unschedulable]
        if closed:
            choices.append(SetField(f"node/{closed[0]}.unschedulable", "false"))
        if jobs:
            choices.append(DeleteObject(f"job/{pick.choice(jobs).key}"))
        return pick.choice(choices)

    async def carry_out(self, change: Change) -> None:
        """Make a change through the API."""
        match change:
            case SetField(target=target, value=value):
                kind, _, rest = target.partition("/")
                name, _, path = rest.partition(".")
                await self.client.change(Queue if kind == "queue" else Node, name, _patch(path, str(value)))
            case AddNodes(nodes=nodes):
                wanted = {one.key for one in nodes}
                await self.make(Node, *(one for one in self._made if one["metadata"]["name"] in wanted))
            case SubmitDocument(document=document):
                assert isinstance(document, dict)
                await self.make(Job, document)
            case DeleteObject(target=target):
                await self.client.delete(Job, target.removeprefix("job/"))
            case DrainNode(name=name):
                await self.client.change(Node, name, {"spec": {"unschedulable": True}})
                pods = [one for one in await self.client.objects(Pod) if one.spec.node_name == name]
                await asyncio.gather(*(evict(self.client.server, one.key) for one in pods))  # as kubectl does

    def _new_nodes(self, number: int) -> list[Document]:
        pick = self.choice
        size = f"{number}x{pick.choice([4, 6, 8])}cpu,{pick.choice([16, 32])}Gi"
        self._made = parse(size, taken=[f"node-{taken}" for taken in range(1, self.nodes + 1)])
        self.nodes += number
        return self._made

    def new_job(self, leaves: Sequence[str]) -> Document:
        """A job of a random size in one of some queues."""
        pick = self.choice
        self.jobs += 1
        pods = pick.randint(1, 5)
        requests = {"cpu": str(pick.choice([1, 1, 2, 3])), "memory": f"{pick.choice([1, 4])}Gi"}
        container = {"name": "main", "image": "none", "resources": {"requests": requests}}
        task = {
            "name": "work",
            "replicas": pods,
            "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
        }
        return {
            "apiVersion": Job.api_version,
            "kind": "Job",
            "metadata": {"name": f"job-{self.jobs}", "namespace": "default"},
            "spec": {
                "schedulerName": "volcano",
                "queue": pick.choice(list(leaves)),
                "minAvailable": pick.choice([1, pods, pods]),
                "tasks": [task],
            },
        }


def _queue(name: str, **spec: object) -> Document:
    return {"apiVersion": Queue.api_version, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _patch(path: str, value: str) -> Document:
    read: object = {"true": True, "false": False}.get(value, int(value) if value.isdecimal() else value)
    names = ["spec", *path.split(".")]
    for name in reversed(names):
        read = {name: read}
    assert isinstance(read, dict)
    return read


def _job_of(one: Object) -> str:
    return f"{one.metadata.namespace}/{one.metadata.owner_references[0].name}"


def _lacks_pods(jobs: Sequence[Job], groups: Sequence[PodGroup], pods: Sequence[Pod]) -> bool:
    """Whether a group is missing, or an admitted one has not all its pods yet."""
    counts = Counter(_job_of(one) for one in pods)
    phases = {_job_of(one): one.status.phase for one in groups}
    return any(
        one.key not in phases
        or (phases[one.key] not in ("", "Pending") and counts[one.key] < one.spec.replicas)
        for one in jobs
    )
