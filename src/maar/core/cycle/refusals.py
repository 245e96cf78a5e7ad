"""Refusals: from what is short to what a person should hear, which is the constraint that really binds."""

from typing import Final

from maar.core.cycle.books import Short
from maar.core.cycle.state import State
from maar.core.fairshare.certificate import CONSTRAINTS
from maar.core.model.reasons import Held, Reason

_CAPABILITY: Final = CONSTRAINTS.index("capability")
_PARENT: Final = CONSTRAINTS.index("parent")
_STRONG: Final = (Reason.RESERVED_FOR_OTHERS, Reason.QUEUE_AT_CAPABILITY)


def at_fair_share(state: State, short: Short) -> Held:
    """A queue that would use more than it deserves: what binds it, or the queue above that binds it.

    A queue above binds only where it would use more than it deserves as well: what it keeps for a sibling's
    reservation is no shortage of its own.
    """
    books, resource, queue = state.books, short.resource, short.queue
    binding = books.shares.binding[resource]
    while queue and binding[queue] == _PARENT:
        above = books.parent[queue]
        if books.used[above][resource] + short.wanted <= books.deserved[above][resource]:
            break
        queue = above
    here = Short(queue, short.resource, short.wanted, short.available)
    if not queue:
        return _held(state, Reason.NOT_ENOUGH_RESOURCES, here)
    reason = Reason.QUEUE_AT_CAPABILITY if binding[queue] == _CAPABILITY else Reason.QUEUE_AT_FAIR_SHARE
    return _held(state, reason, here)


def at_real_capability(state: State, short: Short) -> Held:
    """A queue that would use more than it may: by a capability, by reservations, or by the cluster's size."""
    books, resource, queue = state.books, short.resource, short.queue
    while queue:
        parent, real = books.parent[queue], books.real[queue][resource]
        if int(books.claims.capability[resource, queue]) <= real:
            return _held(
                state, Reason.QUEUE_AT_CAPABILITY, Short(queue, resource, short.wanted, short.available)
            )
        idle = books.real[parent][resource] - books.used[parent][resource]
        if real < books.real[parent][resource] and idle > 0:
            return _held(
                state, Reason.RESERVED_FOR_OTHERS, Short(parent, resource, short.wanted, short.available)
            )
        queue = parent
    return _held(state, Reason.NOT_ENOUGH_RESOURCES, short)


def reserved(state: State, short: Short) -> Held:
    """Room that others have reserved, unless it is not idle at all."""
    books, resource, parent = state.books, short.resource, short.queue
    idle = books.real[parent][resource] - books.used[parent][resource]
    if short.wanted > idle:
        return at_real_capability(state, Short(parent, resource, short.wanted, max(0, idle)))
    return _held(state, Reason.RESERVED_FOR_OTHERS, short)


def more_telling(fair: Held | None, lent: Held | None) -> Held | None:
    """Of the refusals of both rounds, the one to show.

    Where room is idle but reserved or capped that says most; in a full cluster, what the queue deserves.
    """
    if fair is None or (lent is not None and lent.reason in _STRONG):
        return lent or fair
    return fair


def _held(state: State, reason: Reason, short: Short) -> Held:
    return Held(
        reason=reason,
        queue=state.books.rows[short.queue].name,
        resource=state.tables.axis.names[short.resource],
        wanted=short.wanted,
        available=short.available,
    )
