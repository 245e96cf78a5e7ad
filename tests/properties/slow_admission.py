"""Admission's sums, the slow way: a tree of queues as plain numbers, judged as the definition reads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from maar.core.model.queue import ROOT

Numbers = Mapping[str, int]


@dataclass(frozen=True)
class PlainQueue:
    """A queue as far as sums go."""

    parent: str = ROOT
    guarantee: Numbers = field(default_factory=dict)
    capability: Numbers = field(default_factory=dict)


Tree = dict[str, PlainQueue]


def children(tree: Tree, name: str) -> list[str]:
    return [one for one, queue in tree.items() if queue.parent == name and one != ROOT]


def path(tree: Tree, name: str) -> Iterator[str]:
    """A queue and those above it."""
    while True:
        yield name
        if name == ROOT:
            return
        name = tree[name].parent


def guaranteed(tree: Tree, name: str, resource: str) -> int:
    """An inner queue guarantees the larger of its own and its children's together."""
    return max(tree[name].guarantee.get(resource, 0), guaranteed_below(tree, name, resource))


def guaranteed_below(tree: Tree, name: str, resource: str) -> int:
    return sum(guaranteed(tree, child, resource) for child in children(tree, name))


def breaks_guarantees(before: Tree, after: Tree, word: str, resource: str) -> bool:
    """Whether the children of some queue come to guarantee more than it sets, or exceed it by more."""
    for name, queue in after.items():
        limit = getattr(queue, word).get(resource)
        together = guaranteed_below(after, name, resource)
        if limit is None or together <= limit:
            continue
        old = getattr(before[name], word).get(resource) if name in before else None
        was = guaranteed_below(before, name, resource) if name in before else 0
        if old is None or limit < old or together > was:
            return True
    return False


def breaks_capabilities(before: Tree, after: Tree, mode: str, resource: str) -> bool:
    """Whether capabilities come to exceed the nearest one above them, or exceed it by more."""
    for name in after:
        limit, old = (
            nearest(after, name, resource),
            nearest(before, name, resource) if name in before else None,
        )
        groups = capped(after, name, mode, resource)
        were = capped(before, name, mode, resource) if name in before else {}
        for key, units in groups.items():
            is_worse = old is None or (limit or 0) < old or units > were.get(key, 0)
            if limit is not None and units > limit and is_worse:
                return True
    return False


def capped(tree: Tree, name: str, mode: str, resource: str) -> dict[str, int]:
    """What is compared below a queue: all children together, or each."""
    each = {child: tree[child].capability.get(resource, 0) for child in children(tree, name)}
    return each if mode == "max" else {"together": sum(each.values())}


def nearest(tree: Tree, name: str, resource: str) -> int | None:
    """The capability that holds for a queue's children: its own, or the nearest above."""
    found = (tree[one].capability.get(resource) for one in path(tree, name))
    return next((units for units in found if units is not None), None)
