"""The quota manager: namespaces of a queue with a declared request share what the queue is allocated.

Each such namespace has one ResourceQuota that is ours; the largest whole parts by weight, never
more together than the queue has.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from maar.core.controllers.changes import (
    AnyChange,
    NamespaceChanged,
    QueueChanged,
    QuotaChanged,
    label_of_namespace,
    label_of_quota,
)
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Wanted
from maar.core.model.namespace import QUOTA_LABEL, ResourceQuota, quota_label
from maar.core.model.pod import QUEUE_ANNOTATION
from maar.core.model.queue import Queue
from maar.core.model.resources import BadAmountError, Resources, amount
from maar.core.model.writes import ControllerWrite, Create, Delete, Patch

QUOTA_NAME: Final = "maar-queue"

_AS_THEY_ARE: Final = ("pods",)
_PREFIX: Final = "requests."


class NamespaceQuotas(ClusterController):
    """Keys are the labels of quotas, which have the names of their queues, cut to the length of a label."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The queues whose quotas a change concerns."""
        match change:
            case QueueChanged() if _divided_amounts(change.before) != _divided_amounts(change.after):
                label = quota_label(change.key)
                labels = [label, *(_stored(cluster, one) for one in cluster.namespaces_by_label.keys(label))]
            case NamespaceChanged():
                labels = [label_of_namespace(change.before), label_of_namespace(change.after)]
                labels.append(_stored(cluster, change.key))
            case QuotaChanged():
                namespace = cluster.namespaces.get(change.key.partition("/")[0])
                labels = [label_of_quota(change.before), label_of_quota(change.after)]
                labels.append(label_of_namespace(namespace))
            case _:
                labels = []
        yield from filter(None, labels)

    def wanted(self, cluster: ClusterView, key: str, now: datetime) -> Wanted:
        """What has to be written; a queue's limits grow in a later round than others of it shrink."""
        yield from _writes(cluster, key)


def _stored(cluster: ClusterView, namespace: str) -> str:
    """The label that the quota of a namespace has now; another client may have changed it."""
    return label_of_quota(cluster.quotas.get(f"{namespace}/{QUOTA_NAME}"))


def _divided_amounts(queue: Queue | None) -> dict[str, int] | None:
    """What the namespaces of a queue share; None where they have no quotas."""
    if queue is None or queue.spec.request is None:
        return None
    return {name: queue.status.allocated.get(name, 0) for name in queue.spec.request}


def _writes(cluster: ClusterView, label: str) -> list[ControllerWrite]:
    wanted = _wanted(cluster, label)
    shrinking: list[ControllerWrite] = []
    growing: list[ControllerWrite] = []
    for key, (queue, hard) in wanted.items():
        there = cluster.quotas.get(key)
        if there is None:
            growing.append(Create(kind="ResourceQuota", key=key, document=_document(key, queue, hard)))
            continue
        before = {name: str(limit) for name, limit in there.spec.hard.items()}
        lowered = _lowered(before, hard)
        if lowered != before or label_of_quota(there) != label:
            shrinking.append(_change(key, queue, before, lowered))
        elif before != hard:
            growing.append(_change(key, queue, before, hard))
    for key in cluster.quotas_by_label.keys(label):
        quota, (namespace, _, name) = cluster.quotas[key], key.partition("/")
        is_wanted = name == QUOTA_NAME and _queue_of(cluster, namespace) is not None
        if not is_wanted and not quota.is_terminating:
            shrinking.append(Delete(kind="ResourceQuota", key=key, uid=quota.metadata.uid))
    return shrinking or growing


def _wanted(cluster: ClusterView, label: str) -> dict[str, tuple[str, dict[str, str]]]:
    """By quota, the queue it belongs to and its limits."""
    members: dict[str, list[str]] = {}
    for namespace in sorted(cluster.namespaces_by_label.keys(label)):
        if (queue := _queue_of(cluster, namespace)) is not None:
            members.setdefault(queue.key, []).append(namespace)
    wanted = {}
    for name, namespaces in members.items():
        amounts = _divided_amounts(cluster.queues[name]) or {}
        parts = _divided(amounts, {namespace: _weight(cluster, namespace) for namespace in namespaces})
        for namespace, part in parts.items():
            quantities = Resources(part).quantities()
            hard = {_limit(resource): quantity for resource, quantity in quantities.items()}
            wanted[f"{namespace}/{QUOTA_NAME}"] = (name, hard)
    return wanted


def _queue_of(cluster: ClusterView, name: str) -> Queue | None:
    """The queue that a namespace shares with others by quotas; None where it has none."""
    namespace = cluster.namespaces.get(name)
    if namespace is None or namespace.is_terminating:
        return None
    queue = cluster.queues.get(namespace.metadata.annotations.get(QUEUE_ANNOTATION, ""))
    return queue if queue is not None and queue.spec.request is not None else None


def _weight(cluster: ClusterView, namespace: str) -> int:
    return max([cluster.quotas[key].weight for key in cluster.quotas_of_namespace.keys(namespace)], default=1)


def _divided(amounts: Mapping[str, int], weights: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Whole units by weight, those left over to the largest remainders, then by name."""
    total = sum(weights.values())
    parts: dict[str, dict[str, int]] = {name: {} for name in weights}
    for resource, units in amounts.items():
        whole = {name: divmod(units * weight, total) for name, weight in weights.items()}
        left = units - sum(part for part, _ in whole.values())
        rounded_up = sorted(weights, key=lambda name: (-whole[name][1], name))[:left]
        for name, (part, _) in whole.items():
            parts[name][resource] = part + (name in rounded_up)
    return parts


def _limit(resource: str) -> str:
    """The name that a quota limits a resource by."""
    return resource if resource in _AS_THEY_ARE else _PREFIX + resource


def _lowered(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """The smaller of each limit; what is not limited, or cannot be read, is as good as endless."""
    lowered = dict(after)
    for name in before.keys() & after.keys():
        try:
            resource = name.removeprefix(_PREFIX)
            if amount(resource, before[name]) <= amount(resource, after[name]):
                lowered[name] = before[name]
        except BadAmountError:
            pass  # another client wrote what cannot be read; it will be overwritten
    return lowered


def _change(key: str, queue: str, before: Mapping[str, str], after: Mapping[str, str]) -> Patch:
    gone = dict.fromkeys(before.keys() - after.keys())
    patch: dict[str, object] = {
        "metadata": {"labels": {QUOTA_LABEL: quota_label(queue)}},
        "spec": {"hard": {**gone, **after}},
    }
    return Patch(kind="ResourceQuota", key=key, patch=patch)


def _document(key: str, queue: str, hard: dict[str, str]) -> dict[str, object]:
    namespace, _, name = key.partition("/")
    return {
        "apiVersion": ResourceQuota.api_version,
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUOTA_LABEL: quota_label(queue)}},
        "spec": {"hard": hard},
    }
