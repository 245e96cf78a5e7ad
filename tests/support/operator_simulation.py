"""A cluster on which a test plays an operator: it writes what the operator writes, and Maar answers."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import cast

from maar.core.model.pod import GROUP_ANNOTATION
from maar.core.model.workload import WORKLOADS
from maar.core.policy.configuration import DEFAULT, Configuration
from support.operators import Json
from support.scenario_world import World, world_of

START = datetime(2026, 1, 1, tzinfo=UTC)
_WORKLOADS = {(one.api_version, one.kind) for one in WORKLOADS}


def node(name: str, cpu: int) -> Json:
    """A node with so many CPUs and as many GiB."""
    size = {"cpu": str(cpu), "memory": f"{cpu}Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def queue(name: str, **spec: object) -> Json:
    """A queue."""
    header = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
    return {**header, "spec": {"weight": 1, **spec}}


class OperatorSimulation:
    """Nodes, queues, and everything that an operator does, one thing after the other."""

    def __init__(self, *documents: Json, configuration: Configuration = DEFAULT) -> None:
        self._now = START
        self.world: World = world_of((), START, configuration)
        self.create(*documents)

    def create(self, *documents: Json) -> None:
        """Let objects be created, in this order, and Maar come to rest."""
        for one in documents:
            self._now += timedelta(seconds=1)
            self._create_owners(one)
            made = deepcopy(one)
            made["metadata"]["creationTimestamp"] = self._now.isoformat()
            self.world.put(made)
        self._settle()

    def replace(self, document: Json) -> None:
        """PUT a pod group as typed clients do: the whole spec anew, metadata and status as they were read."""
        key = ("PodGroup", f"default/{document['metadata']['name']}")
        stored = self.world.objects[key]
        self.world.put({**deepcopy(stored), "spec": deepcopy(document["spec"])})
        self._settle()

    def end(self, pod: str, phase: str = "Succeeded") -> None:
        """Let a pod end, or fail; it stays."""
        self.world.change(("Pod", f"default/{pod}"), {"status": {"phase": phase}})
        self._settle()

    def delete(self, kind: str, *names: str) -> None:
        """Delete objects."""
        for name in names:
            self.world.remove((kind, f"default/{name}"))
        self._settle()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
        self._settle()

    def group(self, name: str) -> Json:
        """A pod group as it is now."""
        return self.world.objects["PodGroup", f"default/{name}"]

    def phase(self, group: str) -> str:
        """The phase of a pod group, which operators read."""
        return str(self.group(group).get("status", {}).get("phase", ""))

    def pods(self, *, phase: str = "Running", start: str = "") -> list[str]:
        """The names of pods in a phase."""
        return sorted(
            one["metadata"]["name"]
            for (kind, _), one in self.world.objects.items()
            if kind == "Pod" and one["status"]["phase"] == phase and one["metadata"]["name"].startswith(start)
        )

    def group_of(self, pod: str) -> str:
        """The name of the pod group that a pod names."""
        metadata = self.world.objects["Pod", f"default/{pod}"]["metadata"]
        return str(metadata.get("annotations", {}).get(GROUP_ANNOTATION, ""))

    def refusal(self, group: str) -> str:
        """The reason for which the last decision holds a pod group; empty where nothing does."""
        outcome = self.world.plan.pod_groups.get(f"default/{group}")
        return str(outcome.refusal.reason) if outcome is not None and outcome.refusal is not None else ""

    def used(self, queue: str, resource: str = "cpu") -> str:
        """What the pods of a queue hold."""
        status = cast(Json, self.world.objects["Queue", queue].get("status", {}))
        return str(status.get("used", {}).get(resource, "0"))

    def _create_owners(self, document: Json) -> None:
        """The workloads that pods come from are there before them."""
        for one in document["metadata"].get("ownerReferences", []):
            if (one["apiVersion"], one["kind"]) in _WORKLOADS:
                metadata = {"name": one["name"], "namespace": "default", "uid": one["uid"]}
                self.world.put({"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": metadata})

    def _settle(self) -> None:
        self.world.now = self._now
        self.world.settle()
