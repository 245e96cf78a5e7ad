"""Fair share the slow way: from the definition, in exact fractions, one resource and one parent at a time.

This is what the fast kernel must answer, to the unit. Nothing here is clever. It reads from bottom
to top:

- `share_out`: every resource on its own; then the cells of one queue are put side by side.
- `roll_up`: from the leaves to the root, what every queue may claim: its guarantee, request and
  ceiling.
- `flow_down`: from the root to the leaves, what every queue gets; its deserved is its children's
  budget.
- `share_level`: one budget, one group of siblings: guarantees in force, soft guarantees as far as
  they hold, the water level, whole units.

A queue whose ancestors do not lead to the root is nobody's child here: it takes no part, and gets
no share.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from maar.core.fairshare.queue_demand import HUNDRED_PERCENT, LARGEST_AMOUNT, QueueDemand
from maar.core.model.queue import ROOT


@dataclass(frozen=True, kw_only=True)
class Share:
    """One queue's part of the answer; amounts are whole units by resource name."""

    deserved: dict[str, int] = field(default_factory=dict)
    real_capability: dict[str, int] = field(default_factory=dict)
    guarantee: dict[str, int] = field(default_factory=dict)  # the one in force
    floor: dict[str, int] = field(default_factory=dict)
    request: dict[str, int] = field(default_factory=dict)
    ceiling: dict[str, int] = field(default_factory=dict)
    binding: dict[str, str] = field(default_factory=dict)
    reduced: bool = False


@dataclass(kw_only=True)
class Cell:
    """One queue and one resource: what it claims, and, once the budget has come down to it, what it gets."""

    seniority: tuple[float, str]  # the smaller one gets the odd unit
    weight: Fraction  # with its factor
    own_guarantee: int
    own_soft_guarantee: int | None  # none: that of the queues below
    capability: int | None  # none: no limit
    children: list["Cell"]
    guarantee: int = 0  # with what the children below are guaranteed
    soft_guarantee: int = 0
    request: int = 0
    in_force: int = 0  # of the guarantee
    floor: int = 0  # the guarantee, or as much of the soft one as holds
    deserved: int = 0
    real_capability: int = 0
    binding: str = ""

    def limited(self, amount: int) -> int:
        """As much of the amount as the capability lets through."""
        return amount if self.capability is None else min(amount, self.capability)

    @property
    def ceiling(self) -> int:
        """Rolled up: what the queue could use at most, or has reserved."""
        return max(self.guarantee, self.limited(self.request))

    @property
    def ceiling_in_force(self) -> int:
        """The same with the guarantee that holds in fact."""
        return max(self.in_force, self.limited(self.request))

    @property
    def entitled(self) -> int:
        """Rolled up: what it is entitled to, if all soft guarantees hold."""
        return max(self.guarantee, min(self.soft_guarantee, self.ceiling))

    def entitled_to(self, part: Fraction) -> Fraction:
        """What it is entitled to where only this part of every soft guarantee holds."""
        return max(Fraction(self.in_force), min(part * self.soft_guarantee, Fraction(self.ceiling_in_force)))

    def at(self, level: Fraction) -> Fraction:
        """Clamp level x weight between floor and ceiling: what it deserves, but for whole units."""
        if level * self.weight < self.floor:
            return Fraction(self.floor)
        return min(level * self.weight, Fraction(self.ceiling_in_force))

    @property
    def bounds(self) -> tuple[int, int]:
        """Where the water first lifts it off its floor, and where it no longer lifts it."""
        return self.floor, self.ceiling_in_force

    def is_free_at(self, level: Fraction) -> bool:
        """Neither its floor nor its ceiling holds it at this level."""
        return self.floor < level * self.weight < self.ceiling_in_force

    def rises_from(self, level: Fraction) -> bool:
        """It gets more as soon as the water stands higher than this."""
        return self.floor <= level * self.weight < self.ceiling_in_force


# One level: a budget and the siblings that share it.


def share_level(budget: int, siblings: Sequence[Cell]) -> None:
    """Guarantees first, then soft ones; then the one level at which siblings take what there is."""
    for cell, guarantee in zip(siblings, guarantees_in_force(budget, siblings), strict=True):
        cell.in_force = guarantee
    for cell, floor_in_force in zip(siblings, floors_in_force(budget, siblings), strict=True):
        cell.floor = floor_in_force
    target = min(budget, sum(cell.ceiling_in_force for cell in siblings))
    level = water_level(target, siblings)
    free = [cell for cell in siblings if cell.is_free_at(level)]
    for cell in siblings:
        cell.deserved = floor(cell.at(level))
    left_for_free = target - sum(cell.deserved for cell in siblings if not cell.is_free_at(level))
    for cell, whole in zip(
        free, whole_units([cell.at(level) for cell in free], left_for_free, free), strict=True
    ):
        cell.deserved = whole
    for cell in siblings:
        cell.binding = what_binds(cell, level, siblings)


def guarantees_in_force(budget: int, siblings: Sequence[Cell]) -> list[int]:
    """Guarantees that cannot all hold are scaled down in proportion, and then take the whole budget."""
    reserved = sum(cell.guarantee for cell in siblings)
    if reserved <= budget:
        return [cell.guarantee for cell in siblings]
    return whole_units([Fraction(cell.guarantee * budget, reserved) for cell in siblings], budget, siblings)


def floors_in_force(budget: int, siblings: Sequence[Cell]) -> list[int]:
    """Return what siblings are entitled to: of soft guarantees the largest part that fits.

    It lies between two of the parts where a soft guarantee comes to more than the guarantee, or to as much
    as can be used.
    """

    def entitled(part: Fraction) -> Fraction:
        return sum((cell.entitled_to(part) for cell in siblings), Fraction(0))

    if entitled(Fraction(1)) <= budget:
        return [int(cell.entitled_to(Fraction(1))) for cell in siblings]
    soft = [cell for cell in siblings if cell.soft_guarantee]
    bends = {
        Fraction(bound, cell.soft_guarantee)
        for cell in soft
        for bound in (0, cell.in_force, cell.ceiling_in_force)
    }
    parts = sorted(bend for bend in bends if bend < 1)
    part = parts[bisect_right(parts, Fraction(budget), key=entitled) - 1]
    if rest := budget - entitled(part):
        rising = [
            cell for cell in soft if cell.in_force <= part * cell.soft_guarantee < cell.ceiling_in_force
        ]
        part += rest / sum(cell.soft_guarantee for cell in rising)
    exact = [cell.entitled_to(part) for cell in siblings]
    return whole_units(exact, budget, siblings)


def water_level(target: int, siblings: Sequence[Cell]) -> Fraction:
    """Return the level at which the siblings take the target together.

    What they take rises with the level, in straight lines between the levels where one of them leaves its
    floor or reaches its ceiling. So: the highest such level that does not take too much, and from there
    on the rest, divided among the weights of those that still rise.
    """
    bends = sorted({Fraction(bound, cell.weight) for cell in siblings for bound in (0, *cell.bounds)})
    if not bends:
        return Fraction(0)
    level = bends[bisect_right(bends, Fraction(target), key=lambda bend: taken_at(bend, siblings)) - 1]
    rest = target - taken_at(level, siblings)
    return level + rest / sum(cell.weight for cell in siblings if cell.rises_from(level)) if rest else level


def taken_at(level: Fraction, siblings: Sequence[Cell]) -> Fraction:
    """Return what the siblings take together while the water stands at this level."""
    return sum((cell.at(level) for cell in siblings), Fraction(0))


def whole_units(exact: Sequence[Fraction], target: int, cells: Sequence[Cell]) -> list[int]:
    """All rounded down; then the odd units to the largest fractions, and of two equals to the older."""
    whole = [floor(amount) for amount in exact]
    by_fraction = sorted(range(len(cells)), key=lambda i: (whole[i] - exact[i], cells[i].seniority))
    for i in by_fraction[: target - sum(whole)]:
        whole[i] += 1
    return whole


def what_binds(cell: Cell, level: Fraction, siblings: Sequence[Cell]) -> str:
    """Why a queue does not deserve more: the first of these that is true."""
    is_on_floor = cell.deserved == cell.floor and level * cell.weight <= cell.floor
    could_give = any(other.deserved > other.floor for other in siblings if other is not cell)
    reasons = (
        ("request", cell.deserved == cell.request),
        ("guarantee", cell.deserved > cell.limited(cell.request)),
        ("capability", cell.deserved == cell.capability),
        ("guarantee", is_on_floor and cell.floor == cell.in_force > 0),
        ("soft guarantee", is_on_floor and cell.floor > cell.in_force),
        ("fair share", could_give),
        ("parent", True),
    )
    return next(reason for reason, is_true in reasons if is_true)


# The tree, for one resource.


def roll_up(cell: Cell, *, is_inner: bool) -> None:
    """Leaves first: an inner queue has its children's guarantees, and asks for what they can use.

    It is entitled to what they are entitled to, unless it says so itself.
    """
    if not is_inner:
        cell.guarantee, cell.soft_guarantee = cell.own_guarantee, cell.own_soft_guarantee or 0
        return
    for child in cell.children:
        roll_up(child, is_inner=bool(child.children))
    reserved_below = saturated(sum(child.guarantee for child in cell.children))
    cell.guarantee = cell.limited(max(cell.own_guarantee, reserved_below))
    cell.request = saturated(sum(child.ceiling for child in cell.children))
    cell.soft_guarantee = saturated(sum(child.entitled for child in cell.children))
    if cell.own_soft_guarantee is not None:
        cell.soft_guarantee = cell.own_soft_guarantee


def flow_down(cell: Cell) -> None:
    """The root first: what a queue deserves is the budget of its children."""
    share_level(cell.deserved, cell.children)
    for child in cell.children:
        others = sum(other.in_force for other in cell.children if other is not child)
        child.real_capability = max(0, child.limited(cell.real_capability - others))
        flow_down(child)


def saturated(amount: int) -> int:
    """More than the largest amount counts as the largest amount."""
    return min(amount, LARGEST_AMOUNT)


# All resources.


def share_out(
    claims: Iterable[QueueDemand], total: Mapping[str, int], factors: Mapping[str, Fraction] | None = None
) -> dict[str, Share]:
    """Divide the total among the queues below the root; the root is part of the answer.

    Weights count as often as their factors say.
    """
    by_name = {ROOT: QueueDemand(name=ROOT)} | {claim.name: claim for claim in claims}
    children: dict[str, list[str]] = {name: [] for name in by_name}
    for claim in by_name.values():
        if claim.name != ROOT and claim.parent in children:
            children[claim.parent].append(claim.name)

    names = reachable(ROOT, children)
    columns: dict[str, dict[str, Cell]] = {}
    for resource in resources_of([by_name[name] for name in names], total):
        columns[resource] = {}
        budget = saturated(total.get(resource, 0))
        share_resource(by_name, children, resource, budget, columns[resource], factors or {})
    return {name: side_by_side(name, columns) for name in names}


def resources_of(claims: Iterable[QueueDemand], total: Mapping[str, int]) -> list[str]:
    """Every resource that anybody names who takes part."""
    named = set(total)
    for claim in claims:
        named |= {*claim.guarantee, *claim.percentage, *claim.capability, *claim.request}
        named |= {*claim.soft_guarantee}
    return sorted(named)


def reachable(name: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the queue and all below it."""
    return [name, *(below for child in children[name] for below in reachable(child, children))]


def share_resource(
    claims: Mapping[str, QueueDemand],
    children: Mapping[str, Sequence[str]],
    resource: str,
    total: int,
    column: dict[str, Cell],
    factors: Mapping[str, Fraction],
) -> None:
    """Roll the claims up, let the total flow down, and leave every queue's cell in the column."""

    def planted(name: str) -> Cell:
        claim = claims[name]
        capability, soft = claim.capability.get(resource), claim.soft_guarantee.get(resource)
        share_of_total = total * claim.percentage.get(resource, 0) // HUNDRED_PERCENT
        column[name] = Cell(
            seniority=(claim.created, name),
            weight=claim.weight * factors.get(name, Fraction(1)),
            own_guarantee=saturated(max(claim.guarantee.get(resource, 0), share_of_total)),
            own_soft_guarantee=None if soft is None else saturated(soft),
            capability=None if capability is None else saturated(capability),
            request=saturated(claim.request.get(resource, 0)),
            children=[planted(child) for child in children[name]],
        )
        return column[name]

    root = planted(ROOT)
    roll_up(root, is_inner=True)
    root.deserved = root.real_capability = total
    root.in_force = root.floor = min(root.guarantee, total)
    flow_down(root)


def side_by_side(name: str, columns: Mapping[str, Mapping[str, Cell]]) -> Share:
    """Gather the cells of one queue, resource by resource."""
    cells = {resource: column[name] for resource, column in columns.items()}
    return Share(
        deserved={resource: cell.deserved for resource, cell in cells.items()},
        real_capability={resource: cell.real_capability for resource, cell in cells.items()},
        guarantee={resource: cell.in_force for resource, cell in cells.items()},
        floor={resource: cell.floor for resource, cell in cells.items()},
        request={resource: cell.request for resource, cell in cells.items()},
        ceiling={resource: cell.ceiling_in_force for resource, cell in cells.items()},
        binding={} if name == ROOT else {resource: cell.binding for resource, cell in cells.items()},
        reduced=any(cell.in_force < max(cell.guarantee, cell.own_guarantee) for cell in cells.values()),
    )
