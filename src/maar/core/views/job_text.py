"""One job as people read it: how far it is, why it waits, its tasks, pods, phases and events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from maar.core.model.job import Job
from maar.core.model.pod_group import PodGroup
from maar.core.views.drawing import WIDTH, Line, Note, Part, Row, paragraph, table
from maar.core.views.job_rows import duration, job_status, pod_state, since
from maar.core.views.job_summary import EventSummary, PodSummary, newest_last

STYLES: Final = {
    "Running": "green",
    "Completed": "green",
    "Succeeded": "green",
    "Succeed": "green",
    "Failed": "red",
    "Error": "red",
    "Terminated": "red",
    "Aborted": "magenta",
    "Aborting": "magenta",
    "Warning": "yellow",
    "Pending": "yellow",
    "Restarting": "yellow",
}
_PHASES: Final = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_MOST_PODS: Final = 50
_MOST_EVENTS: Final = 20
_LONGEST_HISTORY: Final = 10
_BLANK: Final[Line] = (Part(""),)


@dataclass(frozen=True)
class JobView:
    """A job with what belongs to it, as far as it could be read."""

    job: Job
    group: PodGroup | None
    pods: Sequence[PodSummary]
    events: Sequence[EventSummary]


def job_lines(view: JobView, now: float, width: int = WIDTH) -> Iterator[Line]:
    """Draw a job."""
    yield from _header(view.job, now, width)
    yield from _waits(view, width)
    yield from _tasks(view.job, width)
    yield from _pods(view, now, width)
    yield from _history(view.job, now, width)
    yield from event_lines(view.events, now, width)


def _header(job: Job, now: float, width: int) -> Iterator[Line]:
    spec, status, phase = job.spec, job.status, job.phase
    queue = Part(f"  in queue {spec.queue}")
    yield (Part(f"job {job.key}  "), Part(job_status(job), STYLES.get(phase, "")), queue)
    counts = [(status.pending, "pending"), (status.running, "running"), (status.succeeded, "succeeded")]
    counts += [(status.failed, "failed"), (status.terminating, "terminating"), (status.unknown, "unknown")]
    pods = [f"{count} {word}" for count, word in counts if count]
    facts = [
        f"{spec.replicas} {'pod' if spec.replicas == 1 else 'pods'}: {', '.join(pods) or 'none made yet'}",
        f"at least {job.minimum} together",
        f"{status.retry_count} of {spec.max_retry} retries",
    ]
    facts += [f"priority class {spec.priority_class_name}"] if spec.priority_class_name else []
    facts += [f"plugins {', '.join(sorted(spec.plugins))}"] if spec.plugins else []
    facts += [f"made {since(job.metadata.creation_timestamp, now)} ago"]
    if (ran := duration(job, now)) != "<none>":
        facts.append(f"{'runs' if phase == 'Running' else 'ran'} for {ran}")
    yield from paragraph(Part("; ".join(facts)), width)


def _waits(view: JobView, width: int) -> Iterator[Line]:
    """Say why the job waits, as its status and its pod group have it, each sentence once."""
    state = view.job.status.state
    said: list[str] = []
    if state.message:
        said.append(" ".join(state.message.split()))
    if view.group is not None and not view.job.is_over and view.job.phase != "Running":
        waiting = [one for one in view.group.status.conditions if one.type == "Unschedulable"]
        for one in waiting:
            text = " ".join(one.message.split())
            if one.status == "True" and text and not any(text in before for before in said):
                said.append(f"pod group {view.group.metadata.name}: {text}")
    for sentence in said:
        yield _BLANK
        yield from paragraph(Part(sentence, STYLES.get(view.job.phase, "")), width)


def _tasks(job: Job, width: int) -> Iterator[Line]:
    counts = job.status.task_status_count
    rows = []
    for task in job.spec.tasks:
        found = counts[task.name].phase if task.name in counts else {}
        numbers = [Part(str(found.get(phase, 0) or "-")) for phase in _PHASES]
        before = Part(", ".join(task.depends_on.name if task.depends_on else ()) or "-")
        cells = (Part(str(task.replicas)), Part(str(task.least)), *numbers, before)
        rows.append(Row(task.name, "", cells))
    if rows:
        headings = ("TASK", " PODS", " MIN", *(f" {phase.upper()}" for phase in _PHASES), "AFTER")
        yield _BLANK
        yield from table(headings, rows, width)


def _pods(view: JobView, now: float, width: int) -> Iterator[Line]:
    pods = view.pods
    rows: list[Row | Note] = []
    for pod in sorted(pods, key=lambda one: one.order)[:_MOST_PODS]:
        ready, status, restarts = pod_state(pod)
        cells = (
            Part(ready),
            Part(status, STYLES.get(status, "")),
            Part(restarts),
            Part(since(pod.metadata.creation_timestamp, now)),
            Part(pod.spec.node_name or "-"),
        )
        rows.append(Row(pod.metadata.name, "", cells))
    if rows:
        yield _BLANK
        yield from table(("POD", " READY", "STATUS", " RESTARTS", " AGE", "NODE"), rows, width)
    if len(pods) > _MOST_PODS:
        more = len(pods) - _MOST_PODS
        name = view.job.metadata.name
        yield (Part(f"and {more} more; maar pod list -j {name} has them all", "dim"),)


def _history(job: Job, now: float, width: int) -> Iterator[Line]:
    changes = job.status.conditions[-_LONGEST_HISTORY:]
    rows = []
    for one in changes:
        moment = one.last_transition_time
        rows.append(Row(one.status, "", (Part(since(moment, now)), Part(_moment(moment)))))
    if rows:
        yield _BLANK
        yield from table(("PHASE", " AGO", "AT"), rows, width)


def event_lines(events: Sequence[EventSummary], now: float, width: int) -> Iterator[Line]:
    """Draw events, the newest last."""
    shown = newest_last(events)[-_MOST_EVENTS:]
    rows: list[Row | Note] = []
    for one in shown:
        times = f" (x{one.times})" if one.times > 1 else ""
        label = f"{since(one.last_seen, now)}{times}".ljust(10)
        text = f"{one.reason}: {' '.join(one.message.split())}"
        rows.append(Note(label, " " * len(label), Part(text, STYLES.get(one.type, ""))))
    if rows:
        yield _BLANK
        yield from table(("EVENTS",), rows, width)


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else str(moment).replace("+00:00", " UTC")
