"""The tree of queues as columns: root first, level by level, siblings together and the older first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from maar.core.fairshare.queue_demand import BadQueueDemandError, QueueDemand
from maar.core.fairshare.water_fill import Flags, Groups, Ints
from maar.core.model.queue import ROOT

_LONGEST_CIRCLE: Final = 5  # names in one message


@dataclass(frozen=True, eq=False)
class Level:
    """The queues of one depth: where they lie, and where every group of siblings begins."""

    queues: slice
    starts: Ints  # [G] the first child of every group, counted from the level's first queue
    parents: Ints  # [G] the parent of every group
    _groups: dict[int, Groups] = field(default_factory=dict)

    def groups(self, resources: int) -> Groups:
        """The groups of siblings once the rows of the resources lie one after the other."""
        if resources not in self._groups:
            width = self.queues.stop - self.queues.start
            starts: Ints = np.add.outer(np.arange(resources) * width, self.starts).ravel()
            self._groups[resources] = Groups.starting_at(starts, resources * width)
        return self._groups[resources]


@dataclass(frozen=True, eq=False)
class QueueTree:
    """The queues that take part, and those set aside with the sentence that says why."""

    claims: tuple[QueueDemand, ...]  # [Q]
    parent: Ints  # [Q] the root is its own
    levels: tuple[Level, ...]  # below the root
    set_aside: Mapping[str, str]

    @classmethod
    def of(cls, claims: Iterable[QueueDemand]) -> "QueueTree":
        """Build the tree; a queue that is not below the root is set aside and does not affect others."""
        by_name = _by_name(claims)
        root = by_name.pop(ROOT, None) or QueueDemand(name=ROOT)
        children: dict[str, list[QueueDemand]] = {}
        for claim in sorted(by_name.values(), key=lambda one: (one.created, one.name)):
            children.setdefault(claim.parent, []).append(claim)

        ordered, parents, levels, above = [root], [0], [], [0]
        while above:
            first = len(ordered)
            groups = [
                (parent, children[ordered[parent].name])
                for parent in above
                if ordered[parent].name in children
            ]
            starts = []
            for parent, siblings in groups:
                starts.append(len(ordered) - first)
                ordered += siblings
                parents += [parent] * len(siblings)
            if groups:
                levels.append(
                    Level(slice(first, len(ordered)), _row(starts), _row([parent for parent, _ in groups]))
                )
            above = list(range(first, len(ordered)))
        placed = {claim.name for claim in ordered}
        aside = _why_aside((name for name in by_name if name not in placed), by_name)
        return cls(tuple(ordered), _row(parents), tuple(levels), aside)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All queues that take part, in column order."""
        return tuple(claim.name for claim in self.claims)

    @cached_property
    def row(self) -> Mapping[str, int]:
        """The column of every queue by name."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def weight(self) -> Ints:
        """The weights. [Q]"""
        return _row([claim.weight for claim in self.claims])

    @cached_property
    def is_leaf(self) -> Flags:
        """Which queues hold work themselves; the root never does. [Q]"""
        leaf = np.ones(len(self.claims), dtype=np.bool_)
        leaf[self.parent] = False
        leaf[0] = False
        return leaf

    @property
    def leaves(self) -> tuple[str, ...]:
        """The queues that hold work."""
        return tuple(self.names[row] for row in np.flatnonzero(self.is_leaf))

    def children(self, name: str) -> tuple[str, ...]:
        """The queues right below, the older first."""
        return self._children.get(name, ())

    @cached_property
    def _children(self) -> Mapping[str, tuple[str, ...]]:
        return {
            self.names[parent]: self.names[level.queues][start:end]
            for level in self.levels
            for parent, start, end in zip(level.parents, level.starts, [*level.starts[1:], None], strict=True)
        }

    def path(self, name: str) -> tuple[str, ...]:
        """The queue and those above it, the root last."""
        row = self.row[name]
        path = [self.names[row]]
        while row:
            row = int(self.parent[row])
            path.append(self.names[row])
        return tuple(path)

    def weights(self) -> dict[str, dict[str, int]]:
        """The weights that compete with one another: for every inner queue, those of its children."""
        return {
            name: {child: self.claims[self.row[child]].weight for child in children}
            for name, children in self._children.items()
        }


def _by_name(claims: Iterable[QueueDemand]) -> dict[str, QueueDemand]:
    by_name: dict[str, QueueDemand] = {}
    for claim in claims:
        if claim.name in by_name:
            raise BadQueueDemandError(f"queue {claim.name} is there twice: every queue has a name of its own")
        by_name[claim.name] = claim
    return by_name


def _why_aside(names: Iterable[str], claims: Mapping[str, QueueDemand]) -> dict[str, str]:
    """Say of every queue what keeps it from the root; the root itself is not among the claims here."""
    reasons: dict[str, str] = {}
    for name in names:
        trail: dict[str, None] = {}
        here = name
        while here in claims and here not in trail and here not in reasons:
            trail[here] = None
            here = claims[here].parent
        reason = reasons.get(here) or _broken_link(list(trail), here)
        reasons.update(dict.fromkeys(trail, reason))
    return reasons


def _broken_link(trail: list[str], end: str) -> str:
    if end == trail[-1]:
        return f"queue {end} is its own parent: give it another one"
    if end not in trail:
        return (
            f"queue {trail[-1]} has a parent that does not exist: create queue {end}, or name another parent"
        )
    circle = trail[trail.index(end) :]
    shown = [*circle[:_LONGEST_CIRCLE], "..."] if len(circle) > _LONGEST_CIRCLE else circle
    return f"queues are their own ancestors ({' -> '.join([*shown, end])}): give one of them another parent"


def _row(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
