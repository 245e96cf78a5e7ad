"""Changes made on manifests by hand, and whether a group starts with them: what answers are held to.

Nothing of `maar.core.answers` is used here but the fields of a change; what happens is asked of
`maar.plan`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Final

import maar
from maar.core.admission.offline import Imagined, Sent
from maar.core.admission.request import Options
from maar.core.answers.explain.single_changes import (
    AddTolerations,
    CreateQueue,
    DeleteGroup,
    MoreNodes,
    OpenNode,
    RaiseCapability,
    RemoveGates,
    SetPriority,
    SetWeight,
    SingleChange,
)
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.queue import ALWAYS_OPEN, Queue
from maar.core.model.resources import Resources
from maar.core.policy.configuration import DEFAULT, Configuration, parse
from properties.cluster_manifests import CLASSES, GROUP, HOSTNAME, NOW, Document, node, queue
from properties.cluster_recipe import Recipe
from properties.clusters import Cluster
from properties.full_clusters import full_cluster

CYCLES: Final = 8
STEPS: Final = {"cpu": 1000, "memory": 2**30}


def configuration_of(cluster: Cluster) -> Configuration:
    """What a cluster is decided by."""
    document = cluster.configuration
    return parse(document) if isinstance(document, Mapping) else DEFAULT


def starts(documents: Sequence[Document], configuration: Configuration, key: str) -> bool:
    """Whether a pod of a group is bound within a few cycles, or another evicted for it."""
    pods = {name_of(one) for one in _pods(documents, key)}
    for cycles in (1, CYCLES):  # the first says it in most cases
        planned = maar.plan(list(documents), configuration, NOW, cycles, resubmit_victims=True)
        if not pods.isdisjoint(planned.binds) or any(one.beneficiary == key for one in planned.evictions):
            return True
    return False


def capped_cluster(recipe: Recipe) -> Cluster:
    """A full cluster in which capabilities are in the way: of queues, and of one above some of them."""
    rng = recipe.random("capabilities")
    documents = deepcopy(list(full_cluster(recipe).documents))
    used = Counter[str]()
    for group in (one for one in documents if one["kind"] == "PodGroup"):
        for pod in _pods(documents, name_of(group)):
            request = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            used[group["spec"]["queue"]] += int(request.rstrip("m")) * ("nodeName" in pod["spec"])
    below = list[str]()
    for one in (one for one in documents if one["kind"] == "Queue"):
        name = one["metadata"]["name"]
        if rng.random() < 0.7:
            one["spec"]["capability"] = {"cpu": f"{used[name] + rng.choice((0, 0, 500, 1000))}m", "pods": 12}
        if rng.random() < 0.5:
            one["spec"]["parent"] = "above"
            below.append(name)
    most = sum(used[name] for name in below) + rng.choice((0, 1000, 2000))
    documents.append(queue("above", {"weight": 2, "capability": {"cpu": f"{most}m"}}, 60_000))
    return Cluster(documents)


def declaring_cluster(recipe: Recipe) -> Cluster:
    """A full cluster whose queues declare what they request: about as much as they use."""
    rng, documents = recipe.random("requests"), deepcopy(list(full_cluster(recipe).documents))
    queues = {one["metadata"]["name"]: one["spec"] for one in documents if one["kind"] == "Queue"}
    used = Counter[str]()
    for group in (one for one in documents if one["kind"] == "PodGroup"):
        for pod in _pods(documents, name_of(group)):
            request = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            used[group["spec"]["queue"]] += int(request.rstrip("m")) * ("nodeName" in pod["spec"])
    for name, spec in queues.items():
        if rng.random() < 0.7:
            declared = max(0, used[name] + rng.choice((-1000, 0, 0, 500, 1000)))
            spec["request"] = {"cpu": f"{declared}m", "pods": 12}
    return Cluster(documents)


def tainted_cluster(recipe: Recipe) -> Cluster:
    """A full cluster with idle nodes with taints, and groups that ask for what only those have."""
    rng, documents = recipe.random("taints"), deepcopy(list(full_cluster(recipe).documents))
    for number in range(rng.randint(1, 3)):
        room = {"cpu": 8000, "pods": 110, **({"example.com/device": 4} if rng.random() < 0.7 else {})}
        one = node(f"kept{number}", room, {"zone": rng.choice("ab")})
        values = rng.choice(("x", "y", "xy"))
        one["spec"]["taints"] = [
            {"key": f"kept-{value}", "value": value, "effect": "NoSchedule"} for value in values
        ]
        documents.append(one)
    for group in (one for one in documents if one["kind"] == "PodGroup" and rng.random() < 0.5):
        if group["status"]["phase"] == "Pending":
            group["status"]["phase"] = rng.choice(("Pending", "Inqueue"))
        for pod in (one for one in _pods(documents, name_of(group)) if "nodeName" not in one["spec"]):
            pod["spec"]["containers"][0]["resources"]["requests"]["example.com/device"] = "1"
    return Cluster(documents)


def name_of(document: Document) -> str:
    """The key of an object with a namespace."""
    return f"{document['metadata'].get('namespace', 'default')}/{document['metadata']['name']}"


def group_of(pod: Document) -> str:
    """The key of a pod's group."""
    metadata = pod["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata.get('annotations', {}).get(GROUP, '')}"


def changed(cluster: Cluster, change: SingleChange) -> list[Document]:
    """The manifests with a change made."""
    documents = deepcopy(list(cluster.documents))
    match change:
        case RaiseCapability(queues=queues):
            for name, amounts in queues.items():
                queue = _named(documents, "Queue", name)
                queue["spec"].setdefault("capability", {}).update(amounts.quantities())
        case SetWeight(queue=name, weight=weight):
            if name in ALWAYS_OPEN and not any(_is_queue(one, name) for one in documents):
                documents.append(_queue(name))  # it is there without an object
            _named(documents, "Queue", name)["spec"]["weight"] = weight
        case MoreNodes(like=like, count=count):
            documents += [_node(_named(documents, "Node", like), number) for number in range(count)]
        case OpenNode(node=name):
            spec = _named(documents, "Node", name)["spec"]
            kept = [one for one in spec.get("taints", ()) if one["key"] != "node.kubernetes.io/unschedulable"]
            spec.update(unschedulable=False, taints=kept)
        case DeleteGroup(group=key):
            gone = [*_pods(documents, key), *(one for one in documents if _is_group(one, key))]
            documents = [one for one in documents if one not in gone]
        case CreateQueue(queue=name):
            documents.append(_queue(name))
        case _:
            _change_group(documents, change)
    return documents


def _change_group(documents: list[Document], change: SingleChange) -> None:
    match change:
        case RemoveGates(group=key):
            for one in _pods(documents, key):
                one["spec"].pop("schedulingGates", None)
        case AddTolerations(group=key, taints=taints):
            new = [{"key": one.key, "value": one.value, "effect": one.effect} for one in taints]
            for one in _pods(documents, key):
                if "nodeName" not in one["spec"]:
                    one["spec"].setdefault("tolerations", []).extend(new)
        case SetPriority(group=key, priority_class=name):
            next(one for one in documents if _is_group(one, key))["spec"]["priorityClassName"] = name


def is_allowed(cluster: Cluster, change: SingleChange | None) -> bool:
    """Whether admission takes larger capabilities; what is above comes first."""
    if not isinstance(change, RaiseCapability):
        return True
    imagined, kinds = Imagined(Options()), dict[str, type[Object]](Queue=Queue, Node=Node)
    known = [one for one in cluster.documents if one["kind"] in kinds]
    assert not [*imagined.learn(Sent("", kinds[one["kind"]], one) for one in known)]
    documents = changed(cluster, change)
    sent = [Sent("", Queue, _named(documents, "Queue", name)) for name in reversed(change.queues)]
    return not any(imagined.apply(one).refusals for one in sent)


def _queue(name: str) -> Document:
    return {"apiVersion": Queue.api_version, "kind": "Queue", "metadata": {"name": name}, "spec": {}}


def _is_queue(one: Document, name: str) -> bool:
    return (one["kind"], one["metadata"]["name"]) == ("Queue", name)


def _named(documents: Sequence[Document], kind: str, name: str) -> Document:
    return next(one for one in documents if (one["kind"], one["metadata"]["name"]) == (kind, name))


def _node(model: Document, number: int) -> Document:
    new = deepcopy(model)
    new["metadata"]["name"] = new["metadata"]["labels"][HOSTNAME] = f"another-{number}"
    return new


def _pods(documents: Sequence[Document], group: str) -> list[Document]:
    return [one for one in documents if one["kind"] == "Pod" and group_of(one) == group]


def _is_group(document: Document, key: str) -> bool:
    return bool(document["kind"] == "PodGroup") and name_of(document) == key


def one_step_less(change: SingleChange) -> list[SingleChange | None]:
    """The changes that are smaller by one step; None: nothing is changed."""
    match change:
        case RaiseCapability(queues=queues, before=before):
            less = list[SingleChange | None]()
            for queue, amounts in queues.items():
                for name, amount in amounts.items():
                    smaller = amount - STEPS.get(name, 1)
                    left = {**amounts, name: smaller}
                    if smaller <= before[queue][name]:
                        del left[name]
                    others = {other: one for other, one in queues.items() if other != queue}
                    rest = {**others, **({queue: Resources(left)} if left else {})}
                    less.append(RaiseCapability(queues=rest, before=before) if rest else None)
            return less
        case SetWeight(queue=name, weight=weight, before=before):
            return [SetWeight(queue=name, weight=weight - 1, before=before) if weight - 1 > before else None]
        case AddTolerations(group=key, pods=pods, taints=taints):
            fewer = [tuple(other for other in taints if other != one) for one in taints]
            return [AddTolerations(key, pods, one) if one else None for one in fewer]
        case SetPriority(group=key, priority=priority, before=before):
            named = ((value, name) for name, value in CLASSES.items() if name)  # a change names a class
            lower = sorted((value, name) for value, name in named if before < value < priority)
            return [SetPriority(key, name, value, before) for value, name in lower[-1:]] or [None]
        case MoreNodes(like=like, count=count, allocatable=allocatable):
            return [MoreNodes(like=like, count=count - 1, allocatable=allocatable) if count > 1 else None]
        case _:
            return [None]
