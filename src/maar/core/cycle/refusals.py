"""Refusals of queues: which queue, and which of its limits, keeps a group from using more."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.queue_ledger import QueueLedger
from maar.core.fairshare.share_out import CONSTRAINTS
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.tables.axis import Needs

_CAPABILITY: Final = CONSTRAINTS.index("capability")
_PARENT: Final = CONSTRAINTS.index("parent")


class Limit(NamedTuple):
    """A limit that one resource of a request would exceed: of which queue, and by how much."""

    reason: Reason
    cure: Cure
    queue: int
    shortage: Shortage
    holders: tuple[str, ...] = ()  # the queues that something is reserved for


def beyond_deserved(ledger: QueueLedger, names: Sequence[str], leaf: int, needs: Needs) -> Refusal | None:
    """A leaf that would use more than it, or a queue above it, deserves."""
    return _refusal_if_any(ledger, (_deserved(ledger, names, leaf, *need) for need in needs))


def beyond_limits(ledger: QueueLedger, names: Sequence[str], leaf: int, needs: Needs) -> Refusal | None:
    """A leaf that would use more than ceilings, and reservations of others, allow."""
    return _refusal_if_any(
        ledger,
        (_ceiling(ledger, names, leaf, *need) or _reservation(ledger, names, leaf, *need) for need in needs),
    )


def combined_refusal(
    ledger: QueueLedger, limits: Sequence[Limit], *, more_nodes_help: bool = False
) -> Refusal:
    """Make one refusal of all limits; resources with the same limit are together, and order is kept."""
    same: dict[tuple[Reason, Cure, int], list[Limit]] = {}
    for limit in limits:
        same.setdefault((limit.reason, limit.cure, limit.queue), []).append(limit)
    first, *further = [
        Refusal(
            reason=reason,
            cure=cure,
            more_nodes_help=more_nodes_help,
            queue=ledger.rows[queue].name,
            shortages=tuple(one.shortage for one in found),
            others=tuple(dict.fromkeys(name for one in found for name in one.holders)),
        )
        for (reason, cure, queue), found in same.items()
    ]
    return msgspec.structs.replace(first, further=tuple(further))


def behind_first(group: GroupState, first: GroupState) -> Refusal:
    """A group whose queue is first in, first out, and whose first group waits."""
    reason, name = Reason.BEHIND_FIRST_IN_QUEUE, group.row.queue_name
    return Refusal(reason=reason, queue=name, others=(first.row.key,))


def _refusal_if_any(ledger: QueueLedger, limits: Iterable[Limit | None]) -> Refusal | None:
    found = [limit for limit in limits if limit is not None]
    return combined_refusal(ledger, found) if found else None


def _deserved(
    ledger: QueueLedger, names: Sequence[str], leaf: int, resource: int, amount: int
) -> Limit | None:
    """The queue that binds: the one above where all of its share is used and it would exceed that too.

    What a queue above reserves for a sibling is not counted as its own shortage.
    """
    short = ledger.beyond(leaf, ((resource, amount),), ledger.deserved)
    if short is None:
        return None
    queue, binding = short.queue, ledger.shares.binding[resource]
    while queue:
        above = ledger.parent[queue]
        has_all = ledger.deserved[queue][resource] >= ledger.deserved[above][resource]
        if not (has_all or binding[queue] == _PARENT):
            break
        if ledger.used[above][resource] + amount <= ledger.deserved[above][resource]:
            break
        queue = above
    if not queue:  # the cluster itself is short of it
        return None
    # What a leaf declares to ask for may be less than what its pods do, and then it is not given more.
    is_declared = (
        short.queue == leaf
        and ledger.rows[leaf].queue.spec.request is not None
        and _deserves_all(ledger, leaf, resource)
    )
    queue = leaf if is_declared else queue
    limit = Shortage(
        resource=names[resource],
        wanted=amount,
        used=ledger.used[queue][resource],
        limit=ledger.deserved[queue][resource],
    )
    if binding[queue] == _CAPABILITY:
        return Limit(Reason.QUEUE_AT_CAPABILITY, Cure.LIMIT_CHANGES, queue, limit)
    if is_declared:
        return Limit(Reason.QUEUE_AT_FAIR_SHARE, Cure.SOMEBODY_ACTS, queue, limit)
    cure = Cure.OTHERS_FINISH if _deserves_all(ledger, queue, resource) else Cure.SHARE_GROWS
    return Limit(Reason.QUEUE_AT_FAIR_SHARE, cure, queue, limit)


def _deserves_all(ledger: QueueLedger, queue: int, resource: int) -> bool:
    """Whether a queue deserves all that is asked for there, so that its share does not grow.

    It uses more where a queue below it does: more than its capability, or than it declares to ask for.
    """
    return bool(ledger.shares.request[resource, queue] <= ledger.deserved[queue][resource])


def _ceiling(
    ledger: QueueLedger, names: Sequence[str], leaf: int, resource: int, amount: int
) -> Limit | None:
    short = ledger.beyond(leaf, ((resource, amount),), ledger.real)
    if short is None:
        return None
    return real_capability(ledger, names, short.queue, resource, amount, ledger.used)


def real_capability(
    ledger: QueueLedger,
    names: Sequence[str],
    queue: int,
    resource: int,
    amount: int,
    taken: Sequence[Sequence[int]],  # by queue: what is used, or at admission what was admitted
) -> Limit | None:
    """What makes up the real capability of a queue: a capability, or reservations of others.

    None where it is the cluster's size.
    """
    while queue:
        parent, real, used = ledger.parent[queue], ledger.real[queue][resource], taken[queue][resource]
        if int(ledger.claims.capability[resource, queue]) <= real:
            limit = Shortage(resource=names[resource], wanted=amount, used=used, limit=real)
            return Limit(Reason.QUEUE_AT_CAPABILITY, Cure.LIMIT_CHANGES, queue, limit)
        idle = ledger.real[parent][resource] - ledger.used[parent][resource]
        if real < ledger.real[parent][resource] and (idle > 0 or amount > real):
            limit = Shortage(resource=names[resource], wanted=amount, used=used, limit=real)
            holders = _holders(ledger, queue, resource)
            return Limit(Reason.RESERVED_FOR_OTHERS, Cure.LIMIT_CHANGES, parent, limit, holders)
        queue = parent
    return None


def _reservation(
    ledger: QueueLedger, names: Sequence[str], leaf: int, resource: int, amount: int
) -> Limit | None:
    short = ledger.gives_away(leaf, ((resource, amount),))
    if short is None:
        return None
    parent, used = short.queue, ledger.used[short.queue][resource]
    idle = ledger.real[parent][resource] - used
    if amount > idle:
        return real_capability(ledger, names, parent, resource, amount, ledger.used)
    limit = Shortage(resource=names[resource], wanted=amount, used=used, limit=used + short.available)
    branch = next(queue for queue in ledger.paths[leaf] if ledger.parent[queue] == parent)
    holders = _holders(ledger, branch, resource)
    return Limit(Reason.RESERVED_FOR_OTHERS, Cure.LIMIT_CHANGES, parent, limit, holders)


def _holders(ledger: QueueLedger, branch: int, resource: int) -> tuple[str, ...]:
    """The siblings of a queue that something is reserved for: of which something is idle, else all."""
    siblings = [
        one
        for one in range(1, len(ledger.rows))
        if ledger.parent[one] == ledger.parent[branch] and one != branch and ledger.guarantee[one][resource]
    ]
    idle = [one for one in siblings if ledger.guarantee[one][resource] > ledger.used[one][resource]]
    return tuple(ledger.rows[one].name for one in idle or siblings)
