"""Fair share from its definition, in exact fractions: docs/specification/fair-share.md.

Weighted max-min over a tree of queues, per resource. Nothing is rounded: an answer in whole units
is another one, at most a unit away for every level.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from reference.amounts import Amounts

ROOT: Final = "root"


@dataclass(frozen=True)
class Claim:
    """What a queue brings to the water-filling; `request` counts for a leaf only."""

    parent: str
    weight: int
    guarantee: Amounts
    percentage: Amounts
    capability: Amounts
    request: Amounts
    soft: Amounts = field(default_factory=Amounts)  # `spec.deserved`


@dataclass
class Shares:
    """The answer, per queue; the guarantees are the scaled ones, which are used everywhere below."""

    deserved: dict[str, Amounts] = field(default_factory=dict)
    real_capability: dict[str, Amounts] = field(default_factory=dict)
    guarantee: dict[str, Amounts] = field(default_factory=dict)
    reduced: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Child:
    """A child of one level, for one resource."""

    weight: int
    guarantee: Fraction
    soft: Fraction
    ceiling: Fraction
    part: Fraction = Fraction(1)  # of the soft guarantees that can hold together

    @property
    def floor(self) -> Fraction:
        """Floor = max(g, min(s·d, q, c))."""
        return max(self.guarantee, min(self.part * self.soft, self.ceiling))

    def at(self, level: Fraction) -> Fraction:
        """Deserved = clamp(λ·w, floor, ceiling)."""
        return min(max(level * self.weight, self.floor), self.ceiling)


def scaled(budget: Fraction, children: list[Child]) -> list[Child]:
    """Scale guarantees that cannot all hold down in proportion, and then soft ones in the same way.

    Floors grow with the part of the soft guarantees; the largest part lies between two breakpoints.
    """
    reserved = sum(child.guarantee for child in children)
    factor = budget / reserved if reserved > budget else Fraction(1)
    children = [replace(child, guarantee=child.guarantee * factor) for child in children]

    def floors(part: Fraction) -> Fraction:
        return sum((replace(child, part=part).floor for child in children), Fraction(0))

    breakpoints = {Fraction(0), Fraction(1)}
    for child in children:
        if child.soft > 0:
            breakpoints |= {
                point for point in (child.guarantee / child.soft, child.ceiling / child.soft) if point < 1
            }
    part = Fraction(0)
    for above in sorted(breakpoints):
        if floors(above) > budget:
            low, high = floors(part), floors(above)
            part += (budget - low) * (above - part) / (high - low)
            break
        part = above
    return [replace(child, part=part) for child in children]


def level_of(target: Fraction, children: list[Child]) -> Fraction:
    """The one level λ for which Σ deserved = min(B, Σ ceiling), found between two breakpoints."""
    breakpoints = {Fraction(0)}
    for child in children:
        breakpoints |= {child.floor / child.weight, child.ceiling / child.weight}
    below, filled_below = Fraction(0), sum(child.at(Fraction(0)) for child in children)
    for above in sorted(breakpoints):
        filled_above = sum(child.at(above) for child in children)
        if filled_above > target:
            return below + (target - filled_below) * (above - below) / (filled_above - filled_below)
        below, filled_below = above, filled_above
    return below


def one_level(budget: Fraction, children: list[Child]) -> list[tuple[Fraction, Fraction]]:
    """Deserved and the guarantee in force of every child, for one resource."""
    children = scaled(budget, children)
    target = min(budget, sum((child.ceiling for child in children), Fraction(0)))
    level = level_of(target, children)
    return [(child.at(level), child.guarantee) for child in children]


def own_guarantee(claim: Claim, resource: str, total: Amounts) -> Fraction:
    """Percentages are of the root's budget; beside an amount of the same resource the larger holds."""
    return max(claim.guarantee[resource], claim.percentage[resource] * total[resource] / 100)


def children_of(claims: Mapping[str, Any]) -> dict[str, list[str]]:
    """The tree, from the parents."""
    children: dict[str, list[str]] = {name: [] for name in claims}
    for name, claim in claims.items():
        if name != ROOT:
            children[claim.parent].append(name)
    return children


def roll_up(
    name: str,
    resource: str,
    claims: Mapping[str, Claim],
    children: Mapping[str, list[str]],
    total: Amounts,
    rolled: dict[str, Child],
) -> None:
    """Roll up requests and guarantees: guarantee, floor and ceiling of a queue and of all below it."""
    claim = claims[name]
    guarantee, request, soft = (
        own_guarantee(claim, resource, total),
        claim.request[resource],
        claim.soft[resource],
    )
    capability = claim.capability.get(resource)
    if children[name] or name == ROOT:
        for child in children[name]:
            roll_up(child, resource, claims, children, total, rolled)
        guarantee = max(guarantee, sum((rolled[child].guarantee for child in children[name]), Fraction(0)))
        if resource not in claim.soft:
            soft = sum((rolled[child].floor for child in children[name]), Fraction(0))
        request = sum((rolled[child].ceiling for child in children[name]), Fraction(0))
        if capability is not None:
            guarantee = min(guarantee, capability)
    if capability is not None:
        request = min(request, capability)
    rolled[name] = Child(claim.weight, guarantee, soft, max(guarantee, request))


def flow_down(
    name: str,
    resource: str,
    claims: Mapping[str, Claim],
    children: Mapping[str, list[str]],
    rolled: Mapping[str, Child],
    shares: Shares,
) -> None:
    """Let budgets flow down: what a queue deserves is the budget of its children."""
    names = children[name]
    answer = one_level(shares.deserved[name][resource], [rolled[child] for child in names])
    for child, (deserved, guarantee) in zip(names, answer, strict=True):
        shares.deserved[child][resource] = deserved
        shares.guarantee[child][resource] = guarantee
        if guarantee < rolled[child].guarantee:
            shares.reduced.add(child)
    for child in names:
        others = sum(shares.guarantee[sibling][resource] for sibling in names if sibling != child)
        ceiling = max(Fraction(0), shares.real_capability[name][resource] - others)
        capability = claims[child].capability.get(resource)
        shares.real_capability[child][resource] = ceiling if capability is None else min(ceiling, capability)
        flow_down(child, resource, claims, children, rolled, shares)


def fair_shares(claims: Mapping[str, Claim], budget: Amounts) -> Shares:
    """The whole tree, Per resource, independently."""
    children = children_of(claims)
    shares = Shares()
    for table in (shares.deserved, shares.real_capability, shares.guarantee):
        table.update({name: Amounts() for name in claims})
    resources = set(budget)
    for claim in claims.values():
        resources |= claim.request.keys() | claim.guarantee.keys() | claim.percentage.keys()
        resources |= claim.soft.keys()
    for resource in sorted(resources):
        rolled: dict[str, Child] = {}
        roll_up(ROOT, resource, claims, children, budget, rolled)
        for table in (shares.deserved, shares.real_capability, shares.guarantee):
            table[ROOT][resource] = budget[resource]
        flow_down(ROOT, resource, claims, children, rolled, shares)
    return shares
