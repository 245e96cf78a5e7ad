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
    request: int
    capability: int

    @property
    def ceiling(self) -> int:
        """The most it can use, or has reserved."""
        return max(self.guarantee, min(self.request, self.capability))


class Sibling(NamedTuple):
    """One of those that share a budget, and the answer for it."""

    claim: QueueDemand
    rolled: Rolled
    guarantee: int  # in force
    ceiling: int  # with the guarantee in force
    deserved: int

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
    def target(self) -> int:
        """What the siblings must get together."""
        return min(self.budget, sum(sibling.ceiling for sibling in self.siblings))

    def exact(self) -> dict[str, Fraction]:
        """Return what the definition gives before whole units, as a browser lays out a row of flexible boxes.

        All are open at first and share the target by weight. If lifting some to their guarantee adds more
        than holding others to their ceiling saves, the water is too high: those lifted are done, and stand on
        their guarantee. If less, those held back are done, and stay at their ceiling. The others go on.
        """
        rest, opened, amounts = self.target, self.siblings, dict[str, Fraction]()
        while opened:
            weights = sum(sibling.claim.weight for sibling in opened)
            low, high, free, surplus = list[Sibling](), list[Sibling](), list[Sibling](), 0
            for sibling in opened:
                portion = rest * sibling.claim.weight  # of weights
                if portion <= sibling.guarantee * weights:
                    low.append(sibling)
                    surplus += sibling.guarantee * weights - portion
                elif portion >= sibling.ceiling * weights:
                    high.append(sibling)
                    surplus -= portion - sibling.ceiling * weights
                else:
                    free.append(sibling)
            amounts |= {s.claim.name: Fraction(s.guarantee) for s in low if surplus >= 0}
            amounts |= {s.claim.name: Fraction(s.ceiling) for s in high if surplus <= 0}
            if surplus == 0:
                return amounts | {s.claim.name: Fraction(rest * s.claim.weight, weights) for s in free}
            opened = [*free, *(high if surplus > 0 else low)]
            rest = self.target - sum(int(amount) for amount in amounts.values())
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
        request = claim.request.get(resource, 0)
        capability = min(claim.capability.get(resource, LARGEST_AMOUNT), LARGEST_AMOUNT)
        if children or name == ROOT:
            request = sum(rolled[child].ceiling for child in children)
            guarantee = max(guarantee, sum(rolled[child].guarantee for child in children))
            guarantee = min(guarantee, capability)
        rolled[name] = Rolled(guarantee, min(request, LARGEST_AMOUNT), capability)
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
                deserved = shares[child].deserved[resource]
                siblings.append(Sibling(tree.by_name[child], rolled[child], guarantee, ceiling, deserved))
            if siblings:
                yield Level(parent, resource, shares[parent].deserved[resource], siblings)
