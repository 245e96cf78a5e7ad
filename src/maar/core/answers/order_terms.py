"""The place of a pod group in the order of turns, and the terms that the order follows from.

The order is that of the cycle itself (`core/cycle/turn_order.py`): the terms are its keys, read before the
first turn is taken. A turn that places pods changes the shares of those above it. So the place is exact until
somebody before the group is placed, which in a full cluster is nobody.

A group has a place in one of three orders: of those that wait for admission; of those whose queues stay
within what they deserve; and where its queue would not, of those that borrow what is idle.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import Final, Literal, NamedTuple, cast

from maar.core.cycle import decide, settle
from maar.core.cycle.allocate import begin, take_turns, with_turns
from maar.core.cycle.enqueue import not_enqueued, not_started
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.turn_pods import for_allocate, for_backfill, for_next_turn
from maar.core.cycle.refusals import beyond_deserved
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import TurnOrder
from maar.core.model.metadata import Record
from maar.core.model.plan import Share
from maar.core.policy.configuration import Configuration
from maar.core.tables.counting import together
from maar.core.tables.rows import GroupOrder, GroupRow
from maar.core.tables.tables import Tables

_JobKey = tuple[Sequence[object], int, bool, float, GroupOrder, GroupState]
OrderKind = Literal["admission", "fair", "lent", "backfill"]

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


class _Contest(NamedTuple):
    """An order, the groups in it, and the state that their terms are read from."""

    kind: OrderKind
    state: State
    groups: Sequence[GroupState]

    @property
    def turns(self) -> TurnOrder:
        """The order, from its beginning."""
        return TurnOrder(self.state, "lent" if self.kind == "lent" else "fair", self.groups)


def place_in_order(
    tables: Tables, configuration: Configuration, now: float, key: str, *, is_full: bool = False
) -> Order | None:
    """Where a group stands; None where it takes no turns.

    Where it is known that no turn places anything (`is_full`), no turns are taken to find out.
    """
    contest = _contest(tables, configuration, now, key, is_full=is_full)
    if contest is None:
        return None
    turns, own = contest.turns, contest.state.group(tables.groups[key])
    terms = _terms(contest, turns, own)
    before = list[GroupState]()
    while (group := turns.next()) is not None and group is not own:
        before.append(group)
        turns.done(group)
    return Order(
        kind=contest.kind,
        place=len(before) + 1,
        groups=len(contest.groups),
        first=tuple(one.row.key for one in before[:FEW]),
        in_queue=1 + sum(one.leaf == own.leaf for one in before),
        terms=terms,
    )


def terms_of_all(
    tables: Tables, configuration: Configuration, now: float, kind: OrderKind
) -> dict[str, OrderTerms]:
    """The terms of every group in an order, by key."""
    state = _state(tables, configuration, now, kind)
    contest = _Contest(kind, state, _taking_part(state, kind))
    turns = contest.turns
    return {one.row.key: _terms(contest, turns, one) for one in contest.groups}


def places_in_queues(
    tables: Tables, configuration: Configuration, now: float, *, is_full: bool = False
) -> dict[str, int]:
    """The place of every group that waits among those of its own leaf queue; 1 has the next turn.

    Each is `Order.in_queue` of `place_in_order`; every order is gone through once.
    """
    fair = _state(tables, configuration, now, "fair")
    kinds: dict[OrderKind, set[str]] = {}
    for row in tables.groups.values():
        if row.leaf is not None and (kind := _kind(fair, row)) is not None:
            kinds.setdefault(kind, set()).add(row.key)
    found = dict[str, int]()
    for kind, keys in kinds.items():
        if kind in ("fair", "lent") and (kind == "fair" or is_full):
            state = fair  # walking an order changes nothing
        else:
            state = _state(tables, configuration, now, kind)
        found.update(_places(_Contest(kind, state, _taking_part(state, kind)), keys))
    return found


def _places(contest: _Contest, keys: Collection[str]) -> Iterator[tuple[str, int]]:
    """The places of groups whose turns an order decides; others in it only come before or after them."""
    turns, before = contest.turns, Counter[int]()
    while (group := turns.next()) is not None:
        before[group.leaf] += 1
        if group.row.key in keys:
            yield group.row.key, before[group.leaf]
        turns.done(group)


def _contest(
    tables: Tables, configuration: Configuration, now: float, key: str, *, is_full: bool
) -> _Contest | None:
    """The order that decides about a group."""
    row = tables.groups.get(key)
    if row is None or row.leaf is None:
        return None
    state = _state(tables, configuration, now, "fair")
    kind = _kind(state, row)
    if kind is None:
        return None
    if kind in ("admission", "backfill"):
        state = _state(tables, configuration, now, kind)
    elif kind == "lent" and not is_full:
        take_turns(state, "fair", for_allocate)
    groups = _taking_part(state, kind)
    return _Contest(kind, state, groups) if any(one.row is row for one in groups) else None


def _kind(fair: State, row: GroupRow) -> OrderKind | None:
    """The first order in which a group is not let through; None where it has nothing to place."""
    own = fair.group(row)
    if own.phase == "Pending":
        return "admission"
    if not own.pending:
        return None
    if not for_allocate(own):
        return "backfill"
    needs = together(for_next_turn(own))
    beyond = beyond_deserved(fair.ledger, fair.tables.axis.names, own.leaf, needs)
    return "fair" if beyond is None else "lent"


def _state(tables: Tables, configuration: Configuration, now: float, kind: OrderKind) -> State:
    """The state when the turns of an order begin; every group stands for itself."""
    before = {"admission": "enqueue", "backfill": "backfill"}.get(kind, "allocate")
    settle(tables, configuration, now)
    state = decide(tables, configuration, now, before=before)
    if before == "allocate":
        begin(state)
    state.groups.single(state.groups.of_classes)
    if kind == "lent":
        take_turns(state, "fair", for_allocate)
    return state


def _taking_part(state: State, kind: OrderKind) -> list[GroupState]:
    if kind == "admission":
        return [*not_enqueued(state), *not_started(state)]
    return with_turns(state, for_backfill if kind == "backfill" else for_allocate)


def _terms(contest: _Contest, turns: TurnOrder, group: GroupState) -> OrderTerms:
    (*queues, namespace), job = turns.keys(group)
    ledger, row = contest.state.ledger, group.row
    path: Collection[int] = tuple(reversed(ledger.paths[group.leaf]))
    others, priority, is_ready, share, order, _ = cast("_JobKey", job)
    return OrderTerms(
        queues=tuple(
            QueueTerm(
                queue=ledger.rows[queue].name,
                priority=-entry[0],
                share="inf" if entry[1] == inf else entry[1],
                weight=ledger.weight[queue],
                created=entry[2],
            )
            for queue, entry in zip(path, queues, strict=True)
        ),
        namespace=NamespaceTerm(
            namespace=row.namespace,
            share=namespace[1],
            weight=contest.state.tables.namespace_weights.get(row.namespace, 1),
            created=namespace[2],
        ),
        job=JobTerm(
            third_parties=tuple(map(str, others)),
            priority=-priority,
            is_ready=is_ready,
            share=share,
            created=order[0],
            name=row.owner or row.key.partition("/")[2],
        ),
    )
