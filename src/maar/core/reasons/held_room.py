"""Why groups wait where room is held: for their own planned start, or for that of others."""

from collections.abc import Sequence
from typing import Final

from maar.core.cycle.inspect import GroupState, Hold, Inspection
from maar.core.model.names import natural
from maar.core.model.reasons import Reason, Refusal

_FEW: Final = 3  # names in one message


def planned_start(inspection: Inspection, hold: Hold) -> Refusal:
    """Room is held for the group itself, until pods have ended."""
    planned, known = hold.planned, inspection.tables.nodes
    nodes = sorted({inspection.tables.node_list[node].name for node in planned.nodes.values()}, key=natural)
    return Refusal(
        reason=Reason.PLANNED_START,
        queue=hold.group.row.queue_name,
        others=tuple(nodes[:_FEW]),
        nodes=len(nodes),
        wanted=sum(pod in planned.leaving for name in nodes for pod in known[name].pods),
        until=planned.start,
    )


def room_held(inspection: Inspection, group: GroupState, holds: Sequence[Hold]) -> Refusal | None:
    """Room is held for others, without which the group would start now; the state does not count it."""
    if not inspection.would_start(group):
        return None
    starts = [one.planned.start for one in holds]
    return Refusal(
        reason=Reason.ROOM_HELD,
        queue=group.row.queue_name,
        others=tuple(one.group.row.key for one in holds),
        until=None if None in starts else max(one for one in starts if one is not None),
    )
