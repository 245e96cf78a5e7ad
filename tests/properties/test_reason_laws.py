"""Reasons are true: what a refusal says would cure it does, and what it says is for ever is."""

from collections.abc import Callable, Iterator, Mapping
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

CLUSTERS: Final = {Reach.MODEL: 100, Reach.BEYOND: 100}
CYCLES: Final = 6
MOST_GROUPS: Final = 3  # of a cluster
# More nodes would help some of these too, but design.md has nobody buy nodes for them.
NO_NODES_FOR: Final = (Reason.BEHIND_FIRST_IN_QUEUE, Reason.WAITING_FOR_VICTIMS, Reason.GUARANTEE_BLOCKED)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def decided(cluster: Cluster, cycles: int) -> list[Plan]:
    """What the engine decides, cycle by cycle."""
    return list(plans(cluster.objects, now=NOW, cycles=cycles))


def waiting(case: Case) -> list[tuple[str, Held, set[str]]]:
    """Some groups that wait, why, and their pods that have no node."""
    [plan], found = decided(case.cluster, 1), list[tuple[str, Held, set[str]]]()
    bound = {one.pod for one in plan.binds}
    for key, outcome in plan.pod_groups.items():
        pods = {
            pod.key
            for pod in case.outcome.reading.pods_of.get(key, ())
            if not (pod.spec.node_name or pod.is_finished or pod.is_terminating or pod.key in bound)
        }
        if outcome.held is not None and pods:
            found.append((key, outcome.held, pods))
    return case.dice.sample(found, min(len(found), MOST_GROUPS))


def becomes_of(cluster: Cluster, group: str, held: Held, pods: set[str], cycles: int = CYCLES) -> str:
    """Whether one of the pods is bound, or the group then waits for something else, or nothing changes."""
    last: Held | None = held
    for plan in decided(cluster, cycles):
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


def share_grows(cluster: Cluster, _group: str, held: Held, _waits: set[str]) -> Cluster:
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


def other_nodes(cluster: Cluster, _group: str, _held: Held, _waits: set[str]) -> Cluster:
    """Add large, empty nodes of every kind."""
    large = {"cpu": 10**7, "memory": 10**15, "pods": 10**5, "nvidia.com/gpu": 10**5}
    return with_nodes(cluster, [large] * 3)


def nodes_for(cluster: Cluster, pods: set[str]) -> Cluster:
    """Add nodes of every kind that have just the room for one of the pods."""
    wanted = [one for one in cluster.documents if one["kind"] == "Pod" and key_of(one) in pods]
    return with_nodes(cluster, [{**request(one), "pods": 1} for one in wanted])


def with_nodes(cluster: Cluster, rooms: list[dict[str, int]]) -> Cluster:
    """Add nodes of these sizes, in every zone and with every disk."""
    labels = [{"zone": zone, "disk": disk} for zone, disk in product("abcdefgh", ("ssd", "hdd"))]
    new = [
        node(f"new-{number}-{place}", room, label)
        for number, room in enumerate(rooms)
        for place, label in enumerate(labels)
    ]
    return Cluster([*cluster.documents, *new])


def follows_others(cluster: Cluster, pods: set[str]) -> bool:
    """Whether some of the pods have to be near others, which new nodes may let start first."""
    waiting = [one for one in cluster.documents if one["kind"] == "Pod" and key_of(one) in pods]
    return any("podAffinity" in one["spec"].get("affinity", {}) for one in waiting)


def without_rivals(cluster: Cluster, group: str) -> Cluster:
    """Leave out what waits in other groups: it might take the new nodes, and what the queue may use."""

    def stays(document: Document) -> bool:
        is_pod = document["kind"] == "Pod" and bool(group_of(document))
        return not is_pod or group_of(document) == group or bool(document["spec"].get("nodeName"))

    return Cluster([document for document in cluster.documents if stays(document)])


CURES: Final[Mapping[Cure, Cured]] = {
    Cure.OTHERS_FINISH: others_finish,
    Cure.SHARE_GROWS: share_grows,
    Cure.LIMIT_CHANGES: limit_changes,
    Cure.OTHER_NODES: other_nodes,
}


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_what_a_reason_names_cures_it(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        for group, held, pods in waiting(case):
            cure = CURES.get(held.cure)
            if cure is None or held.reason in (Reason.WAITING_FOR_VICTIMS, Reason.BEHIND_FIRST_IN_QUEUE):
                continue
            cured = cure(case.cluster, group, held, left(case, group, pods))
            if becomes_of(cured, group, held, pods) == "waits for the same":
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
        for group, held, pods in waiting(case):
            if held.reason in NO_NODES_FOR:
                continue
            helps = held.more_nodes_help
            cluster = without_rivals(case.cluster, group) if helps else case.cluster
            larger = (other_nodes(cluster, group, held, pods), nodes_for(cluster, pods))
            cycles = CYCLES if helps else 1  # what starts later may do so for what others do meanwhile
            starts = any(becomes_of(one, group, held, pods, cycles) == "starts" for one in larger)
            if starts != helps and not (starts and follows_others(case.cluster, pods)):
                yield f"{held.reason} {held.cure}: {group} {'starts' if starts else 'does not start'}: {held}"

    trial.of(check, recipes(reach), CLUSTERS[reach])
