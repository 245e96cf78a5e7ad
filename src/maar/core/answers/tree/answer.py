"""The queue tree as people look at it: for every queue what it claims, deserves and uses, and its work."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from maar.core.answers.tree.most_wanted import most_wanted
from maar.core.answers.tree.past_use import past_use_data, past_use_of
from maar.core.fairshare import QueueDemand, QueueTree
from maar.core.fairshare.queue_demand import HUNDRED_PERCENT
from maar.core.model.metadata import Record
from maar.core.model.plan import NamespaceStanding, PastUseStanding
from maar.core.model.queue import ROOT, Queue, QueueMetadata
from maar.core.model.queue_state import queue_state
from maar.core.model.resources import CPU, MEMORY, PODS, Resources, quantity_text

Json = dict[str, object]
Namespaces = Mapping[str, Mapping[str, NamespaceStanding]]  # of each leaf queue

_NO_NAMESPACES: Final[Namespaces] = MappingProxyType({})


class Measure(Record, frozen=True):
    """How much of one resource a queue claims, deserves and uses; None where it claims nothing."""

    guarantee: int | None
    soft_guarantee: int | None
    capability: int | None
    deserved: int
    used: int


class TreeQueue(Record, frozen=True):
    """One queue of the tree; the counts are of pod groups in it and below it."""

    name: str
    parent: str
    weight: int
    state: str
    share: str
    running: int
    inqueue: int
    pending: int
    resources: dict[str, Measure]
    remarks: tuple[str, ...]
    namespaces: dict[str, NamespaceStanding]
    children: tuple[str, ...]
    has_shares: bool  # whether its status says what it deserves
    past_use: PastUseStanding | None = None


class TreeView(Record, frozen=True):
    """The tree below a queue, parents before children, and the queues that take no part, with reasons."""

    top: str
    queues: dict[str, TreeQueue]
    set_aside: dict[str, str]
    resources: tuple[str, ...]
    resource: str  # the one that is wanted most


def queue_tree(
    queues: Iterable[Queue], top: str = ROOT, namespaces: Namespaces = _NO_NAMESPACES
) -> TreeView | None:
    """Arrange queues as a tree by what their specs and statuses say; None where there is no such queue."""
    by_name = {queue.key: queue for queue in queues}
    by_name.setdefault(ROOT, Queue(metadata=QueueMetadata(name=ROOT)))
    if top not in by_name:
        return None
    tree = QueueTree.of(
        QueueDemand(name=name, parent=ROOT if name == ROOT else queue.parent)
        for name, queue in by_name.items()
    )
    children: dict[str, list[str]] = {}
    for name in sorted(by_name.keys() - {ROOT}):
        children.setdefault(by_name[name].parent, []).append(name)
    total, resources = by_name[ROOT].status.deserved, _worth_a_line(by_name.values())
    wanted = _together([by_name[name].status.deserved for name in children.get(ROOT, ())])
    past_use = past_use_of(by_name.values())
    return TreeView(
        top=top,
        queues={
            name: _tree_queue(
                by_name[name],
                {resource: _measure(by_name[name], resource, total) for resource in resources},
                dict(namespaces.get(name, {})),
                tuple(children.get(name, ())),
                past_use.get(name),
            )
            for name in _below(top, children)
        },
        set_aside=dict(tree.set_aside) if top == ROOT else {},
        resources=tuple(resources),
        resource=most_wanted(resources, total, wanted.larger(by_name[ROOT].status.used)),
    )


def is_settled(queues: Iterable[Queue], top: str = ROOT) -> bool:
    """Whether statuses are of one moment: then children together deserve no more than their parent.

    Only what is below the top queue is looked at.
    """
    by_name, children = {queue.key: queue for queue in queues}, dict[str, list[Queue]]()
    for name, queue in by_name.items():
        if name != ROOT and queue.parent in by_name:
            children.setdefault(queue.parent, []).append(queue)
    parents = [top]
    for parent in parents:  # it grows on the way down; parents in a circle are not below the top
        inside = children.pop(parent, [])
        parents += [queue.key for queue in inside]
        for resource, units in _together(queue.status.deserved for queue in inside).items():
            if units > by_name[parent].status.deserved.get(resource, 0):
                return False
    return True


def _together(amounts: Iterable[Resources]) -> Resources:
    total = Resources()
    for one in amounts:
        total = total.plus(one)
    return total


def _worth_a_line(queues: Iterable[Queue]) -> list[str]:
    """The resources that a queue deserves, uses or claims, all but pods; or else the usual ones."""
    found = set[str]()
    for queue in queues:
        spec, status = queue.spec, queue.status
        claimed = (spec.capability, spec.guarantee.resource, spec.guarantee.percentage, spec.deserved)
        found.update(*claimed)
        if queue.key != ROOT:  # the root deserves all that there is, wanted or not
            found.update(name for name, amount in status.deserved.items() if amount)
            found.update(name for name, amount in status.used.items() if amount)
    return sorted(found - {PODS}) or [CPU, MEMORY]


def _below(top: str, children: Mapping[str, list[str]]) -> Iterator[str]:
    """A queue and all below it, each right after its parent or a sibling's offspring."""
    waiting, seen = [top], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:  # queues that are their own ancestors
            seen.add(name)
            yield name
            waiting += reversed(children.get(name, []))


def _tree_queue(
    queue: Queue,
    resources: dict[str, Measure],
    namespaces: dict[str, NamespaceStanding],
    children: tuple[str, ...],
    past_use: PastUseStanding | None,
) -> TreeQueue:
    status = queue.status
    return TreeQueue(
        name=queue.key,
        parent="" if queue.key == ROOT else queue.parent,
        weight=queue.spec.weight,
        state=status.state or queue_state(is_asked_to_close=queue.is_asked_to_close, has_work=False),
        share=status.share or "0.00",
        running=status.running,
        inqueue=status.inqueue,
        pending=status.pending,
        resources=resources,
        remarks=tuple(f"{one.type}: {one.message}" for one in status.conditions if one.status == "True"),
        namespaces=namespaces,
        children=children,
        has_shares=bool(status.deserved),
        past_use=past_use,
    )


def _measure(queue: Queue, resource: str, total: Resources) -> Measure:
    guarantee, part = queue.spec.guarantee.resource.get(resource), None
    if resource in queue.spec.guarantee.percentage:
        part = queue.spec.guarantee.percentage[resource] * total.get(resource, 0) // HUNDRED_PERCENT
    claimed = [amount for amount in (guarantee, part) if amount is not None]
    return Measure(
        guarantee=max(claimed, default=None),
        soft_guarantee=queue.spec.deserved.get(resource),
        capability=queue.spec.capability.get(resource),
        deserved=queue.status.deserved.get(resource, 0),
        used=queue.status.used.get(resource, 0),
    )


def tree_data(view: TreeView) -> Json:
    """The tree as plain data."""
    return {
        "queues": {name: _queue_data(one) for name, one in view.queues.items()},
        "setAside": view.set_aside,
    }


def _queue_data(one: TreeQueue) -> Json:
    return {
        "parent": one.parent,
        "weight": one.weight,
        "state": one.state,
        "share": one.share,
        "running": one.running,
        "inqueue": one.inqueue,
        "pending": one.pending,
        "resources": {
            resource: {
                "guarantee": _quantity(resource, each.guarantee),
                "softGuarantee": _quantity(resource, each.soft_guarantee),
                "capability": _quantity(resource, each.capability),
                "deserved": quantity_text(resource, each.deserved),
                "used": quantity_text(resource, each.used),
            }
            for resource, each in one.resources.items()
        },
        "namespaces": {
            name: {
                "weight": each.weight,
                "used": each.used.quantities(),
                "share": each.share,
                **past_use_data(each.past_use),
            }
            for name, each in one.namespaces.items()
        },
        "remarks": list(one.remarks),
        **past_use_data(one.past_use),
    }


def _quantity(resource: str, units: int | None) -> str | None:
    return None if units is None else quantity_text(resource, units)
