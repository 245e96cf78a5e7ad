"""Refusals: from what is short to what a person should hear, which is the constraint that really binds."""

from typing import Final

from maar.core.cycle.books import Short
from maar.core.cycle.state import State
from maar.core.fairshare.certificate import CONSTRAINTS
from maar.core.model.reasons import Held, Reason

_CAPABILITY: Final = CONSTRAINTS.index("capability")
_LASTING: Final = (Reason.QUEUE_AT_FAIR_SHARE, Reason.QUEUE_AT_CAPABILITY, Reason.NO_NODE_FITS)


def at_fair_share(state: State, short: Short) -> Held:
    """A queue that would use more than it deserves; where its capability made that so, the capability."""
    if state.books.shares.binding[short.resource, short.queue] == _CAPABILITY:
        return at_real_capability(state, short)
    return _held(state, Reason.QUEUE_AT_FAIR_SHARE, short)


def at_real_capability(state: State, short: Short) -> Held:
    """A queue that would use more than it may: by a capability, by reservations, or by the cluster's size."""
    books, resource, queue = state.books, short.resource, short.queue
    while queue:
        parent, real = books.parent[queue], books.real[queue][resource]
        if int(books.claims.capability[resource, queue]) <= real:
            return _held(
                state, Reason.QUEUE_AT_CAPABILITY, Short(queue, resource, short.wanted, short.available)
            )
        if real < books.real[parent][resource]:
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


def more_telling(old: Held | None, new: Held | None) -> Held | None:
    """Of two refusals in a row, the one to show: what a queue deserves says more than what is idle now."""
    if old is not None and old.reason in _LASTING:
        return old
    return new or old


def _held(state: State, reason: Reason, short: Short) -> Held:
    return Held(
        reason=reason,
        queue=state.books.rows[short.queue].name,
        resource=state.tables.axis.names[short.resource],
        wanted=short.wanted,
        available=short.available,
    )
