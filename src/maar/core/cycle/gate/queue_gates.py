"""Volcano's own scheduling gate: which pods are let go because their queue has room for them.

Users put the gate `scheduling.volcano.sh/queue-allocation-gate` on pods that autoscalers must not
see while only the queue holds them. It is removed once the queue, and all above it, would stay
within real capability with the pod, and with all whose gate was removed before and that still wait.
What makes a group ready is let go together, then one pod after the other. Pods with other gates
wait for those first.
"""

from collections.abc import Iterable, Iterator

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.state import State
from maar.core.model.writes import RemoveGate
from maar.core.tables.counting import together
from maar.core.tables.groups import ADMITTED_PHASES, lacks_gated_pods
from maar.core.tables.rows import GroupRow, PodRow


def gates_to_remove(state: State, gated: Iterable[GroupRow]) -> tuple[RemoveGate, ...]:
    """The pods whose gate is removed, in order: groups by priority and age, in a group as they are placed."""
    rows = sorted(gated, key=lambda row: (-row.priority, row.order))
    groups = [group for group in map(state.group, rows) if group.leaf != NOWHERE]
    released = list[PodRow]()
    with state.trial():
        for group in groups:
            state.charge(group, together(_released_before(state, group)))
        for group in groups:
            for pods in _steps(state, group) if _may_start(group) else ():
                needs = together(pods)
                if state.ledger.beyond(group.leaf, needs, state.ledger.real) is not None:
                    break
                state.charge(group, needs)
                released += pods
    return tuple(RemoveGate(pod=pod.key) for pod in released)


def _may_start(group: GroupState) -> bool:
    return group.phase in ADMITTED_PHASES or lacks_gated_pods(group.row)


def _released_before(state: State, group: GroupState) -> list[PodRow]:
    """The pods that have been let go and have no place yet."""
    return [pod for pod in state.without_place(group.row.pending) if pod.queue_gate == "removed"]


def _steps(state: State, group: GroupState) -> Iterator[list[PodRow]]:
    """The gated pods of a group: what makes it ready together, then each by itself."""
    gated = sorted(_gated(group.row), key=state.pod_order)
    missing = max(0, group.row.min_member - group.placed - len(state.without_place(group.row.pending)))
    if missing > len(gated):
        return  # others have other gates, or do not exist
    if missing:
        yield gated[:missing]
    yield from ([pod] for pod in gated[missing:])


def _gated(row: GroupRow) -> Iterator[PodRow]:
    closed = (pod for pod in row.pods.values() if pod.queue_gate == "closed")
    return (pod for pod in closed if pod.is_live and not pod.node_name)
