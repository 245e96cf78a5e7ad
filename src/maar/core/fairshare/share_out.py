"""The whole tree: claims roll up, budgets flow down, and every share gets the constraint that binds it.

Columns are [R, Q], resource by queue.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from maar.core.fairshare.queue_demand import HUNDRED_PERCENT, LARGEST_AMOUNT
from maar.core.fairshare.tree import Level, QueueTree
from maar.core.fairshare.water_fill import Flags, Groups, Ints, scale_down, water_fill
from maar.core.model.plan import Constraint

CONSTRAINTS: Final[tuple[Constraint, ...]] = get_args(Constraint)
_REQUEST, _CAPABILITY, _GUARANTEE, _FAIR_SHARE, _PARENT = range(len(CONSTRAINTS))
UNLIMITED: Final = LARGEST_AMOUNT + 1  # more than any request


@dataclass(frozen=True, eq=False)
class DemandColumns:
    """What the queues of a tree claim; a capability that is not set is UNLIMITED."""

    resources: tuple[str, ...]
    total: Ints  # [R]
    guarantee: Ints  # [R, Q] each queue's own
    capability: Ints  # [R, Q]
    request: Ints  # [R, Q] of leaves

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
        resources = tuple(sorted(named) if order is None else order)
        row = {resource: index for index, resource in enumerate(resources)}
        shape = (len(resources), len(tree.claims))
        guarantee, request = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        capability = np.full(shape, UNLIMITED)
        for queue, claim in enumerate(tree.claims):
            for resource, amount in claim.guarantee.items():
                guarantee[row[resource], queue] = _bounded(amount)
            for resource, part in claim.percentage.items():
                amount = _bounded(_bounded(total.get(resource, 0)) * part // HUNDRED_PERCENT)
                guarantee[row[resource], queue] = max(amount, guarantee[row[resource], queue])
            for resource, amount in claim.capability.items():
                capability[row[resource], queue] = _bounded(amount)
            for resource, amount in claim.request.items():
                request[row[resource], queue] = _bounded(amount)
        totals = np.array([_bounded(total.get(resource, 0)) for resource in resources], np.int64)
        return cls(resources, totals, guarantee, capability, request)


@dataclass(frozen=True, eq=False)
class ShareColumns:
    """The answer for every resource and queue; guarantees are the ones in force."""

    deserved: Ints  # [R, Q]
    real_capability: Ints  # [R, Q]
    guarantee: Ints  # [R, Q]
    request: Ints  # [R, Q]
    ceiling: Ints  # [R, Q]
    binding: npt.NDArray[np.int8]  # [R, Q]
    reduced: Flags  # [Q]


def share_columns(tree: QueueTree, claims: DemandColumns, weight: Ints | None = None) -> ShareColumns:
    """Share the total out over the tree; by other weights than its own where some are given. [Q]"""
    wanted, request = _roll_up(tree, claims)
    return _flow_down(tree, claims, wanted, request, tree.weight if weight is None else weight)


def _roll_up(tree: QueueTree, claims: DemandColumns) -> tuple[Ints, Ints]:
    """Add guarantees and requests up from the leaves: what every queue wants, before any is scaled down."""
    guarantee = claims.guarantee.copy()  # [R, Q]
    request = np.where(tree.is_leaf, claims.request, 0)  # [R, Q]
    for level in reversed(tree.levels):
        here, groups = level.queues, level.groups(len(claims.resources))
        ceiling = _ceiling(guarantee[:, here], request[:, here], claims.capability[:, here])
        request[:, level.parents] = _sums(ceiling, level, groups)
        reserved = np.maximum(guarantee[:, level.parents], _sums(guarantee[:, here], level, groups))
        guarantee[:, level.parents] = np.minimum(reserved, claims.capability[:, level.parents])
    guarantee[:, 0] = np.minimum(guarantee[:, 0], claims.capability[:, 0])  # a root without children too
    return guarantee, request


def _flow_down(
    tree: QueueTree, claims: DemandColumns, wanted: Ints, request: Ints, weight: Ints
) -> ShareColumns:
    """Give every parent's deserved to its children, level by level."""
    deserved, real_capability, guarantee = (np.empty(wanted.shape, np.int64) for _ in range(3))
    on_floor = np.zeros(wanted.shape, np.bool_)
    deserved[:, 0] = real_capability[:, 0] = claims.total
    guarantee[:, 0] = np.minimum(wanted[:, 0], claims.total)
    for level in tree.levels:
        here, groups = level.queues, level.groups(len(claims.resources))
        budget = deserved[:, level.parents].ravel()  # [G]
        floor = scale_down(budget, wanted[:, here].ravel(), groups)  # [E]
        guarantee[:, here] = floor.reshape(wanted[:, here].shape)
        ceiling = _ceiling(guarantee[:, here], request[:, here], claims.capability[:, here])
        weights = np.tile(weight[here], len(claims.resources))  # [E]
        filled = water_fill(budget, weights, floor, ceiling.ravel(), groups)
        deserved[:, here] = filled.deserved.reshape(ceiling.shape)
        on_floor[:, here] = filled.on_floor.reshape(ceiling.shape)
        unreserved = real_capability[:, level.parents].ravel() - groups.sums(floor)  # [G]
        left = (unreserved[groups.of] + floor).reshape(ceiling.shape)
        real_capability[:, here] = np.clip(left, 0, claims.capability[:, here])
    ceiling = _ceiling(guarantee, request, claims.capability)
    reduced = np.asarray(((guarantee < wanted) | (guarantee < claims.guarantee)).any(axis=0))
    binding = _bindings(tree, deserved, guarantee, request, claims.capability, on_floor)
    return ShareColumns(deserved, real_capability, guarantee, request, ceiling, binding, reduced)


def _bindings(
    tree: QueueTree, deserved: Ints, guarantee: Ints, request: Ints, capability: Ints, on_floor: Flags
) -> npt.NDArray[np.int8]:
    """Name what binds, as an index into CONSTRAINTS. [R, Q]

    A queue that gets just what it asks for is bound by its request. One that gets more than it asks for or is
    capped at has it from its guarantee, which binds; so it does where it is more than the queue's fair part.
    One at its capability is bound by that. Of the others, a fair share binds where a sibling holds more than
    its guarantee and could give; where none does, the parent does.
    """
    beyond = deserved > guarantee  # [R, Q]
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
            givers > beyond,
        ],
        [_REQUEST, _GUARANTEE, _CAPABILITY, _GUARANTEE, _FAIR_SHARE],
        default=_PARENT,
    ).astype(np.int8)


def _ceiling(guarantee: Ints, request: Ints, capability: Ints) -> Ints:
    return np.maximum(guarantee, np.minimum(request, capability))


def _sums(values: Ints, level: Level, groups: Groups) -> Ints:
    """Add up siblings, for every resource. [R, Q of the level] -> [R, G]"""
    sums = np.minimum(groups.sums(values.ravel()), LARGEST_AMOUNT)
    return sums.reshape(len(values), len(level.parents))


def _bounded(amount: int) -> int:
    return max(0, min(amount, LARGEST_AMOUNT))
