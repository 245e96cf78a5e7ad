"""The status of pod groups: phase, conditions and counters, as the cycle and the pods give them."""

from datetime import datetime
from typing import Final

import msgspec

from maar.core.model.differences import difference
from maar.core.model.plan import GroupOutcome
from maar.core.model.pod_group import READY_ANNOTATION, PodGroup, PodGroupCondition, PodGroupStatus
from maar.core.model.reasons import Reason
from maar.core.model.writes import SetStatus
from maar.core.tables.groups import phase_at_rest, ready_with
from maar.core.tables.rows import GroupRow

_LET_IN: Final = "its queue has room for what it needs, or may make it by evictions"


def group_write(
    group: PodGroup, row: GroupRow, outcome: GroupOutcome | None, now: datetime
) -> SetStatus | None:
    """What to write about a group after a cycle; `outcome` is None where the plan does not have it."""
    status = group_status(group.status, row, outcome, now.replace(microsecond=0))
    patch = difference(group.status, status)
    notes = _last_ready(group, row)
    if not patch and not notes:
        return None
    return SetStatus(kind="PodGroup", key=group.key, status=patch, annotations=notes)


def _last_ready(group: PodGroup, row: GroupRow) -> dict[str, str]:
    """With which minMember a group is ready, kept for when that is raised (decision 23)."""
    least = ready_with(row)
    if least is None or group.metadata.annotations.get(READY_ANNOTATION) == str(least):
        return {}
    return {READY_ANNOTATION: str(least)}


def is_news(group: PodGroup, reason: Reason) -> bool:
    """Whether a group is held for another reason than its status says."""
    return all(one.reason != reason for one in group.status.conditions if one.type == "Unschedulable")


def says(status: PodGroupStatus, outcome: GroupOutcome) -> bool:
    """Whether a status has already what decisions read of it, after a cycle with this outcome."""
    phase, reason = outcome.phase, outcome.refusal.reason if outcome.refusal is not None else None
    if status.phase != phase:
        return False
    holds = [one.type for one in status.conditions if one.status == "True"]
    is_stuck = reason is not None and (outcome.is_unschedulable or phase == "Pending")
    return (
        ("Unschedulable" in holds) == is_stuck
        and ("HoldsRoom" in holds) == (reason == Reason.PLANNED_START)
        and (phase not in ("Inqueue", "Pending") or ("Admitted" in holds) == (phase == "Inqueue"))
    )


def group_status(
    old: PodGroupStatus, row: GroupRow, outcome: GroupOutcome | None, now: datetime
) -> PodGroupStatus:
    """The status of a group after a cycle that may have said something about it."""
    pods = row.pods.values()
    phase = phase_at_rest(row) if outcome is None else outcome.phase
    conditions = {one.type: one for one in old.conditions}
    wanted = []
    if outcome is not None and outcome.refusal is not None:
        # A group that is ready and waits for more pods is not unschedulable, but says what they wait for.
        stuck = outcome.is_unschedulable or phase == "Pending"
        wanted.append(_condition("Unschedulable", stuck, str(outcome.refusal.reason), outcome.message))
    elif "Unschedulable" in conditions:
        wanted.append(_condition("Unschedulable", False, "", ""))
    if phase == "Inqueue":
        wanted.append(_condition("Admitted", True, "Admitted", _LET_IN))
    elif phase == "Pending" and "Admitted" in conditions:
        wanted.append(_condition("Admitted", False, "NotAdmitted", "it waits for admission"))
    refusal = None if outcome is None else outcome.refusal
    if outcome is not None and refusal is not None and refusal.reason == Reason.PLANNED_START:
        wanted.append(_condition("HoldsRoom", True, str(refusal.reason), outcome.message))
    elif "HoldsRoom" in conditions:
        wanted.append(_condition("HoldsRoom", False, "", ""))
    if phase in ("Running", "Completed"):
        wanted.append(_condition("Scheduled", True, "Scheduled", "enough pods have their nodes"))
    elif "Scheduled" in conditions:
        wanted.append(_condition("Scheduled", False, "NotReady", "fewer pods than minMember have nodes"))
    for one in wanted:
        before = conditions.get(one.type)
        since = before.last_transition_time if before and before.status == one.status else now
        conditions[one.type] = msgspec.structs.replace(one, last_transition_time=since)
    return msgspec.structs.replace(
        old,
        phase=phase,
        conditions=tuple(conditions.values()),
        running=sum(pod.is_running for pod in pods),
        succeeded=sum(pod.has_succeeded for pod in pods),
        failed=sum(not pod.is_live and not pod.has_succeeded for pod in pods),
        planned_start=None if phase in ("Running", "Completed") else old.planned_start,
    )


def _condition(kind: str, holds: bool, reason: str, message: str) -> PodGroupCondition:  # noqa: FBT001
    return PodGroupCondition(type=kind, status="True" if holds else "False", reason=reason, message=message)
