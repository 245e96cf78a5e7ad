"""Reasons are true (laws.md R1, R2): what a refusal says would cure it does, and what it says is for ever is."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import product
from typing import Final

import pytest

from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.model.reasons import Cure, Held, Reason
from maar.core.views.planning import plans
from properties.cluster_growth import Reach
from properties.cluster_manifests import GROUP, NOW, Document, node
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, as_object, recipes

CLUSTERS: Final = {Reach.MODEL: 120, Reach.BEYOND: 120}
CYCLES: Final = 6
# More nodes would help some of these too, but design.md has nobody buy nodes for them.
NO_NODES_FOR: Final = (Reason.BEHIND_FIRST_IN_QUEUE, Reason.WAITING_FOR_VICTIMS, Reason.GUARANTEE_BLOCKED)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def decided(cluster: Cluster, cycles: int) -> list[Plan]:
    """What the engine decides, cycle by cycle."""
    return list(plans(cluster.objects, now=NOW, cycles=cycles))


def waiting(case: Case) -> Iterator[tuple[str, Held, set[str]]]:
    """The groups that wait, why, and their pods that have no node."""
    [plan] = decided(case.cluster, 1)
    bound = {one.pod for one in plan.binds}
    for key, outcome in plan.pod_groups.items():
        pods = {
            pod.key
            for pod in case.outcome.reading.pods_of.get(key, ())
            if not (pod.spec.node_name or pod.is_finished or pod.is_terminating or pod.key in bound)
        }
        if outcome.held is not None and pods:
            yield key, outcome.held, pods


def becomes_of(cluster: Cluster, group: str, held: Held, pods: set[str]) -> str:
    """Whether one of the pods is bound, or the group then waits for something else, or nothing changes."""
    last: Held | None = held
    for plan in decided(cluster, CYCLES):
        if any(one.pod in pods for one in plan.binds):
            return "starts"
        outcome = plan.pod_groups.get(group)
        last = outcome.held if outcome is not None else None
    return "waits for the same" if last is not None and same(held, last) else "waits for something else"


def same(one: Held, other: Held) -> bool:
    """Whether two refusals are by the same constraint on the same resource."""
    first, second = ({short.resource for short in held.shortages} for held in (one, other))
    return (one.reason, one.queue, one.cure) == (other.reason, other.queue, other.cure) and (
        not first or bool(first & second)
    )


def left(case: Case, group: str, waits: set[str]) -> set[str]:
    """The pods of a group that are left when others finish: its own too, where it can do without them."""
    if not case.outcome.after.missing(group)[0]:
        return waits
    return {pod.key for pod in case.outcome.reading.pods_of[group]}


# What cures a refusal, done to the cluster

Cured = Callable[[Cluster, str, Held, set[str]], Cluster]


def group_of(document: Document) -> str:
    """The group that an object is, or belongs to."""
    metadata = document["metadata"]
    name = (
        metadata["name"] if document["kind"] == "PodGroup" else metadata.get("annotations", {}).get(GROUP, "")
    )
    return f"{metadata.get('namespace', 'default')}/{name}" if name else ""


def others_finish(cluster: Cluster, group: str, _held: Held, waits: set[str]) -> Cluster:
    """Leave nothing but the group, and of a group that is ready only what waits."""

    def stays(document: Document) -> bool:
        if document["kind"] not in ("Pod", "PodGroup") or not group_of(document):
            return True
        return group_of(document) == group and (document["kind"] == "PodGroup" or key_of(document) in waits)

    return Cluster([document for document in cluster.documents if stays(document)])


def request(document: Document) -> dict[str, int]:
    """What a pod asks for."""
    pod = as_object(document)
    assert isinstance(pod, Pod)
    return dict(pod.request)


def key_of(document: Document) -> str:
    """The key of an object."""
    return f"{document['metadata'].get('namespace', 'default')}/{document['metadata']['name']}"


def share_grows(cluster: Cluster, group: str, held: Held, _waits: set[str]) -> Cluster:
    """Give the queue all the weight there is, and leave no work in queues that are not above or below it."""
    queues = {one["metadata"]["name"]: one for one in cluster.documents if one["kind"] == "Queue"}

    def path(name: str) -> list[str]:
        found = [name]
        while found[-1] in queues:
            found.append(queues[found[-1]]["spec"].get("parent", "root"))
        return found

    def stays(document: Document) -> bool:
        if document["kind"] not in ("Pod", "PodGroup") or not group_of(document):
            return True
        name = next(
            (one["spec"]["queue"] for one in cluster.documents
             if one["kind"] == "PodGroup" and group_of(one) == group_of(document)), "",
        )  # fmt: skip
        return held.queue in path(name)

    return Cluster([document for document in cluster.documents if stays(document)])


def limit_changes(cluster: Cluster, _group: str, held: Held, _waits: set[str]) -> Cluster:
    """Take the ceiling of the queue away, or what is reserved for others."""
    documents = deepcopy(list(cluster.documents))
    for document in documents:
        if document["kind"] == "Queue":
            if held.reason == Reason.RESERVED_FOR_OTHERS:
                document["spec"].pop("guarantee", None)
            elif document["metadata"]["name"] == held.queue:
                document["spec"].pop("capability", None)
    return Cluster(documents)


def more_nodes(
    cluster: Cluster, _group: str = "", _held: Held | None = None, waits: Iterable[str] = ()
) -> Cluster:
    """Add empty nodes of every kind: large ones, and such as have just the room for one of the pods."""
    labels = [{"zone": zone, "disk": disk} for zone, disk in product(("a", "b", "c", "d"), ("ssd", "hdd"))]
    large = {"cpu": 10**7, "memory": 10**15, "pods": 10**5, "nvidia.com/gpu": 10**5}
    rooms = [large] * 3
    for document in cluster.documents if waits else ():
        if document["kind"] == "Pod" and key_of(document) in waits:
            rooms.append({**request(document), "pods": 1})
    if waits:
        del rooms[:3]
    new = [
        node(f"new-{number}-{place}", room, label)
        for number, room in enumerate(rooms)
        for place, label in enumerate(labels)
    ]
    return Cluster([*cluster.documents, *new])


CURES: Final[Mapping[Cure, Cured]] = {
    Cure.OTHERS_FINISH: others_finish,
    Cure.SHARE_GROWS: share_grows,
    Cure.LIMIT_CHANGES: limit_changes,
    Cure.OTHER_NODES: more_nodes,
}


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_what_a_reason_names_cures_it(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        for group, held, pods in waiting(case):
            cure = CURES.get(held.cure)
            if cure is None or held.reason in (Reason.WAITING_FOR_VICTIMS, Reason.BEHIND_FIRST_IN_QUEUE):
                continue
            is_ready = not case.outcome.reading.at_first.missing(group)[0]
            if (
                becomes_of(cure(case.cluster, group, held, is_ready), group, held, pods)
                == "waits for the same"
            ):
                yield f"{held.reason} {held.cure}: {group} waits all the same: {held}"

    trial.of(check, recipes(reach), CLUSTERS[reach])


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_what_never_starts_does_not_start_alone(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        for group, held, pods in waiting(case):
            if held.cure == Cure.NEVER:
                alone = others_finish(case.cluster, group, held, left(case, group, pods))
                if becomes_of(alone, group, held, pods) == "starts":
                    yield f"{held.reason} {held.cure}: {group} starts alone: {held}"

    trial.of(check, recipes(reach), CLUSTERS[reach])


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r2_unschedulable_is_what_more_nodes_start(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        larger = more_nodes(case.cluster)
        for group, held, pods in waiting(case):
            if held.reason in NO_NODES_FOR:
                continue
            starts = "starts" in (
                becomes_of(larger, group, held, pods),
                becomes_of(more_nodes(case.cluster, waits=pods), group, held, pods),
            )
            if starts != held.more_nodes_help:
                yield f"{held.reason} {held.cure}: {group} {'starts' if starts else 'does not start'}: {held}"

    trial.of(check, recipes(reach), CLUSTERS[reach])
