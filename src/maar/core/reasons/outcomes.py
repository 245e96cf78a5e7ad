"""What becomes of every group after a cycle: its phase, and why it waits."""

from collections.abc import Sequence
from typing import Final, get_args

import msgspec

from maar.core.cycle.inspect import Block, GroupClass, GroupState, Hold, Inspection
from maar.core.model.plan import GroupOutcome
from maar.core.model.pod_group import PodGroupPhase
from maar.core.model.reasons import Cure, Reason, Refusal
from maar.core.reasons.diagnosis import Diagnosis
from maar.core.reasons.known_outcomes import KnownOutcomes
from maar.core.reasons.sentences import Sentences
from maar.core.tables.groups import ADMITTED_PHASES, missing_group_key, phase_with
from maar.core.tables.rows import GroupRow, PodRow

_WELL: Final = {phase: GroupOutcome(phase=phase) for phase in get_args(PodGroupPhase)}
_BEHIND_FIRST: Final = Reason.BEHIND_FIRST_IN_QUEUE
_BRIEF: Final = {  # by phase, what holds the group, and whether it is unschedulable
    (phase, reason, is_unschedulable): GroupOutcome(
        phase=phase,
        refusal=Refusal(reason=reason) if reason is not None else None,
        is_unschedulable=is_unschedulable,
    )
    for phase in get_args(PodGroupPhase)
    for reason in (None, Reason.NOT_ENOUGH_RESOURCES, Reason.PLANNED_START)
    for is_unschedulable in (False, True)
}
_WAITS: Final = _BRIEF["Inqueue", Reason.NOT_ENOUGH_RESOURCES, True]


def outcomes(inspection: Inspection, sentences: Sentences, *, is_brief: bool) -> dict[str, GroupOutcome]:
    """What becomes of every group that the cycle looked at, or that is not where it should be."""
    with inspection.without_held_room() as holds:
        if is_brief:
            return _brief(inspection, holds)
        return _diagnosed(inspection, sentences, Diagnosis(inspection, holds))


def _brief(inspection: Inspection, holds: Sequence[Hold]) -> dict[str, GroupOutcome]:
    """The same of groups that do not stay as they are, without reasons: whether there is one.

    That room is held for a group is no reason only: those who have held it before start first.
    """
    outcomes, diagnosis = dict[str, GroupOutcome](), Diagnosis(inspection, ())
    holding = [hold.group for hold in holds]
    for block in inspection.blocks:
        if not inspection.is_read(block):
            is_unschedulable = inspection.are_turns_over and not block.key.is_ready
            outcome = _BRIEF["Inqueue", Reason.NOT_ENOUGH_RESOURCES, is_unschedulable]
            for one in block.classes:
                outcomes.update(dict.fromkeys(_without_status(one, one.keys, outcome), outcome))
    of_groups = dict[GroupState, GroupOutcome]()
    for keys, group in inspection.touched():
        if group not in of_groups:
            phase = _phase(inspection, group)
            waits = group.leaf >= 0 and group.phase in ADMITTED_PHASES and bool(group.pending)
            is_held = waits or diagnosis.of(group) is not None
            reason = Reason.NOT_ENOUGH_RESOURCES if is_held else None
            if group in holding and (group.refusal is None or group.refusal.reason != _BEHIND_FIRST):
                reason = Reason.PLANNED_START
            of_groups[group] = _BRIEF[phase, reason, group.was_unschedulable]
        outcome = of_groups[group]
        outcomes.update(dict.fromkeys(_without_status(group.of_class, keys, outcome), outcome))
    return outcomes


def _without_status(one: GroupClass | None, keys: Sequence[str], outcome: GroupOutcome) -> Sequence[str]:
    """Those of some groups of a class whose statuses do not say already that they wait."""
    if one is None or outcome is not _WAITS:
        return keys
    return [key for key in keys if key in one.without_status] if one.without_status else ()


def _diagnosed(inspection: Inspection, sentences: Sentences, diagnosis: Diagnosis) -> dict[str, GroupOutcome]:
    known = KnownOutcomes(inspection, diagnosis)
    blocks, outcomes = _known_blocks(inspection, known)
    of_groups = dict[GroupState, GroupOutcome]()
    for keys, group in inspection.looked_at():
        if isinstance(group, GroupRow):
            outcomes[group.key] = _WELL[group.phase_if_well]
        elif group.of_class is None or group.of_class.block not in blocks:
            outcome = of_groups.get(group)
            if outcome is None:
                outcome = of_groups[group] = _outcome_of(inspection, group, known, sentences)
            outcomes.update(dict.fromkeys(keys, outcome))
    for block in inspection.blocks:
        if block not in blocks:
            known.keep_block(block, outcomes)
    for pod in inspection.tables.orphans.values():
        key = missing_group_key(pod)
        if key not in outcomes:
            refusal = _group_missing(inspection, pod)
            outcomes[key] = GroupOutcome(phase="Pending", refusal=refusal, message=sentences.of(refusal))
    return outcomes


def _known_blocks(inspection: Inspection, known: KnownOutcomes) -> tuple[set[Block], dict[str, GroupOutcome]]:
    """The blocks whose outcomes are those of the last cycle, and these; the states of others are read."""
    blocks, outcomes = set[Block](), dict[str, GroupOutcome]()
    for block in inspection.blocks:
        found = known.find_block(block)
        if found is None:
            inspection.of_block(block)
        else:
            blocks.add(block)
            outcomes.update(found)
    return blocks, outcomes


def _outcome_of(
    inspection: Inspection, group: GroupState, known: KnownOutcomes, sentences: Sentences
) -> GroupOutcome:
    """The outcome of a group that is asked about by itself."""
    evidence, outcome = known.find(group) if group.pending else (None, None)
    if outcome is None:
        refusal = _with_circle(inspection, group, known.diagnosis.of(group))
        outcome = _outcome(inspection, group, refusal, sentences)
        if evidence is not None:
            known.keep(group, evidence, outcome)
    return outcome


def _with_circle(inspection: Inspection, group: GroupState, refusal: Refusal | None) -> Refusal | None:
    """Add to a refusal that a half gang waits for others which wait for it."""
    if refusal is None or group.row.key not in inspection.decided.circles:
        return refusal
    keys, until = inspection.decided.circles[group.row.key]
    return msgspec.structs.replace(refusal, circle=keys, until=until)


def _outcome(
    inspection: Inspection, group: GroupState, refusal: Refusal | None, sentences: Sentences
) -> GroupOutcome:
    phase, message = _phase(inspection, group), ""
    if refusal is None and not group.was_unschedulable:
        return _WELL[phase]
    if refusal is not None:
        message = _while_suspended(group.row, sentences.of(refusal))
    return GroupOutcome(
        phase=phase, refusal=refusal, message=message, is_unschedulable=group.was_unschedulable
    )


def _while_suspended(row: GroupRow, message: str) -> str:
    """What a group waits for whose Job is suspended, after why it has no pods."""
    if row.suspended_for is None:
        return message
    purpose = f" for {row.suspended_for}" if "/" in row.suspended_for else f" by {row.suspended_for}"
    return (
        f"its pods were evicted{purpose}, and Maar has suspended their Job, which is resumed when its turn "
        f"comes; {message}"
    )


def _group_missing(inspection: Inspection, pod: PodRow) -> Refusal:
    """A pod's group does not exist; namespaces that have a group of that name are named too."""
    groups, name = inspection.tables.groups, pod.group_key.partition("/")[2]
    elsewhere = [one for one in inspection.tables.namespaces if f"{one}/{name}" in groups] if name else []
    named = (pod.group_key, *sorted(elsewhere)) if name else ()
    return Refusal(reason=Reason.POD_GROUP_MISSING, cure=Cure.SOMEBODY_ACTS, others=named)


def _phase(inspection: Inspection, group: GroupState) -> PodGroupPhase:
    """The phase that the pods on nodes give, those bound in this cycle included."""
    row, gone, bound = group.row, inspection.decided.gone, inspection.decided.binds
    if row.phase == "Completed":
        return "Completed"
    is_well = not (row.key in inspection.tables.waiting or gone or group.was_unschedulable)
    if is_well and group.phase == row.phase:
        return row.phase_if_well
    there = [pod for key, pod in row.pods.items() if (pod.node_name and key not in gone) or key in bound]
    return phase_with(row, group.phase, there, is_unschedulable=group.was_unschedulable)
