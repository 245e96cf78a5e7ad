"""Why groups wait where room is held: for their own planned start, or for that of others."""

from collections.abc import Sequence
from typing import Final

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.holding.held_room import Hold
from maar.core.cycle.holding.sla import would_start
from maar.core.cycle.state import State
from maar.core.model.names import natural
from maar.core.model.reasons import Reason, Refusal

_FEW: Final = 3  # names in one message


def planned_start(state: State, hold: Hold) -> Refusal:
    """Room is held for the group itself, until pods have ended."""
    planned, known = hold.planned, state.tables.nodes
    nodes = sorted({state.room.nodes[node].name for node in planned.nodes.values()}, key=natural)
    return Refusal(
        reason=Reason.PLANNED_START,
        queue=hold.group.row.queue_name,
        others=tuple(nodes[:_FEW]),
        nodes=len(nodes),
        wanted=sum(pod in planned.leaving for name in nodes for pod in known[name].pods),
        until=planned.start,
    )


def room_held(state: State, group: GroupState, holds: Sequence[Hold]) -> Refusal | None:
    """Room is held for others, without which the group would start now; the state does not count it."""
    if not would_start(state, group):
        return None
    starts = [one.planned.start for one in holds]
    return Refusal(
        reason=Reason.ROOM_HELD,
        queue=group.row.queue_name,
        others=tuple(one.group.row.key for one in holds),
        until=None if None in starts else max(one for one in starts if one is not None),
    )
