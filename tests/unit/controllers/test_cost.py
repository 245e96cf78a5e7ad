"""A round costs what has changed, not what there is."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import pytest

from maar.apps.time_zones import zone
from maar.core.controllers.all_controllers import all_controllers
from maar.core.controllers.cluster_view import ClusterQueue, ClusterView
from maar.core.controllers.work_queue import WorkQueue
from maar.core.job_plugins.plugin import no_key
from maar.core.job_plugins.registry import JobPlugins
from maar.core.model.events import AnyObject, Event, Upserted
from maar.core.model.metadata import Metadata
from maar.core.model.namespace import QUOTA_LABEL, Namespace, QuotaSpec, ResourceQuota
from maar.core.model.pod import GROUP_ANNOTATION, QUEUE_ANNOTATION, Pod, PodSpec, PodStatus
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec, QueueStatus
from maar.core.model.resources import Resources
from support.controller_runs import NOW
from support.job_world import JobWorld

ONE_CPU: Final = Resources.parse({"cpu": "1"})


def queue(name: str, parent: str = "", share: str = "", running: int = 0) -> Queue:
    return Queue(
        metadata=QueueMetadata(name=name),
        spec=QueueSpec(parent=parent, request=ONE_CPU),
        status=QueueStatus(state="Open", allocated=ONE_CPU, share=share, running=running),
    )


def group(number: int, phase: str = "Running") -> PodGroup:
    return PodGroup(
        metadata=Metadata(name=f"g-{number}", namespace=f"ns-{number}"),
        spec=PodGroupSpec(queue=f"q-{number}"),
        status=PodGroupStatus(phase=phase),  # type: ignore[arg-type]  # as given
    )


def pod(number: int, phase: str = "Pending") -> Pod:
    metadata = Metadata(
        name=f"p-{number}", namespace=f"ns-{number}", annotations={GROUP_ANNOTATION: f"g-{number}"}
    )
    return Pod(metadata=metadata, spec=PodSpec(scheduler_name="volcano"), status=PodStatus(phase=phase))  # type: ignore[arg-type]  # as given


def objects(number: int) -> list[AnyObject]:
    """A queue, its namespace with its quota, a pod group and its pod."""
    metadata = Metadata(name=f"ns-{number}", annotations={QUEUE_ANNOTATION: f"q-{number}"})
    labels = {QUOTA_LABEL: f"q-{number}"}
    quota = ResourceQuota(
        metadata=Metadata(name="maar-queue", namespace=f"ns-{number}", labels=labels),
        spec=QuotaSpec(hard={"requests.cpu": "1"}),
    )
    return [
        queue(f"q-{number}", "parent", running=1),
        Namespace(metadata=metadata),
        quota,
        group(number),
        pod(number),
    ]


def settled(count: int) -> ClusterQueue:
    """A cluster of so many groups, each in a queue and a namespace of its own, with nothing left to write."""
    work = WorkQueue(ClusterView(), all_controllers(no_key, JobPlugins.of(), zone, ("volcano",)))
    above = [queue("root", running=count), queue("default"), queue("parent", running=count)]
    everything = [*(one for number in range(count) for one in objects(number)), *above]
    work.feed(work.cluster.changes(Upserted(object=one) for one in everything))
    assert list(work.reconcile(NOW)) == []
    return work


def instructions(run: Callable[[], object]) -> int:
    """How many instructions of Python something takes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401  as sys.settrace has it
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    ("change", "written"),
    [
        (lambda _: pod(7, "Running"), []),
        (lambda _: pod(7, "Succeeded"), []),
        (lambda _: group(7, "Completed"), ["root", "parent", "q-7"]),  # the counters of its path
        (lambda _: queue("q-7", "parent", share="0.50", running=1), []),
        (lambda count: queue("root", share="0.50", running=count), []),
    ],
    ids=("a pod runs", "a pod has ended", "a group is completed", "a share", "the share of the root"),
)
def test_one_change_among_ten_thousand_groups_costs_as_much_as_among_a_hundred(
    change: Callable[[int], AnyObject], written: list[str]
) -> None:
    costs = []
    for count in (100, 10_000):
        work, event = settled(count), Upserted(object=change(count))
        found: list[str] = []

        def one_round(work: ClusterQueue = work, event: Event = event, found: list[str] = found) -> None:
            work.feed(work.cluster.changes([event]))
            found += [write.key for _, write in work.reconcile(NOW)]

        costs.append(instructions(one_round))
        assert found == written
    assert costs[0] == costs[1]


def asked_for(replicas: int, plugin: str) -> JobWorld:
    """A job that starts with one pod of many."""
    world = JobWorld()
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    task = {"name": "t", "replicas": replicas, "template": template}
    spec = {"queue": "default", "minAvailable": 1, "maxRetry": 3, "plugins": {plugin: []}, "tasks": [task]}
    kind = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    world.put({**kind, "metadata": {"name": "j", "namespace": "default"}, "spec": spec})
    return world


def test_looks_at_a_job_of_two_thousand_million_pods_cost_as_much_as_at_one_of_a_thousand() -> None:
    costs = []
    for replicas in (1_000, 2**31 - 1):
        world = asked_for(replicas, "env")
        while (group := world.group()) is None:
            assert world.round()
        world.change(group, {"status": {"phase": "Inqueue"}})
        world.refusal = "the quota is used up"

        def looks(world: JobWorld = world) -> None:
            for _ in range(4):
                world.round()
                world.try_again()

        costs.append(instructions(looks))
        assert world.status()["state"]["reason"] == "FailedCreate"
    assert costs[1] < 1.1 * costs[0]


def test_hosts_that_fit_into_no_object_are_not_listed() -> None:
    """The job was stored before admission asked."""
    world = asked_for(2**31 - 1, "svc")
    world.settle()
    assert "the names of the job's hosts take up to" in world.status()["state"]["message"]
