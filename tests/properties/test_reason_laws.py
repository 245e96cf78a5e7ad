"""Reasons are true: what a refusal says would cure it does, and what it says is for ever is."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import product
from typing import Final

import pytest

from maar.core.answers.plan.ask import plans
from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.model.reasons import Cure, Reason, Refusal
from maar.core.policy.configuration import parse
from properties.cluster_manifests import GROUP, NOW, Document, node
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, as_object, recipes
from properties.cycle_outcomes import asks_for_nothing
from properties.how_many import cases

CLUSTERS: Final = {Reach.MODEL: cases(60), Reach.BEYOND: cases(60)}
CYCLES: Final = 6
MOST_GROUPS: Final = 3  # of a cluster
# A queue deserves all that is asked for there, and one below it uses more than its capability.
BEYOND_CAPABILITY: Final = Recipe(2404484788, 4, 5, 19, 2, Style.RANKED, Reach.BEYOND)
# More nodes would help some of these too, but docs/specification/reasons.md excepts them.
NO_NODES_FOR: Final = (
    Reason.BEHIND_FIRST_IN_QUEUE,
    Reason.WAITING_FOR_VICTIMS,
    Reason.GUARANTEE_BLOCKED,
    Reason.VICTIMS_PROTECTED_UNTIL,
)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def decided(cluster: Cluster, cycles: int) -> list[Plan]:
    """What the engine decides, cycle by cycle."""
    return list(plans(cluster.objects, parse(cluster.configuration), NOW, cycles))


def waiting(case: Case) -> list[tuple[str, Refusal, set[str]]]:
    """Some groups that wait, why, and their pods that have no node."""
    [plan], found = decided(case.cluster, 1), list[tuple[str, Refusal, set[str]]]()
    bound = {one.pod for one in plan.binds}
    for key, outcome in plan.pod_groups.items():
        members = {pod.key for pod in case.outcome.reading.pods_of.get(key, ())}
        pods = {
            pod.key
            for pod in case.outcome.reading.pods_of.get(key, ())
            if not (pod.spec.node_name or pod.is_finished or pod.is_terminating or pod.key in bound)
        }
        is_moved = any(one.pod in members for one in plan.evictions) or any(
            pod.status.nominated_node_name for pod in case.outcome.reading.pods_of.get(key, ())
        )
        if outcome.refusal is not None and pods and not is_moved:
            found.append((key, outcome.refusal, pods))
    return case.rng.sample(found, min(len(found), MOST_GROUPS))


def becomes_of(cluster: Cluster, group: str, refusal: Refusal, pods: set[str], cycles: int = CYCLES) -> str:
    """Whether one of the pods is bound, or the group then waits for something else, or nothing changes."""
    last: Refusal | None = refusal
    for plan in decided(cluster, cycles):
        if any(one.pod in pods for one in plan.binds):
            return "starts"
        outcome = plan.pod_groups.get(group)
        last = outcome.refusal if outcome is not None else None
    return "waits for the same" if last is not None and same(refusal, last) else "waits for something else"


def same(one: Refusal, other: Refusal) -> bool:
    """Whether two refusals are by the same constraint on the same resource."""
    if one.reason == Reason.BEHIND_FIRST_IN_QUEUE and one.others != other.others:
        return False
    first, second = ({short.resource for short in refusal.shortages} for refusal in (one, other))
    return (one.reason, one.queue, one.cure) == (other.reason, other.queue, other.cure) and (
        not first or bool(first & second)
    )


def left(case: Case, group: str, waits: set[str]) -> set[str]:
    """The pods of a group that are left when others finish: its own too, where it can do without them."""
    if not case.outcome.after.missing(group)[0]:
        return waits
    return {pod.key for pod in case.outcome.reading.pods_of[group]}


# What cures a refusal, done to the cluster

Cured = Callable[[Cluster, str, Refusal, set[str]], Cluster]


def group_of(document: Document) -> str:
    """The group that an object is, or belongs to."""
    metadata = document["metadata"]
    name = (
        metadata["name"] if document["kind"] == "PodGroup" else metadata.get("annotations", {}).get(GROUP, "")
    )
    return f"{metadata.get('namespace', 'default')}/{name}" if name else ""


def others_finish(cluster: Cluster, group: str, _held: Refusal, waits: set[str]) -> Cluster:
    """Leave nothing but the group, and of a group that is ready only what waits."""

    def stays(document: Document) -> bool:
        if document["kind"] not in ("Pod", "PodGroup"):
            return True
        return group_of(document) == group and (document["kind"] == "PodGroup" or key_of(document) in waits)

    return Cluster([document for document in cluster.documents if stays(document)])


def without_first(cluster: Cluster, _group: str, refusal: Refusal, _waits: set[str]) -> Cluster:
    """Take away the group that comes first."""
    return without(cluster, refusal.others[0])


def without(cluster: Cluster, group: str) -> Cluster:
    """Take a group away, and its pods."""
    return Cluster([document for document in cluster.documents if group_of(document) != group])


def request(document: Document) -> dict[str, int]:
    """What a pod asks for."""
    pod = as_object(document)
    assert isinstance(pod, Pod)
    return dict(pod.request)


def key_of(document: Document) -> str:
    """The key of an object."""
    return f"{document['metadata'].get('namespace', 'default')}/{document['metadata']['name']}"


def share_grows(cluster: Cluster, _group: str, refusal: Refusal, _waits: set[str]) -> Cluster:
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
        return refusal.queue in path(name)

    documents = deepcopy([document for document in cluster.documents if stays(document)])
    for document in documents:
        if document["kind"] == "Queue" and refusal.queue not in path(document["metadata"]["name"]):
            document["spec"].pop("request", None)
            document["spec"].pop("guarantee", None)
    return Cluster(documents)


def limit_changes(cluster: Cluster, _group: str, refusal: Refusal, _waits: set[str]) -> Cluster:
    """Take the ceiling of the queue away, or what is reserved for others."""
    documents = deepcopy(list(cluster.documents))
    for document in documents:
        if document["kind"] == "Queue":
            if refusal.reason == Reason.RESERVED_FOR_OTHERS:
                document["spec"].pop("guarantee", None)
            elif document["metadata"]["name"] == refusal.queue:
                document["spec"].pop("capability", None)
    return Cluster(documents)


def other_nodes(cluster: Cluster, _group: str, _held: Refusal, _waits: set[str]) -> Cluster:
    """Add large, empty nodes of every kind."""
    large = {"cpu": 10**7, "memory": 10**15, "pods": 10**5, "nvidia.com/gpu": 10**5}
    return with_nodes(cluster, [large] * 3)


def nodes_for(cluster: Cluster, pods: set[str]) -> Cluster:
    """Add nodes of every kind that have just the room for one of the pods."""
    wanted = [one for one in cluster.documents if one["kind"] == "Pod" and key_of(one) in pods]
    return with_nodes(cluster, [{**request(one), "pods": 1} for one in wanted])


def with_nodes(cluster: Cluster, allocatables: list[dict[str, int]]) -> Cluster:
    """Add nodes of these sizes, in every zone and with every disk."""
    labels = [{"zone": zone, "disk": disk} for zone, disk in product("abcdefgh", ("ssd", "hdd"))]
    new = [
        node(f"new-{number}-{place}", allocatable, label)
        for number, allocatable in enumerate(allocatables)
        for place, label in enumerate(labels)
    ]
    return Cluster([*cluster.documents, *new])


def follows_others(cluster: Cluster, pods: set[str]) -> bool:
    """Whether some of the pods have to be near others, which new nodes may let start first."""
    waiting = [one for one in cluster.documents if one["kind"] == "Pod" and key_of(one) in pods]
    return any("podAffinity" in one["spec"].get("affinity", {}) for one in waiting)


def carried_out(cluster: Cluster, plan: Plan, group: str) -> Cluster:
    """The cluster after the plan, in which no other group waits for what the new nodes would give."""
    nodes = {one.pod: one.node for one in plan.nominations} | {one.pod: one.node for one in plan.binds}
    evicted, documents = {one.pod for one in plan.evictions}, list[Document]()
    for document in deepcopy(list(cluster.documents)):
        key = key_of(document)
        if document["kind"] == "PodGroup" and key in plan.pod_groups:
            document.setdefault("status", {})["phase"] = plan.pod_groups[key].phase
        if document["kind"] == "Pod" and group_of(document):
            if key in nodes:
                document["spec"]["nodeName"] = nodes[key]
                document["status"] = {"phase": "Running"}
            is_rival = not document["spec"].get("nodeName") and group_of(document) != group
            if key in evicted or is_rival or "deletionTimestamp" in document["metadata"]:
                continue
        documents.append(document)
    holding = {group_of(one) for one in documents if one["kind"] == "Pod"}
    return Cluster([one for one in documents if one["kind"] != "PodGroup" or group_of(one) in holding])


CURES: Final[Mapping[Cure, Cured]] = {
    Cure.OTHERS_FINISH: others_finish,
    Cure.SHARE_GROWS: share_grows,
    Cure.LIMIT_CHANGES: limit_changes,
    Cure.OTHER_NODES: other_nodes,
}


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_what_a_reason_names_cures_it(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        for group, refusal, pods in waiting(case):
            cure = (
                without_first if refusal.reason == Reason.BEHIND_FIRST_IN_QUEUE else CURES.get(refusal.cure)
            )
            if cure is None or refusal.reason == Reason.WAITING_FOR_VICTIMS:
                continue
            cured = cure(case.cluster, group, refusal, left(case, group, pods))
            if becomes_of(cured, group, refusal, pods) == "waits for the same":
                yield f"{refusal.reason} {refusal.cure}: {group} waits all the same: {refusal}"

    kept = [one for one in (BEYOND_CAPABILITY,) if one.reach is reach]
    trial.of(check, recipes(reach), CLUSTERS[reach], kept=kept)


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_what_never_starts_does_not_start_alone(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        for group, refusal, pods in waiting(case):
            if refusal.cure == Cure.NEVER:
                alone = others_finish(case.cluster, group, refusal, left(case, group, pods))
                if becomes_of(alone, group, refusal, pods) == "starts":
                    yield f"{refusal.reason} {refusal.cure}: {group} starts alone: {refusal}"
                if becomes_of(placed_anew(alone), group, refusal, pods) == "starts":
                    yield f"{refusal.reason} {refusal.cure}: {group} starts placed anew: {refusal}"

    trial.of(check, recipes(reach), CLUSTERS[reach])


def placed_anew(cluster: Cluster) -> Cluster:
    """Let every pod that a scheduler of ours has placed wait for a node again."""
    documents = deepcopy(list(cluster.documents))
    for one in documents:
        if one["kind"] == "Pod" and one["spec"].pop("nodeName", None):
            one["status"] = {"phase": "Pending"}
    return Cluster(documents)


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_what_its_own_pods_are_in_the_way_of_starts_once_they_are_placed_anew(
    reach: Reach, trial: Trial
) -> None:
    seen = Counter[bool]()

    def check(case: Case) -> Iterator[str]:
        for group, refusal, pods in waiting(case):
            if refusal.cure != Cure.SOMEBODY_ACTS or refusal.reason != Reason.NOT_ENOUGH_RESOURCES:
                continue
            alone = others_finish(case.cluster, group, refusal, left(case, group, pods))
            starts = becomes_of(alone, group, refusal, pods) == "starts"
            starts_anew = becomes_of(placed_anew(alone), group, refusal, pods) == "starts"
            seen[starts_anew] += 1
            if starts or not starts_anew:
                yield f"{refusal.reason} {refusal.cure}: {group} {starts}, anew {starts_anew}: {refusal}"

    trial.of(check, recipes(reach), CLUSTERS[reach])
    trial.record("seen", str(seen))


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_what_waits_for_somebody_to_act_does_not_start_when_another_finishes(
    reach: Reach, trial: Trial
) -> None:
    def check(case: Case) -> Iterator[str]:
        groups = {group_of(one) for one in case.cluster.documents if one["kind"] == "PodGroup"}
        for group, refusal, pods in waiting(case):
            if refusal.cure != Cure.SOMEBODY_ACTS or refusal.reason != Reason.NO_NODE_FITS:
                continue
            for other in sorted(groups - {group}):
                if becomes_of(without(case.cluster, other), group, refusal, pods) == "starts":
                    yield f"{refusal.reason} {refusal.cure}: {group} starts when {other} finishes: {refusal}"

    trial.of(check, recipes(reach), CLUSTERS[reach])


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r2_unschedulable_is_what_more_nodes_start(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        [plan] = decided(case.cluster, 1)
        for group, refusal, pods in waiting(case):
            if refusal.reason in NO_NODES_FOR:
                continue
            cluster = carried_out(case.cluster, plan, group)
            larger = (other_nodes(cluster, group, refusal, pods), nodes_for(cluster, pods))
            # What starts later may do so for what others do meanwhile.
            cycles = CYCLES if refusal.more_nodes_help else 1
            starts = any(becomes_of(one, group, refusal, pods, cycles) == "starts" for one in larger)
            if starts == refusal.more_nodes_help:
                continue
            if starts and any(asks_for_nothing(pod) for pod in case.outcome.reading.pods_of[group]):
                continue  # what of it asks for nothing has a turn of its own
            if not starts or not (follows_others(cluster, pods) or plan.pod_groups[group].phase == "Pending"):
                what = "starts" if starts else "does not start"
                yield f"{refusal.reason} {refusal.cure}: {group} {what}: {refusal}"

    trial.of(check, recipes(reach), CLUSTERS[reach])
