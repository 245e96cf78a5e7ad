"""The quota manager: namespaces of a queue with a declared request share what the queue is allocated.

Each such namespace has one ResourceQuota that is ours; the largest whole parts by weight, never more together
than the queue has.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.namespace import QUOTA_LABEL, Namespace, ResourceQuota
from maar.core.model.pod import QUEUE_ANNOTATION
from maar.core.model.queue import Queue
from maar.core.model.resources import BadAmountError, Resources, amount
from maar.core.model.writes import ControllerWrite, Create, Delete, Patch

QUOTA_NAME: Final = "maar-queue"

_AS_THEY_ARE: Final = ("pods",)
_PREFIX: Final = "requests."
_LONGEST_LABEL: Final = 63


@dataclass(eq=False)
class NamespaceQuotas:
    """Queues, namespaces and quotas, kept event by event."""

    queues: dict[str, Queue] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    quotas: dict[str, ResourceQuota] = field(default_factory=dict)

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        for event in events:
            match event:
                case Upserted(object=Queue() as queue):
                    self.queues[queue.key] = queue
                case Upserted(object=Namespace() as namespace):
                    self.namespaces[namespace.key] = namespace
                case Upserted(object=ResourceQuota() as quota):
                    self.quotas[quota.key] = quota
                case Deleted(kind="Queue", key=key):
                    self.queues.pop(key, None)
                case Deleted(kind="Namespace", key=key):
                    self.namespaces.pop(key, None)
                case Deleted(kind="ResourceQuota", key=key):
                    self.quotas.pop(key, None)
                case _:
                    pass

    def reconcile(self) -> list[ControllerWrite]:
        """What has to be written; a queue's limits grow in a later round than others of it shrink."""
        wanted = self._wanted()
        shrinking: list[tuple[str, ControllerWrite]] = []
        growing: list[tuple[str, ControllerWrite]] = []
        for key, (queue, hard) in wanted.items():
            there, label = self.quotas.get(key), _label(queue)
            if there is None:
                create = Create(kind="ResourceQuota", key=key, document=_document(key, queue, hard))
                growing.append((label, create))
                continue
            before = {name: str(limit) for name, limit in there.spec.hard.items()}
            lowered = _lowered(before, hard)
            if lowered != before or there.metadata.labels.get(QUOTA_LABEL) != label:
                shrinking.append((label, _change(key, queue, before, lowered)))
            elif before != hard:
                growing.append((label, _change(key, queue, before, hard)))
        for key, quota in self.quotas.items():
            label = quota.metadata.labels.get(QUOTA_LABEL, "")
            if label and key not in wanted and not quota.is_terminating:
                shrinking.append((label, Delete(kind="ResourceQuota", key=key, uid=quota.metadata.uid)))
        shrinks = {label for label, _ in shrinking}
        return [*(one for _, one in shrinking), *(one for label, one in growing if label not in shrinks)]

    def _wanted(self) -> dict[str, tuple[str, dict[str, str]]]:
        """By quota, the queue it belongs to and its limits."""
        wanted = {}
        weights = self._weights()
        for queue, members in self._members().items():
            spec, allocated = self.queues[queue].spec, self.queues[queue].status.allocated
            mine = {name: allocated.get(name, 0) for name in spec.request or {}}
            parts = _divided(mine, {namespace: weights.get(namespace, 1) for namespace in members})
            for namespace, amounts in parts.items():
                quantities = Resources(amounts).quantities()
                hard = {_limit(name): quantity for name, quantity in quantities.items()}
                wanted[f"{namespace}/{QUOTA_NAME}"] = (queue, hard)
        return wanted

    def _members(self) -> dict[str, list[str]]:
        """The namespaces of each queue that declares its request."""
        members: dict[str, list[str]] = {}
        for name, namespace in sorted(self.namespaces.items()):
            queue = self.queues.get(namespace.metadata.annotations.get(QUEUE_ANNOTATION, ""))
            if queue is not None and queue.spec.request is not None and not namespace.is_terminating:
                members.setdefault(queue.key, []).append(name)
        return members

    def _weights(self) -> dict[str, int]:
        weights: dict[str, int] = {}
        for quota in self.quotas.values():
            namespace = quota.metadata.namespace or "default"
            weights[namespace] = max(weights.get(namespace, 1), quota.weight)
        return weights


def _divided(amounts: Mapping[str, int], weights: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Whole units by weight, those left over to the largest remainders, then by name."""
    total = sum(weights.values())
    parts: dict[str, dict[str, int]] = {name: {} for name in weights}
    for resource, units in amounts.items():
        whole = {name: divmod(units * weight, total) for name, weight in weights.items()}
        left = units - sum(part for part, _ in whole.values())
        luckiest = sorted(weights, key=lambda name: (-whole[name][1], name))[:left]
        for name, (part, _) in whole.items():
            parts[name][resource] = part + (name in luckiest)
    return parts


def _label(queue: str) -> str:
    """A queue's name as the value of a label, which is shorter than a name can be."""
    return queue[:_LONGEST_LABEL].rstrip("-.")


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
            pass  # somebody has written what cannot be read; it will be overwritten
    return lowered


def _change(key: str, queue: str, before: Mapping[str, str], after: Mapping[str, str]) -> Patch:
    gone = dict.fromkeys(before.keys() - after.keys())
    patch: dict[str, object] = {
        "metadata": {"labels": {QUOTA_LABEL: _label(queue)}},
        "spec": {"hard": {**gone, **after}},
    }
    return Patch(kind="ResourceQuota", key=key, patch=patch)


def _document(key: str, queue: str, hard: dict[str, str]) -> dict[str, object]:
    namespace, _, name = key.partition("/")
    return {
        "apiVersion": ResourceQuota.api_version,
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUOTA_LABEL: _label(queue)}},
        "spec": {"hard": hard},
    }
