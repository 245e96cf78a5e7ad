"""The whole tree: claims roll up, budgets flow down, and every share gets the constraint that binds it.

Columns are [R, Q], resource by queue.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from maar.core.fairshare.queue_demand import HUNDRED_PERCENT, LARGEST_AMOUNT
from maar.core.fairshare.tree import Level, QueueTree
from maar.core.fairshare.water_fill import Flags, Groups, Ints, scale_down, water_fill
from maar.core.model.plan import Constraint

CONSTRAINTS: Final[tuple[Constraint, ...]] = get_args(Constraint)
_REQUEST, _CAPABILITY, _GUARANTEE, _SOFT_GUARANTEE, _FAIR_SHARE, _PARENT = range(len(CONSTRAINTS))
UNLIMITED: Final = LARGEST_AMOUNT + 1  # more than any request
_UNSET: Final = -1  # a soft guarantee that a queue does not set


@dataclass(frozen=True, eq=False)
class DemandColumns:
    """What the queues of a tree claim; a capability that is not set is UNLIMITED."""

    resources: tuple[str, ...]
    total: Ints  # [R]
    guarantee: Ints  # [R, Q] each queue's own
    capability: Ints  # [R, Q]
    request: Ints  # [R, Q] of leaves
    soft_guarantee: Ints | None = None  # [R, Q] each queue's own; None where no queue sets one

    @classmethod
    def of(
        cls,
        tree: QueueTree,
        total: Mapping[str, int],
        also: Iterable[str] = (),
        order: Sequence[str] | None = None,
    ) -> "DemandColumns":
        """Lay the claims of a tree out in columns; percentages become amounts of the total.

        The resources are all that are named, sorted, unless an order is given that has them all.
        """
        named = {*total, *also}
        for claim in tree.claims if order is None else ():
            named.update(claim.guarantee, claim.percentage, claim.capability, claim.request)
            named.update(claim.soft_guarantee)
        resources = tuple(sorted(named) if order is None else order)
        row = {resource: index for index, resource in enumerate(resources)}
        shape = (len(resources), len(tree.claims))
        guarantee, request = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        capability, soft = np.full(shape, UNLIMITED), np.full(shape, _UNSET)
        for queue, claim in enumerate(tree.claims):
            for resource, amount in claim.guarantee.items():
                guarantee[row[resource], queue] = _bounded(amount)
            for resource, part in claim.percentage.items():
                amount = _bounded(_bounded(total.get(resource, 0)) * part // HUNDRED_PERCENT)
                guarantee[row[resource], queue] = max(amount, guarantee[row[resource], queue])
            for resource, amount in claim.soft_guarantee.items():
                soft[row[resource], queue] = _bounded(amount)
            for resource, amount in claim.capability.items():
                capability[row[resource], queue] = _bounded(amount)
            for resource, amount in claim.request.items():
                request[row[resource], queue] = _bounded(amount)
        totals = np.array([_bounded(total.get(resource, 0)) for resource in resources], np.int64)
        sets_one = any(claim.soft_guarantee for claim in tree.claims)
        return cls(resources, totals, guarantee, capability, request, soft if sets_one else None)


@dataclass(frozen=True, eq=False)
class ShareColumns:
    """The answer for every resource and queue; guarantees are the ones in force."""

    deserved: Ints  # [R, Q]
    real_capability: Ints  # [R, Q]
    guarantee: Ints  # [R, Q]
    soft_guarantee: Ints | None  # [R, Q] own, or of the queues below; None where no queue sets one
    floor: Ints  # [R, Q] the guarantee, or as much of the soft one as holds together with the siblings'
    request: Ints  # [R, Q]
    ceiling: Ints  # [R, Q]
    binding: npt.NDArray[np.int8]  # [R, Q]
    reduced: Flags  # [Q]
    stands_on_soft: Flags | None  # [R, Q] it has just what its soft guarantee gives it; or None as above


def share_columns(tree: QueueTree, claims: DemandColumns, weight: Ints | None = None) -> ShareColumns:
    """Share the total out over the tree; by other weights than its own where some are given. [Q]"""
    wanted = _roll_up(tree, claims)
    return _flow_down(tree, claims, wanted, tree.weight if weight is None else weight)


class _Wanted(NamedTuple):
    """What every queue wants with all that is below it, before anything is scaled down."""

    guarantee: Ints  # [R, Q]
    soft_guarantee: Ints | None  # [R, Q]
    request: Ints  # [R, Q]


def _roll_up(tree: QueueTree, claims: DemandColumns) -> _Wanted:
    """Add guarantees, requests and, where queues set no soft guarantee, floors up from the leaves."""
    guarantee = claims.guarantee.copy()  # [R, Q]
    soft = None if claims.soft_guarantee is None else claims.soft_guarantee.copy()  # [R, Q]
    request = np.where(tree.is_leaf, claims.request, 0)  # [R, Q]
    for level in reversed(tree.levels):
        here, groups = level.queues, level.groups(len(claims.resources))
        ceiling = _ceiling(guarantee[:, here], request[:, here], claims.capability[:, here])
        request[:, level.parents] = _sums(ceiling, level, groups)
        if soft is not None:
            floors = _sums(_floor(guarantee[:, here], soft[:, here], ceiling), level, groups)
            own = soft[:, level.parents]
            soft[:, level.parents] = np.where(own == _UNSET, floors, own)
        reserved = np.maximum(guarantee[:, level.parents], _sums(guarantee[:, here], level, groups))
        guarantee[:, level.parents] = np.minimum(reserved, claims.capability[:, level.parents])
    guarantee[:, 0] = np.minimum(guarantee[:, 0], claims.capability[:, 0])  # a root without children too
    return _Wanted(guarantee, soft, request)


def _flow_down(tree: QueueTree, claims: DemandColumns, wanted: _Wanted, weight: Ints) -> ShareColumns:
    """Give every parent's deserved to its children, level by level."""
    shape, request, soft = wanted.request.shape, wanted.request, wanted.soft_guarantee
    deserved, real_capability, guarantee = (np.empty(shape, np.int64) for _ in range(3))
    on_floor = np.zeros(shape, np.bool_)
    deserved[:, 0] = real_capability[:, 0] = claims.total
    guarantee[:, 0] = np.minimum(wanted.guarantee[:, 0], claims.total)
    floor = guarantee if soft is None else guarantee.copy()
    for level in tree.levels:
        here, groups = level.queues, level.groups(len(claims.resources))
        budget = deserved[:, level.parents].ravel()  # [G]
        reserved = scale_down(budget, wanted.guarantee[:, here].ravel(), groups)  # [E]
        guarantee[:, here] = reserved.reshape(deserved[:, here].shape)
        ceiling = _ceiling(guarantee[:, here], request[:, here], claims.capability[:, here])
        floors = reserved  # [E]
        if soft is not None:  # as far as they hold together, which is a level for each of a soft guarantee
            entitled = _floor(guarantee[:, here], soft[:, here], ceiling).ravel()  # [E]
            floors = water_fill(budget, soft[:, here].ravel(), reserved, entitled, groups).deserved
            floor[:, here] = floors.reshape(ceiling.shape)
        weights = np.tile(weight[here], len(claims.resources))  # [E]
        filled = water_fill(budget, weights, floors, ceiling.ravel(), groups)
        deserved[:, here] = filled.deserved.reshape(ceiling.shape)
        on_floor[:, here] = filled.on_floor.reshape(ceiling.shape)
        unreserved = real_capability[:, level.parents].ravel() - groups.sums(reserved)  # [G]
        left = (unreserved[groups.of] + reserved).reshape(ceiling.shape)
        real_capability[:, here] = np.clip(left, 0, claims.capability[:, here])
    ceiling = _ceiling(guarantee, request, claims.capability)
    reduced = np.asarray(((guarantee < wanted.guarantee) | (guarantee < claims.guarantee)).any(axis=0))
    stands = None if soft is None else (deserved == floor) & (floor > guarantee)
    bounds = _Bounds(guarantee, floor, request, claims.capability)
    binding = _bindings(tree, deserved, bounds, on_floor)
    return ShareColumns(
        deserved, real_capability, guarantee, soft, floor, request, ceiling, binding, reduced, stands
    )


class _Bounds(NamedTuple):
    """What may keep a queue from deserving more or less. Each is [R, Q]."""

    guarantee: Ints
    floor: Ints
    request: Ints
    capability: Ints


def _bindings(tree: QueueTree, deserved: Ints, bounds: _Bounds, on_floor: Flags) -> npt.NDArray[np.int8]:
    """Name what binds, as an index into CONSTRAINTS. [R, Q]

    A queue that gets just what it asks for is bound by its request. One that gets more than it asks for or is
    capped at has it from its guarantee, which binds; so it does where it is more than the queue's fair part.
    One at its capability is bound by that. A soft guarantee binds where it is more than the fair part and
    than the guarantee. Of the others, a fair share binds where a sibling holds more than its floor and could
    give; where none does, the parent does.
    """
    guarantee, floor, request, capability = bounds
    beyond = deserved > floor  # [R, Q]
    givers = np.zeros(deserved.shape, np.int64)
    for level in tree.levels:
        sizes = np.diff(np.append(level.starts, level.queues.stop - level.queues.start))
        sums = np.add.reduceat(beyond[:, level.queues], level.starts, axis=1, dtype=np.int64)
        givers[:, level.queues] = np.repeat(sums, sizes, axis=1)
    return np.select(
        [
            deserved == request,
            deserved > np.minimum(request, capability),
            deserved == capability,
            (deserved == guarantee) & on_floor & (guarantee > 0),
            (deserved == floor) & on_floor & (floor > guarantee),
            givers > beyond,
        ],
        [_REQUEST, _GUARANTEE, _CAPABILITY, _GUARANTEE, _SOFT_GUARANTEE, _FAIR_SHARE],
        default=_PARENT,
    ).astype(np.int8)


def _ceiling(guarantee: Ints, request: Ints, capability: Ints) -> Ints:
    return np.maximum(guarantee, np.minimum(request, capability))


def _floor(guarantee: Ints, soft_guarantee: Ints, ceiling: Ints) -> Ints:
    return np.maximum(guarantee, np.minimum(soft_guarantee, ceiling))


def _sums(values: Ints, level: Level, groups: Groups) -> Ints:
    """Add up siblings, for every resource. [R, Q of the level] -> [R, G]"""
    sums = np.minimum(groups.sums(values.ravel()), LARGEST_AMOUNT)
    return sums.reshape(len(values), len(level.parents))


def _bounded(amount: int) -> int:
    return max(0, min(amount, LARGEST_AMOUNT))
