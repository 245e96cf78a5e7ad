"""When a simulation need not write a status: decisions would read the same of it."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.metadata import Metadata
from maar.core.model.plan import GroupOutcome
from maar.core.model.pod_group import PodGroup, PodGroupCondition, PodGroupStatus
from maar.core.model.reasons import Reason, Refusal
from maar.core.reporting.group_status import group_status, says
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.reading import read_group

NOW = datetime(2026, 6, 1, tzinfo=UTC)
EARLIER = datetime(2026, 5, 1, tzinfo=UTC)
PHASES = ("Pending", "Inqueue", "Running", "Unknown", "Completed")

conditions = st.lists(
    st.builds(
        PodGroupCondition,
        type=st.sampled_from(["Unschedulable", "Admitted", "HoldsRoom", "Scheduled"]),
        status=st.sampled_from(["True", "False"]),
        last_transition_time=st.just(EARLIER),
    ),
    unique_by=lambda one: one.type,
)
statuses = st.builds(PodGroupStatus, phase=st.sampled_from(["", *PHASES]), conditions=conditions.map(tuple))
outcomes = st.builds(
    GroupOutcome,
    phase=st.sampled_from(PHASES),
    refusal=st.none()
    | st.sampled_from([Reason.PLANNED_START, Reason.QUEUE_AT_FAIR_SHARE]).map(
        lambda one: Refusal(reason=one)
    ),
    is_unschedulable=st.booleans(),
)


@given(old=statuses, outcome=outcomes)
def test_a_status_says_an_outcome_where_decisions_read_the_same_with_it(
    old: PodGroupStatus, outcome: GroupOutcome
) -> None:
    new = group_status(old, read_group(PodGroup(), ResourceAxis()), outcome, NOW)
    assert says(new, outcome)
    assert says(old, outcome) == (what_is_read(old) == what_is_read(new))


def what_is_read(status: PodGroupStatus) -> tuple[object, ...]:
    """What decisions read of a status; one without a phase is written in any case."""
    group = PodGroup(metadata=Metadata(name="one"), status=status)
    row = read_group(group, ResourceAxis())
    return status.phase, row.unschedulable_since, row.admitted_since, row.holds_since
