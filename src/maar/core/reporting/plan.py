"""The plan of a cycle: what was decided, how the queues stand, and why groups wait, as a value."""

from collections import Counter

from maar.core.cycle.evicting.batch_jobs import resumptions, suspended_jobs
from maar.core.cycle.gate.queue_gates import gates_to_remove
from maar.core.cycle.holding.held_room import Hold
from maar.core.cycle.state import State
from maar.core.model.plan import Plan, RoomHold
from maar.core.model.writes import Bind, Evict, Nominate
from maar.core.reasons.outcomes import outcomes
from maar.core.reasons.sentences import why_evicted
from maar.core.reporting.standings import standings


def plan_of(state: State, *, is_brief: bool = False) -> Plan:
    """Make the plan of what a cycle has decided; a brief one leaves out what no later decision reads."""
    nodes, with_jobs, known = (
        state.room.nodes,
        suspended_jobs(state) if state.evictions else (),
        state.tables.pods,
    )
    gated = [row for row in state.groups.classes.others.values() if row.has_queue_gate]
    return Plan(
        queues=standings(state),
        binds=tuple([Bind(pod=key, node=nodes[node].name) for key, node in state.bound.items()]),
        evictions=tuple(
            Evict(
                pod=one.pod.key,
                action=one.action,
                beneficiary=one.beneficiary.key if one.beneficiary else None,
                why=why_evicted(state, one),
                with_job=one.pod.batch_job in with_jobs,
            )
            for one in state.evictions
        ),
        nominations=tuple(
            Nominate(pod=key, node=nodes[node].name)
            for key, node in state.promised.items()
            if not known[key].is_to_come
        ),
        resumptions=tuple(resumptions(state)) if state.promised else (),
        gate_removals=gates_to_remove(state, gated) if gated else (),
        selections=tuple(state.places.claims.selections(state.selections) if state.selections else ()),
        pod_groups=outcomes(state, is_brief=is_brief),
        held_room=tuple(_held(state, one) for one in state.held_room.holds),
        decide_again_at=min((one for one in state.times_to_come if one > state.now), default=None),
    )


def _held(state: State, hold: Hold) -> RoomHold:
    """Where room is held, and until when."""
    nodes = Counter(state.room.nodes[node].name for node in hold.planned.nodes.values())
    return RoomHold(pod_group=hold.group.row.key, start=hold.planned.start, nodes=dict(sorted(nodes.items())))
