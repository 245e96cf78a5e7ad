"""Random trees of queues, made so that guarantees, capabilities and rounding matter.

Hypothesis draws a `Recipe`, a handful of numbers that it can shrink; the tree grows from the recipe
alone. A failure prints its recipe, and `Recipe(...).grow()` gives the tree back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from random import Random
from typing import Final

from hypothesis import strategies as st

from maar.core.fairshare.queue_demand import HUNDRED_PERCENT, LARGEST_AMOUNT, QueueDemand
from maar.core.model.queue import ROOT

MOST_QUEUES: Final = 200
DEEPEST: Final = 6
RESOURCES: Final = ("nvidia.com/gpu", "cpu", "memory", "pods")
WEIGHTS: Final = ((1,), (1, 2), (1, 2, 3, 7), (1, 1, 2, 3, 65_535))
AVERAGE_QUEUE: Final = {"nvidia.com/gpu": 8, "cpu": 64_000, "memory": 256 * 2**30, "pods": 40}


class Budget(StrEnum):
    """How much there is to share."""

    TINY = "1 to 10 units, however many queues there are"
    USUAL = "about what a cluster of that size has"
    SCARCE = "a few units per queue; some resources not at all"
    HUGE = "around the largest amount there is, and beyond it"


@dataclass(frozen=True)
class Tree:
    """Queues, in no particular order, and what they share."""

    claims: tuple[QueueDemand, ...]
    total: Mapping[str, int]

    @cached_property
    def by_name(self) -> dict[str, QueueDemand]:
        """Every queue's claim, the root's included."""
        return {ROOT: QueueDemand(name=ROOT)} | {claim.name: claim for claim in self.claims}

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """The queues directly below each queue; parents come before their children."""
        below: dict[str, list[str]] = {name: [] for name in self.by_name}
        for name, claim in self.by_name.items():
            if name != ROOT:
                below[claim.parent].append(name)
        order = [ROOT]
        for name in order:
            order.extend(below[name])
        return {name: below[name] for name in order}

    @cached_property
    def level(self) -> dict[str, int]:
        """How many levels a queue is below the root."""
        level = {ROOT: 0}
        for name, children in self.children.items():
            level.update(dict.fromkeys(children, level[name] + 1))
        return level

    @cached_property
    def leaves(self) -> list[str]:
        """The queues that hold work."""
        return [name for name, children in self.children.items() if name != ROOT and not children]

    def below(self, name: str) -> list[str]:
        """Return all queues of a subtree but its top."""
        order = list(self.children[name])
        for descendant in order:
            order.extend(self.children[descendant])
        return order

    def above(self, name: str) -> list[str]:
        """Return all queues above one, the root last."""
        order = list[str]()
        while name != ROOT:
            name = self.by_name[name].parent
            order.append(name)
        return order

    def without(self, names: Iterable[str]) -> "Tree":
        """Return the tree with these queues gone; whoever was below them must be among them."""
        gone = set(names)
        return Tree(tuple(claim for claim in self.claims if claim.name not in gone), self.total)

    def with_claim(self, claim: QueueDemand) -> "Tree":
        """Return the tree with this claim in the place of the one of that name."""
        return Tree(tuple(claim if old.name == claim.name else old for old in self.claims), self.total)

    def __str__(self) -> str:
        lines = [f"total {dict(self.total)}"]
        for name in self.children:
            claim = self.by_name[name]
            indent = "  " * self.level[name]
            lines.append(
                f"{indent}{name} weight={claim.weight} created={claim.created} guarantee={claim.guarantee} "
                f"percentage={claim.percentage} soft_guarantee={claim.soft_guarantee} "
                f"capability={claim.capability} request={claim.request}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Recipe:
    """What a tree grows from; the smaller the numbers, the simpler the tree."""

    seed: int
    queues: int
    depth: int
    resources: int
    budget: Budget

    def random(self, part: object) -> Random:
        """Random numbers for one part of the tree: the rest stays as it is while the recipe shrinks."""
        return Random(f"{self.seed} {part}")

    def grow(self) -> Tree:
        """Return the tree; the same recipe always gives the same."""
        resources = RESOURCES[: self.resources]
        skeleton = Tree(tuple(self._skeleton()), self._total(resources))
        nominal = {ROOT: {resource: skeleton.total.get(resource, 0) for resource in resources}}
        for name, children in skeleton.children.items():
            for child in children:
                nominal[child] = {
                    resource: amount // len(children) for resource, amount in nominal[name].items()
                }
        claims = [self._claim(skeleton, name, nominal[name]) for name in skeleton.by_name]
        rng = self.random("order")
        if rng.random() < 0.7:
            claims = [claim for claim in claims if claim.name != ROOT]
        rng.shuffle(claims)
        return Tree(tuple(claims), skeleton.total)

    def _total(self, resources: tuple[str, ...]) -> dict[str, int]:
        total = {}
        for resource in resources:
            rng = self.random(resource)
            match self.budget:
                case Budget.TINY:
                    total[resource] = rng.randint(1, 10)
                case Budget.USUAL:
                    total[resource] = rng.randint(1, 2 * AVERAGE_QUEUE[resource]) * self.queues
                case Budget.SCARCE:
                    total[resource] = rng.choice((0, 1, 3)) * rng.randint(0, 2 * self.queues)
                case Budget.HUGE:
                    total[resource] = rng.choice(
                        (2**61, LARGEST_AMOUNT, LARGEST_AMOUNT - 1, 2**64)
                    ) - rng.randint(0, 9)
        if self.budget is Budget.SCARCE and self.random("unknown resource").random() < 0.2:
            total.pop(resources[-1])
        return total

    def _skeleton(self) -> Iterable[QueueDemand]:
        """Draw names, parents, weights and ages: everything but amounts."""
        rng = self.random("style")
        deepening, age, weights = (
            rng.choice((0.0, 0.2, 0.6)),
            rng.choice(("same", "few", "own")),
            rng.choice(WEIGHTS),
        )
        level = {ROOT: 0}
        for number in range(self.queues):
            rng = self.random(number)
            name = f"q{(number * 7919 + self.seed) % 10_007}"  # so that names sort in no particular order
            eligible = [parent for parent in level if level[parent] < self.depth]
            parent = eligible[-1] if rng.random() < deepening else rng.choice(eligible)
            level[name] = level[parent] + 1
            created = {"same": 0.0, "few": float(rng.randint(0, 2)), "own": rng.random()}[age]
            yield QueueDemand(name=name, parent=parent, weight=rng.choice(weights), created=created)

    @cached_property
    def promises(self) -> tuple[float, int]:
        """How many queues have guarantees, and how large these are."""
        promised, greed = self.random("promises").choice(((0.1, 3), (0.2, 1), (0.3, 1), (0.5, 4)))
        return max(promised, 2 / self.queues), greed  # a small tree is no easy one

    @cached_property
    def entitled(self) -> tuple[float, int]:
        """How many queues have soft guarantees, and how large these are; many trees have none."""
        return self.random("entitled").choice(((0, 1), (0.3, 1), (0.6, 1), (0.9, 1), (0.9, 1), (0.6, 3)))

    @cached_property
    def alike(self) -> float:
        """How many amounts are the nominal one, or almost: where all are, every unit counts."""
        return self.random("alike").choice((0.1, 0.1, 0.3, 1.0))

    def _amount(self, rng: Random, nominal: int, quarters: int) -> int:
        """Return an amount near that part of the nominal one; where that is next to nothing, a few units."""
        most = nominal * quarters // 4
        if most <= 4:
            return rng.randint(0, 4)
        if rng.random() < self.alike:
            return max(0, nominal + rng.randint(-2, 2))
        return rng.randint(most // 2, most)

    def _claim(self, skeleton: Tree, name: str, nominal: Mapping[str, int]) -> QueueDemand:
        """Fill in amounts around what the queue would get if all siblings were alike."""
        rng = self.random(name)
        promised, greed = self.promises
        is_leaf = not skeleton.children[name]
        guarantee, percentage, capability, request = {}, {}, {}, {}
        for resource, amount in nominal.items():
            if rng.random() < (promised if is_leaf else promised / 4):
                guarantee[resource] = self._amount(rng, amount, rng.choice((1, 3, 5)) * greed)
            if rng.random() < promised / 4:
                part = self._amount(rng, amount, rng.choice((1, 5)) * greed)
                of_total = part * HUNDRED_PERCENT // max(skeleton.total.get(resource, 0), 1)
                percentage[resource] = min(of_total, HUNDRED_PERCENT)
            if rng.random() < (0.5 if is_leaf else 0.2):
                capability[resource] = self._amount(rng, amount, rng.choice((1, 2, 3, 8)))
            if is_leaf or rng.random() < 0.1:
                hunger = rng.choice((0, 3, 8, 16, 40, 40))
                request[resource] = self._amount(rng, amount, hunger) if hunger else 0
        return replace(
            skeleton.by_name[name],
            guarantee=guarantee,
            percentage=percentage,
            soft_guarantee=self._soft_guarantee(name, nominal, is_leaf=is_leaf),
            capability=capability,
            request=request,
        )

    def _soft_guarantee(self, name: str, nominal: Mapping[str, int], *, is_leaf: bool) -> dict[str, int]:
        """Amounts of some resources, of leaves and of fewer inner queues; they seldom all fit."""
        rng, (chance, greed) = self.random(f"{name} is entitled"), self.entitled
        return {
            resource: self._amount(rng, amount, rng.choice((1, 2, 3, 5)) * greed)
            for resource, amount in nominal.items()
            if rng.random() < (chance if is_leaf else chance / 2)
        }


def recipes(*budgets: Budget) -> st.SearchStrategy[Recipe]:
    """Recipes of all sizes; without budgets named, of every budget.

    They are drawn as bytes: Hypothesis draws those evenly, where it would repeat itself with numbers, and
    still shrinks each of them.
    """
    among = budgets or tuple(Budget)

    def read(drawn: bytes) -> Recipe:
        queues, depth, resources, budget, *seed = drawn
        return Recipe(
            seed=int.from_bytes(seed),
            queues=2 + queues // 8 + (MOST_QUEUES - 33) * queues**4 // 255**4,
            depth=1 + depth % DEEPEST,
            resources=1 + resources % len(RESOURCES),
            budget=among[budget % len(among)],
        )

    return st.binary(min_size=8, max_size=8).map(read)
