"""The place of a pod group in the order of turns, and the terms that the order follows from.

The order is that of the cycle itself (`core/cycle/turn_order.py`): the terms are its keys, read
before the first turn is taken. A turn that places pods changes the shares of those above it. So the
place is exact until somebody before the group is placed, which in a full cluster is nobody.

A group has a place in one of three orders: of those that wait for admission; of those whose queues
stay within what they deserve; and where its queue would not, of those that borrow what is idle.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import takewhile
from math import inf
from typing import Final

from maar.core.cycle.inspect import GroupState, OrderKind, TurnOrders, Turns
from maar.core.model.metadata import Record
from maar.core.model.plan import Share
from maar.core.policy.configuration import Configuration
from maar.core.tables.tables import Tables

FEW: Final = 3  # names of groups that come first


class QueueTerm(Record, frozen=True):
    """What a queue is compared with its siblings by, in this order; the smaller share goes first."""

    queue: str
    priority: int  # the higher goes first
    share: Share  # used of deserved; where idle room is lent, of the cluster's total and per weight
    weight: float  # with what past use makes of it
    created: float  # the older goes first


class NamespaceTerm(Record, frozen=True):
    """What a namespace is compared with the others of its queue by."""

    namespace: str
    share: float  # of the cluster's total, per weight
    weight: int
    created: float  # of the oldest group of it that waits


class JobTerm(Record, frozen=True):
    """What a group is compared with the others of its namespace by, in this order."""

    priority: int
    is_ready: bool  # those that are not go first
    share: float  # of the cluster's total
    created: float
    name: str  # its owner's, or its own
    third_parties: tuple[str, ...] = ()  # keys that other plugins give, compared before all else


class OrderTerms(Record, frozen=True):
    """All that decides when a group has its turn; queues from the top down."""

    queues: tuple[QueueTerm, ...]
    namespace: NamespaceTerm
    job: JobTerm


class Order(Record, frozen=True):
    """The place of a group in an order."""

    kind: OrderKind
    place: int  # the first is 1
    groups: int  # in the whole order
    first: tuple[str, ...]  # the first few of those before it
    in_queue: int  # its place among those of its own queue
    terms: OrderTerms


def place_in_order(
    tables: Tables, configuration: Configuration, now: float, key: str, *, is_full: bool = False
) -> Order | None:
    """Where a group stands; None where it takes no turns.

    Where it is known that no turn places anything (`is_full`), no turns are taken to find out.
    """
    row, orders = tables.groups.get(key), TurnOrders(tables, configuration, now, is_full=is_full)
    kind = orders.kind_of(row) if row is not None and row.leaf is not None else None
    turns = orders.of(kind) if kind is not None else None
    own = next((one for one in turns.groups if one.row is row), None) if turns is not None else None
    if turns is None or own is None:
        return None
    terms = _terms(turns, own)
    before = list(takewhile(lambda group: group is not own, turns))
    return Order(
        kind=turns.kind,
        place=len(before) + 1,
        groups=len(turns.groups),
        first=tuple(one.row.key for one in before[:FEW]),
        in_queue=1 + sum(one.leaf == own.leaf for one in before),
        terms=terms,
    )


def terms_of_all(
    tables: Tables, configuration: Configuration, now: float, kind: OrderKind
) -> dict[str, OrderTerms]:
    """The terms of every group in an order, by key."""
    turns = TurnOrders(tables, configuration, now).of(kind)
    return {one.row.key: _terms(turns, one) for one in turns.groups}


def places_in_queues(
    tables: Tables, configuration: Configuration, now: float, *, is_full: bool = False
) -> dict[str, int]:
    """The place of every group that waits among those of its own leaf queue; 1 has the next turn.

    Each is `Order.in_queue` of `place_in_order`; every order is gone through once.
    """
    orders = TurnOrders(tables, configuration, now, is_full=is_full)
    kinds: dict[OrderKind, set[str]] = {}
    for row in tables.groups.values():
        if row.leaf is not None and (kind := orders.kind_of(row)) is not None:
            kinds.setdefault(kind, set()).add(row.key)
    found = dict[str, int]()
    for kind, keys in kinds.items():
        found.update(_places(orders.of(kind), keys))
    return found


def _places(turns: Turns, keys: Collection[str]) -> Iterator[tuple[str, int]]:
    """The places of groups whose turns an order decides; others in it only come before or after them."""
    before = Counter[int]()
    for group in turns:
        before[group.leaf] += 1
        if group.row.key in keys:
            yield group.row.key, before[group.leaf]


def _terms(turns: Turns, group: GroupState) -> OrderTerms:
    keys, row, inspection = turns.keys(group), group.row, turns.inspection
    ledger = inspection.queues
    path = reversed(ledger.paths[group.leaf])
    return OrderTerms(
        queues=tuple(
            QueueTerm(
                queue=ledger.rows[queue].name,
                priority=-one.priority,
                share="inf" if one.share == inf else one.share,
                weight=ledger.weight[queue],
                created=one.created,
            )
            for queue, one in zip(path, keys.queues, strict=True)
        ),
        namespace=NamespaceTerm(
            namespace=row.namespace,
            share=keys.namespace.share,
            weight=inspection.tables.namespace_weights.get(row.namespace, 1),
            created=keys.namespace.created,
        ),
        job=JobTerm(
            third_parties=tuple(map(str, keys.third_parties)),
            priority=-keys.priority,
            is_ready=keys.is_ready,
            share=keys.share,
            created=keys.created,
            name=row.owner or row.key.partition("/")[2],
        ),
    )
