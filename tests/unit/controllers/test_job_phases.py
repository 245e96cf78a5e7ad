"""The table of transitions is complete, and is what its drawing and the specification say."""

import re
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, get_args

import pytest

from maar.core.controllers.jobs import phases
from maar.core.controllers.jobs.counting import unwanted
from maar.core.controllers.jobs.phases import TRANSITIONS, after_order
from maar.core.controllers.jobs.pods import TASK_INDEX, JobPod, job_pod
from maar.core.model.job import (
    ACTIVE_JOBS,
    FINISHED_JOBS,
    JOB_ACTIONS,
    Job,
    JobPhase,
    JobSpec,
    JobState,
    JobStatus,
    Restart,
    RestartTarget,
    Task,
)
from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod import TASK_ANNOTATION, Pod, PodPhase, PodStatus

PAGE: Final = Path(__file__).parents[3] / "docs" / "specification" / "jobs.md"
PHASES: Final = ("", *get_args(JobPhase))

Arrow = tuple[str, str, str]  # a phase, an action or nothing, the next phase


def test_every_phase_says_what_every_action_does() -> None:
    assert sorted(TRANSITIONS) == sorted(PHASES)
    assert all(sorted(row.orders) == sorted(JOB_ACTIONS) for row in TRANSITIONS.values())


def test_a_phase_leads_on_unless_the_job_is_over() -> None:
    is_last = {phase for phase, row in TRANSITIONS.items() if not row.conditions}
    assert is_last == set(FINISHED_JOBS)


def test_restarts_are_retries_unless_one_is_under_way() -> None:
    retries = {
        (phase, action)
        for phase, row in TRANSITIONS.items()
        for action, one in row.orders.items()
        if one is not None and one.is_retry
    }
    restarts = {action for action in JOB_ACTIONS if action.startswith("Restart")}
    assert retries == {(phase, action) for phase in ACTIVE_JOBS for action in restarts}


@pytest.mark.parametrize("action", JOB_ACTIONS)
@pytest.mark.parametrize("phase", PHASES)
def test_an_order_does_what_the_table_says(phase: JobPhase, action: str) -> None:
    status = JobStatus(state=JobState(phase=phase))
    if phase == "Restarting":
        other = Restart(action="RestartTask", targets=(RestartTarget(task="v"),))
        status = JobStatus(state=status.state, restart=other, restarts=1)
    spec = JobSpec(tasks=(Task(name="v"), Task(name="w", replicas=3)))
    job = Job(metadata=Metadata(name="j"), spec=spec, status=status)
    transition = TRANSITIONS[phase].orders[action]
    after = after_order(job, action, RestartTarget(task="w", index=2), datetime.now(UTC), ("", ""))
    if transition is None:
        assert after is None
        return
    assert after is not None
    pods = [pod_of(job, 0, "Running"), pod_of(job, 1, "Succeeded"), pod_of(job, 2, "Failed")]
    deleted = [pod.index for pod in pods if unwanted(job, after)(pod)]
    assert deleted == {"all": [0, 1, 2], "targets": [2], "unfinished": [0]}[transition.deletes]
    assert (after.state.phase, after.retry_count) == (transition.phase, int(transition.is_retry))


def test_the_drawing_shows_the_table() -> None:
    drawn = list(drawn_arrows(phases.__doc__ or ""))
    assert len(drawn) == len(set(drawn)), "an arrow is drawn twice"
    assert set(drawn) == arrows()


def test_the_specification_has_the_orders_of_the_table() -> None:
    header, *rows = table("| order |")
    groups = [tuple(name for name in PHASES if name and name in cell.split(", ")) for cell in header[1:]]
    groups[0] = ("", *groups[0])
    groups[-1] = tuple(set(PHASES).difference(*groups))
    found: set[Arrow] = set()
    for actions, *cells in rows:
        for number, (group, cell) in enumerate(zip(groups, cells, strict=True)):
            following = re.split(r"[:,]", cells[number - 1] if cell == "the same" else cell)[0]
            if following in PHASES:
                found |= {(phase, action, following) for phase in group for action in actions.split(", ")}
    assert found == {one for one in arrows() if one[1]}


def test_the_specification_has_what_follows_without_an_order() -> None:
    found: set[Arrow] = {("", "", "Pending")}  # it has no row for a job without a phase
    for names, _, cell in table("| phase |"):
        before = names.split(", ")
        outcomes = " ".join(re.split(r", (?:when|at)\b", clause)[0] for clause in cell.split(";"))
        after = [word for word in re.findall(r"\w+", outcomes) if word in PHASES]
        is_pairwise = len(before) > 1 and len(before) == len(after)
        pairs = zip(before, after, strict=True) if is_pairwise else ((a, b) for a in before for b in after)
        found |= {(one, "", following) for one, following in pairs if one in PHASES}
    assert found == {one for one in arrows() if not one[1]}


def pod_of(job: Job, index: int, phase: PodPhase) -> JobPod:
    """A pod of the first run of a job."""
    owner = OwnerReference(api_version=Job.api_version, kind="Job", name="j", controller=True)
    notes = {TASK_ANNOTATION: "w", TASK_INDEX: str(index)}
    name = f"{job.metadata.name}-w-{index}"
    metadata = Metadata(name=name, annotations=notes, owner_references=(owner,))
    pod = job_pod(Pod(metadata=metadata, status=PodStatus(phase=phase)))
    assert pod is not None
    return pod


def arrows() -> set[Arrow]:
    """The transitions of the table."""
    by_order = {
        (phase, action, one.phase)
        for phase, row in TRANSITIONS.items()
        for action, one in row.orders.items()
        if one is not None
    }
    return by_order | {
        (phase, "", after) for phase, row in TRANSITIONS.items() for _, after in row.conditions
    }


def drawn_arrows(text: str) -> list[Arrow]:
    """The transitions of a drawing: chains of phases; a line that begins with an arrow repeats its origin."""
    found: list[Arrow] = []
    origin: list[str] = []
    for line in text.splitlines():
        if not re.search(r"-->", line):
            continue
        first, *rest = re.split(r"\s*(<-->|--[\w*]*-->|-->)\s*", line.strip())
        before = origin = [one.replace("new", "") for one in first.split(" | ")] if first else origin
        for arrow, names in zip(rest[::2], rest[1::2], strict=True):
            after, label = names.split(" | "), arrow.strip("<->")
            actions = [action for action in JOB_ACTIONS if fnmatch(action, label)] if label else [""]
            found += [(one, action, two) for one in before for action in actions for two in after]
            if arrow.startswith("<"):
                found += [(two, "", one) for one in before for two in after]
            before = after
    return found


def table(start: str) -> list[list[str]]:
    """The cells of the table of the page that starts so, its head first."""
    lines = PAGE.read_text(encoding="utf-8").partition(f"\n{start}")[2].split("\n\n")[0].splitlines()
    rows = [f"{start}{lines[0]}", *lines[2:]]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
