"""Changes made on manifests by hand, and whether a group starts with them: what answers are held to.

Nothing of `maar.core.answers` is used here but the fields of a change; what happens is asked of `maar.plan`.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Final

import maar
from maar.core.answers.single_changes import (
    CreateQueue,
    DeleteGroup,
    MoreNodes,
    RaiseCapability,
    RemoveGates,
    SetWeight,
    SingleChange,
)
from maar.core.model.resources import Resources
from maar.core.policy.configuration import DEFAULT, Configuration, parse
from properties.cluster_manifests import GROUP, HOSTNAME, NOW, Document
from properties.clusters import Cluster

CYCLES: Final = 10
STEPS: Final = {"cpu": 1000, "memory": 2**30}


def configuration_of(cluster: Cluster) -> Configuration:
    """What a cluster is decided by."""
    document = cluster.configuration
    return parse(document) if isinstance(document, Mapping) else DEFAULT


def starts(documents: Sequence[Document], configuration: object, key: str) -> bool:
    """Whether a pod of a group is bound within a few cycles, or another evicted for it."""
    planned = maar.plan(list(documents), configuration, NOW, CYCLES, resubmit_victims=True)
    pods = {name_of(one) for one in documents if one["kind"] == "Pod" and group_of(one) == key}
    return not pods.isdisjoint(planned.binds) or any(one.beneficiary == key for one in planned.evictions)


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
            for one in documents:
                if one["kind"] == "Queue" and one["metadata"]["name"] in queues:
                    one["spec"].setdefault("capability", {}).update(
                        queues[one["metadata"]["name"]].quantities()
                    )
        case SetWeight(queue=name, weight=weight):
            for one in documents:
                if one["kind"] == "Queue" and one["metadata"]["name"] == name:
                    one["spec"]["weight"] = weight
        case MoreNodes(like=like, count=count):
            model = next(
                one for one in documents if one["kind"] == "Node" and one["metadata"]["name"] == like
            )
            for number in range(count):
                new = deepcopy(model)
                new["metadata"]["name"] = new["metadata"]["labels"][HOSTNAME] = f"another-{number}"
                documents.append(new)
        case DeleteGroup(group=key):
            documents = [
                one
                for one in documents
                if not (one["kind"] == "PodGroup" and name_of(one) == key)
                and not (one["kind"] == "Pod" and group_of(one) == key)
            ]
        case RemoveGates(group=key):
            for one in documents:
                if one["kind"] == "Pod" and group_of(one) == key:
                    one["spec"].pop("schedulingGates", None)
        case CreateQueue(queue=name):
            documents.append(
                {
                    "apiVersion": "scheduling.volcano.sh/v1beta1",
                    "kind": "Queue",
                    "metadata": {"name": name},
                    "spec": {},
                }
            )
    return documents


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
        case MoreNodes(like=like, count=count, allocatable=allocatable):
            return [MoreNodes(like=like, count=count - 1, allocatable=allocatable) if count > 1 else None]
        case _:
            return [None]
