"""Refusals of queues: which queue, and which of its limits, keeps a group from using more."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from maar.core.cycle.books import Books
from maar.core.cycle.group_state import GroupState
from maar.core.fairshare.certificate import CONSTRAINTS
from maar.core.model.reasons import Cure, Held, Reason, Shortage
from maar.core.tables.axis import Needs

_CAPABILITY: Final = CONSTRAINTS.index("capability")
_PARENT: Final = CONSTRAINTS.index("parent")


class Limit(NamedTuple):
    """A limit that one resource of a request would pass: whose it is, and how far."""

    reason: Reason
    cure: Cure
    queue: int
    shortage: Shortage
    holders: tuple[str, ...] = ()  # the queues that something is reserved for


def beyond_deserved(books: Books, names: Sequence[str], leaf: int, needs: Needs) -> Held | None:
    """A leaf that would use more than it, or a queue above it, deserves."""
    return _told(books, (_deserved(books, names, leaf, *need) for need in needs))


def beyond_limits(books: Books, names: Sequence[str], leaf: int, needs: Needs) -> Held | None:
    """A leaf that would use more than ceilings and reservations leave to it."""
    return _told(
        books,
        (_ceiling(books, names, leaf, *need) or _reservation(books, names, leaf, *need) for need in needs),
    )


def told(books: Books, limits: Sequence[Limit], *, more_nodes_help: bool = False) -> Held:
    """Tell of all limits, each with the resources for which it is the same one; the first comes first."""
    same: dict[tuple[Reason, int], list[Limit]] = {}
    for limit in limits:
        same.setdefault((limit.reason, limit.queue), []).append(limit)
    first, *further = [
        Held(
            reason=reason,
            cure=found[0].cure,
            more_nodes_help=more_nodes_help,
            queue=books.rows[queue].name,
            shortages=tuple(one.shortage for one in found),
            others=tuple(dict.fromkeys(name for one in found for name in one.holders)),
        )
        for (reason, queue), found in same.items()
    ]
    return msgspec.structs.replace(first, further=tuple(further))


def behind_first(group: GroupState, first: GroupState) -> Held:
    """A group whose queue is first in, first out, and whose first group waits."""
    reason, name = Reason.BEHIND_FIRST_IN_QUEUE, group.row.queue_name
    return Held(reason=reason, queue=name, others=(first.row.key,))


def _told(books: Books, limits: Iterable[Limit | None]) -> Held | None:
    found = [limit for limit in limits if limit is not None]
    return told(books, found) if found else None


def _deserved(books: Books, names: Sequence[str], leaf: int, resource: int, amount: int) -> Limit | None:
    """The queue that binds: the one above where that has no more to give, and would be beyond its share too.

    What a queue above keeps for a sibling's reservation is no shortage of its own.
    """
    short = books.beyond(leaf, ((resource, amount),), books.deserved)
    if short is None:
        return None
    queue, binding = short.queue, books.shares.binding[resource]
    while queue:
        above = books.parent[queue]
        has_all = books.deserved[queue][resource] >= books.deserved[above][resource]
        if not (has_all or binding[queue] == _PARENT):
            break
        if books.used[above][resource] + amount <= books.deserved[above][resource]:
            break
        queue = above
    if not queue:  # the cluster itself is short of it
        return None
    # What a leaf declares to ask for may be less than what its pods do, and then it is not given more.
    is_declared = books.rows[leaf].queue.spec.request is not None and bool(
        books.shares.request[resource, leaf] <= books.deserved[leaf][resource]
    )
    queue = leaf if is_declared else queue
    limit = Shortage(
        resource=names[resource],
        wanted=amount,
        used=books.used[queue][resource],
        limit=books.deserved[queue][resource],
    )
    if binding[queue] == _CAPABILITY:
        return Limit(Reason.QUEUE_AT_CAPABILITY, Cure.LIMIT_CHANGES, queue, limit)
    cure = Cure.SOMEBODY_ACTS if is_declared else Cure.SHARE_GROWS
    return Limit(Reason.QUEUE_AT_FAIR_SHARE, cure, queue, limit)


def _ceiling(books: Books, names: Sequence[str], leaf: int, resource: int, amount: int) -> Limit | None:
    short = books.beyond(leaf, ((resource, amount),), books.real)
    if short is None:
        return None
    return real_capability(books, names, short.queue, resource, amount, books.used[short.queue][resource])


def real_capability(
    books: Books, names: Sequence[str], queue: int, resource: int, amount: int, used: int
) -> Limit | None:
    """What makes up the real capability of a queue: a capability, or reservations of others.

    None where it is the cluster's size.
    """
    while queue:
        parent, real = books.parent[queue], books.real[queue][resource]
        if int(books.claims.capability[resource, queue]) <= real:
            limit = Shortage(resource=names[resource], wanted=amount, used=used, limit=real)
            return Limit(Reason.QUEUE_AT_CAPABILITY, Cure.LIMIT_CHANGES, queue, limit)
        idle = books.real[parent][resource] - books.used[parent][resource]
        if real < books.real[parent][resource] and (idle > 0 or amount > real):
            limit = Shortage(resource=names[resource], wanted=amount, used=used, limit=real)
            holders = _holders(books, queue, resource)
            return Limit(Reason.RESERVED_FOR_OTHERS, Cure.LIMIT_CHANGES, parent, limit, holders)
        queue, used = parent, books.used[parent][resource]
    return None


def _reservation(books: Books, names: Sequence[str], leaf: int, resource: int, amount: int) -> Limit | None:
    short = books.gives_away(leaf, ((resource, amount),))
    if short is None:
        return None
    parent, used = short.queue, books.used[short.queue][resource]
    idle = books.real[parent][resource] - used
    if amount > idle:
        return real_capability(books, names, parent, resource, amount, used)
    limit = Shortage(resource=names[resource], wanted=amount, used=used, limit=used + short.available)
    branch = next(queue for queue in books.paths[leaf] if books.parent[queue] == parent)
    holders = _holders(books, branch, resource)
    return Limit(Reason.RESERVED_FOR_OTHERS, Cure.LIMIT_CHANGES, parent, limit, holders)


def _holders(books: Books, branch: int, resource: int) -> tuple[str, ...]:
    """The siblings of a queue that something is reserved for: of which something is idle, else all."""
    siblings = [
        one
        for one in range(1, len(books.rows))
        if books.parent[one] == books.parent[branch] and one != branch and books.guarantee[one][resource]
    ]
    idle = [one for one in siblings if books.guarantee[one][resource] > books.used[one][resource]]
    return tuple(books.rows[one].name for one in idle or siblings)
