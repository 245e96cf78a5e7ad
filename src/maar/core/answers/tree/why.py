"""Why a queue deserves what it does: the budgets above it, its siblings, the water level and what binds."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from maar.core.fairshare import FairShares, Share
from maar.core.fairshare.share_out import UNLIMITED
from maar.core.model.metadata import Record
from maar.core.model.plan import Constraint, PastUseStanding
from maar.core.model.queue import ROOT
from maar.core.model.resources import CPU, MEMORY, PODS, Resources
from maar.core.tables.rows import MinRuntime


class Sibling(Record, frozen=True):
    """What one of the children of a queue brings to the sharing of one resource, and what it gets."""

    name: str
    weight: int
    guarantee: int  # in force
    floor: int  # the guarantee, or as much of the soft one as holds together with the siblings'
    request: int
    capability: int | None
    ceiling: int
    deserved: int
    binding: Constraint
    factor: Fraction = Fraction(1)  # what past use makes of its weight
    soft_guarantee: int = 0  # its own, or what the queues below it are entitled to; 0 without effect
    sets_soft: bool = False  # whether it is its own

    @property
    def is_short(self) -> bool:
        """Whether not all of its soft guarantee holds."""
        return self.floor < min(self.soft_guarantee, self.ceiling)

    @property
    def weighs(self) -> Fraction:
        """The weight that was shared out by."""
        return self.weight * self.factor


class Step(Record, frozen=True):
    """How one budget was shared out among siblings, one of which leads to the queue in question."""

    resource: str
    parent: str
    budget: int
    siblings: tuple[Sibling, ...]
    chosen: Sibling
    is_leaf: bool
    level: Fraction | None  # whole units for each of weight; None where every sibling is at its ceiling

    @property
    def is_short(self) -> bool:
        """Whether the soft guarantees of the siblings do not all hold together."""
        return any(one.is_short for one in self.siblings)

    @property
    def others(self) -> tuple[Sibling, ...]:
        """All siblings but the chosen one."""
        return tuple(one for one in self.siblings if one.name != self.chosen.name)


class Explanation(Record, frozen=True):
    """Why a queue deserves what it does: for each resource the steps from below the root down to it."""

    queue: str
    path: tuple[str, ...]  # from below the root down
    deserved: Resources
    used: Resources
    share: float
    is_reduced: bool
    total: Resources
    steps: dict[str, tuple[Step, ...]]
    min_runtimes: dict[str, MinRuntime] = {}  # by action, its own or of the queue above that sets it
    past_use: dict[str, PastUseStanding] = {}  # of the queues of the path


def explain_queue(
    shares: FairShares,
    name: str,
    min_runtimes: Mapping[str, MinRuntime] = MappingProxyType({}),
    past_use: Mapping[str, PastUseStanding] = MappingProxyType({}),
) -> Explanation:
    """Explain the kernel's answer for a queue that takes part."""
    queue, path = shares[name], tuple(reversed(shares.tree.path(name)[:-1]))
    resources = _worth_explaining(shares, path)
    levels = [[shares[child] for child in shares.tree.children(shares[each].parent)] for each in path]
    return Explanation(
        queue=name,
        path=path,
        deserved=_only(queue.deserved, resources),
        used=_only(queue.used, resources),
        share=queue.share,
        is_reduced=queue.reduced,
        total=_only(shares[ROOT].deserved, resources),
        steps={
            resource: tuple(
                _step(shares, each, siblings, resource) for each, siblings in zip(path, levels, strict=True)
            )
            for resource in resources
        },
        min_runtimes={action: one for action, one in sorted(min_runtimes.items()) if one.seconds},
        past_use={each: past_use[each] for each in path if each in past_use},
    )


def _worth_explaining(shares: FairShares, path: tuple[str, ...]) -> tuple[str, ...]:
    """The resources that a queue wants or uses, pods only where they run short; or else the usual ones."""
    root, queues = shares[ROOT], [shares[name] for name in path]
    wanted = [name for name in shares.resources if root.request[name] or root.used[name]]
    is_short = any(one.binding[PODS] != "request" for one in queues if PODS in one.binding)
    found = tuple(name for name in wanted if name != PODS or is_short)
    return found or tuple(name for name in shares.resources if name in (CPU, MEMORY)) or shares.resources


def _only(amounts: Resources, resources: tuple[str, ...]) -> Resources:
    return Resources({resource: amounts.get(resource, 0) for resource in resources})


def _step(shares: FairShares, name: str, level: list[Share], resource: str) -> Step:
    parent, budget = shares[name].parent, shares[shares[name].parent].deserved[resource]
    siblings = tuple(_sibling(shares, one, resource) for one in level)
    return Step(
        resource=resource,
        parent=parent,
        budget=budget,
        siblings=siblings,
        chosen=next(one for one in siblings if one.name == name),
        is_leaf=not shares.tree.children(name),
        level=water_level(budget, siblings),
    )


def _sibling(shares: FairShares, one: Share, resource: str) -> Sibling:
    row, column = shares.resources.index(resource), shares.tree.row[one.name]
    capability = int(shares.claims.capability[row, column])
    soft = 0 if shares.columns.soft_guarantee is None else int(shares.columns.soft_guarantee[row, column])
    return Sibling(
        name=one.name,
        weight=one.weight,
        guarantee=one.guarantee[resource],
        floor=one.floor[resource],
        request=one.request[resource],
        capability=None if capability >= UNLIMITED else capability,
        ceiling=one.ceiling[resource],
        deserved=one.deserved[resource],
        binding=one.binding[resource],
        factor=one.factor,
        soft_guarantee=soft if soft > one.guarantee[resource] else 0,
        sets_soft=resource in one.soft_guarantee,
    )


def water_level(budget: int, siblings: Sequence[Sibling]) -> Fraction | None:
    """Find the level at which siblings together take just the budget; None where they do not want all of it.

    The kernel keeps its level to itself. At this one every sibling gets what the kernel gives it to the unit,
    which is level x weight, at least its floor and at most its ceiling.
    """
    if sum(one.ceiling for one in siblings) <= budget:
        return None

    def taken(level: Fraction) -> Fraction:
        return sum((_clamped(level * one.weighs, one.floor, one.ceiling) for one in siblings), Fraction())

    bends = sorted({end / one.weighs for one in siblings for end in (one.floor, one.ceiling)})
    last = bends[bisect_right(bends, Fraction(budget), key=taken) - 1]  # floors are within the budget
    rising = sum(one.weighs for one in siblings if one.floor <= last * one.weighs < one.ceiling)
    return last + (budget - taken(last)) / rising if rising else last


def _clamped(amount: Fraction, least: int, most: int) -> Fraction:
    return min(max(amount, Fraction(least)), Fraction(most))
