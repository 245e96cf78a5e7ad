"""The plan of a cycle: what was decided, how the queues stand, and why groups wait, as a value."""

from collections import Counter

from maar.core.cycle.inspect import Hold, Inspection
from maar.core.model.plan import Plan, RoomHold
from maar.core.model.writes import Bind, Evict, Nominate
from maar.core.reasons.outcomes import outcomes
from maar.core.reasons.sentences import Sentences
from maar.core.reporting.standings import standings


def plan_of(inspection: Inspection, *, is_brief: bool = False) -> Plan:
    """Make the plan of what a cycle has decided; a brief one leaves out what no later decision reads."""
    decided, sentences = inspection.decided, Sentences(inspection)
    nodes, known = inspection.tables.node_list, inspection.tables.pods
    return Plan(
        queues=standings(inspection),
        binds=tuple([Bind(pod=key, node=nodes[node].name) for key, node in decided.binds.items()]),
        evictions=tuple(
            Evict(
                pod=one.pod.key,
                action=one.action,
                beneficiary=one.beneficiary.key if one.beneficiary else None,
                why=sentences.why_evicted(one),
                with_job=one.pod.batch_job in decided.suspended_jobs,
            )
            for one in decided.evictions
        ),
        nominations=tuple(
            Nominate(pod=key, node=nodes[node].name)
            for key, node in decided.promises.items()
            if not known[key].is_to_come
        ),
        resumptions=tuple(decided.resumptions),
        gate_removals=tuple(decided.gate_removals),
        selections=tuple(decided.selections),
        pod_groups=outcomes(inspection, sentences, is_brief=is_brief),
        held_room=tuple(_held(inspection, one) for one in decided.holds),
        decide_again_at=decided.decide_again_at,
    )


def _held(inspection: Inspection, hold: Hold) -> RoomHold:
    """Where room is held, and until when."""
    nodes = Counter(inspection.tables.node_list[node].name for node in hold.planned.nodes.values())
    return RoomHold(pod_group=hold.group.row.key, start=hold.planned.start, nodes=dict(sorted(nodes.items())))
