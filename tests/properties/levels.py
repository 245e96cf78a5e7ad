"""What the laws look at: one parent, one resource, and the siblings that share it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from maar.core.fairshare.queue_demand import HUNDRED_PERCENT, LARGEST_AMOUNT, QueueDemand
from maar.core.model.queue import ROOT
from properties.slow_fairshare import Share
from properties.trees import Tree

Shares = Mapping[str, Share]


class Rolled(NamedTuple):
    """What a queue claims of a resource, with all that is below it."""

    guarantee: int
    soft_guarantee: int
    request: int
    capability: int

    @property
    def ceiling(self) -> int:
        """The most it can use, or has reserved."""
        return max(self.guarantee, min(self.request, self.capability))

    @property
    def entitled(self) -> int:
        """What it gets before anybody gets more for its weight, if all soft guarantees hold."""
        return max(self.guarantee, min(self.soft_guarantee, self.ceiling))


class Sibling(NamedTuple):
    """One of those that share a budget, and the answer for it."""

    claim: QueueDemand
    rolled: Rolled
    guarantee: int  # in force
    floor: int  # the guarantee, or as much of the soft one as holds
    ceiling: int  # with the guarantee in force
    deserved: int

    @property
    def entitled(self) -> int:
        """The floor if all soft guarantees hold, with the guarantee in force."""
        return max(self.guarantee, min(self.rolled.soft_guarantee, self.ceiling))

    @property
    def is_satisfied(self) -> bool:
        """It can use no more."""
        return self.deserved >= self.ceiling

    @property
    def seniority(self) -> tuple[float, str]:
        """The smaller one gets the odd unit."""
        return self.claim.created, self.claim.name


@dataclass(frozen=True)
class Level:
    """One resource of one parent, and those that share it."""

    parent: str
    resource: str
    budget: int
    siblings: list[Sibling]

    @property
    def reserved(self) -> int:
        """What the siblings are guaranteed before it is scaled down."""
        return sum(sibling.rolled.guarantee for sibling in self.siblings)

    @property
    def is_scaled_down(self) -> bool:
        """The guarantees do not all fit."""
        return self.reserved > self.budget

    @property
    def is_short(self) -> bool:
        """The soft guarantees do not all fit."""
        return sum(sibling.entitled for sibling in self.siblings) > self.budget

    @property
    def target(self) -> int:
        """What the siblings must get together."""
        return min(self.budget, sum(sibling.ceiling for sibling in self.siblings))

    def exact(self) -> dict[str, Fraction]:
        """What siblings deserve before whole units."""
        boxes = [Box(s.claim.name, s.claim.weight, s.floor, s.ceiling) for s in self.siblings]
        return laid_out(self.target, boxes)

    def exact_floors(self) -> dict[str, Fraction]:
        """The floors before whole units where soft guarantees, which are the weights, do not all fit."""
        soft = [s for s in self.siblings if s.entitled > s.guarantee]
        others = {s.claim.name: Fraction(s.guarantee) for s in self.siblings if s not in soft}
        boxes = [Box(s.claim.name, s.rolled.soft_guarantee, s.guarantee, s.entitled) for s in soft]
        return others | laid_out(self.budget - sum(map(int, others.values())), boxes)


class Box(NamedTuple):
    """One that shares by weight between two bounds."""

    name: str
    weight: int
    least: int
    most: int


def laid_out(target: int, boxes: list[Box]) -> dict[str, Fraction]:
    """Return what each gets before whole units, as a browser lays out a row of flexible boxes.

    All are open at first and share the target by weight. If lifting some to their least adds more than
    holding others to their most saves, the water is too high: those lifted are done, and stand on their
    least. If less, those held back are done, and stay at their most. The others go on.
    """
    rest, opened, amounts = target, boxes, dict[str, Fraction]()
    while opened:
        weights = sum(box.weight for box in opened)
        low, high, free, surplus = list[Box](), list[Box](), list[Box](), 0
        for box in opened:
            portion = rest * box.weight  # of weights
            if portion <= box.least * weights:
                low.append(box)
                surplus += box.least * weights - portion
            elif portion >= box.most * weights:
                high.append(box)
                surplus -= portion - box.most * weights
            else:
                free.append(box)
        amounts |= {box.name: Fraction(box.least) for box in low if surplus >= 0}
        amounts |= {box.name: Fraction(box.most) for box in high if surplus <= 0}
        if surplus == 0:
            return amounts | {box.name: Fraction(rest * box.weight, weights) for box in free}
        opened = [*free, *(high if surplus > 0 else low)]
        rest = target - sum(int(amount) for amount in amounts.values())
    return amounts


def own_guarantee(tree: Tree, claim: QueueDemand, resource: str) -> int:
    """Return the larger of the amount and the percentage of the total."""
    of_total = (
        min(tree.total.get(resource, 0), LARGEST_AMOUNT)
        * claim.percentage.get(resource, 0)
        // HUNDRED_PERCENT
    )
    return min(max(claim.guarantee.get(resource, 0), of_total), LARGEST_AMOUNT)


def roll_up(tree: Tree, resource: str) -> dict[str, Rolled]:
    """Return what every queue claims of one resource."""
    rolled: dict[str, Rolled] = {}
    for name, children in reversed(tree.children.items()):
        claim = tree.by_name[name]
        guarantee = own_guarantee(tree, claim, resource)
        request, soft = claim.request.get(resource, 0), claim.soft_guarantee.get(resource)
        capability = min(claim.capability.get(resource, LARGEST_AMOUNT), LARGEST_AMOUNT)
        if children or name == ROOT:
            request = sum(rolled[child].ceiling for child in children)
            guarantee = max(guarantee, sum(rolled[child].guarantee for child in children))
            guarantee = min(guarantee, capability)
            soft = sum(rolled[child].entitled for child in children) if soft is None else soft
        rolled[name] = Rolled(
            guarantee, min(soft or 0, LARGEST_AMOUNT), min(request, LARGEST_AMOUNT), capability
        )
    return rolled


def levels(tree: Tree, shares: Shares) -> Iterator[Level]:
    """Every parent and resource."""
    for resource in shares[ROOT].deserved:
        rolled = roll_up(tree, resource)
        for parent, children in tree.children.items():
            siblings = []
            for child in children:
                guarantee = shares[child].guarantee[resource]
                ceiling = max(guarantee, min(rolled[child].request, rolled[child].capability))
                floor, deserved = shares[child].floor[resource], shares[child].deserved[resource]
                siblings.append(
                    Sibling(tree.by_name[child], rolled[child], guarantee, floor, ceiling, deserved)
                )
            if siblings:
                yield Level(parent, resource, shares[parent].deserved[resource], siblings)
