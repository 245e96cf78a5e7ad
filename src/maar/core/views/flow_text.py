"""One flow or cron job as people read it: the graph of a flow's jobs with their phases, and what was made.

A flow is drawn as a tree below its name. A job that waits for several stands below the one that is
farthest from the start; the column AFTER has them all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from maar.core.model.cron_job import CronJob
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow
from maar.core.views.drawing import WIDTH, Line, Part, Row, branches, paragraph, table
from maar.core.views.flow_rows import flow_phase
from maar.core.views.job_rows import job_cells, job_status, since
from maar.core.views.job_summary import EventSummary, created
from maar.core.views.job_text import STYLES, event_lines


@dataclass(frozen=True)
class FlowView:
    """A flow, its jobs and its events."""

    flow: JobFlow
    jobs: Sequence[Job]
    events: Sequence[EventSummary]


@dataclass(frozen=True)
class CronView:
    """A cron job, the jobs that it has made and that are still there, and its events."""

    cron: CronJob
    jobs: Sequence[Job]
    events: Sequence[EventSummary]


def flow_lines(view: FlowView, now: float, width: int = WIDTH) -> Iterator[Line]:
    """Draw a flow."""
    flow, jobs = view.flow, {job.metadata.name: job for job in view.jobs}
    steps, phase = flow.spec.flows, flow_phase(flow)
    done = len(flow.status.completed_jobs)
    made = since(flow.metadata.creation_timestamp, now)
    facts = f"  {done} of {len(steps)} jobs completed; made {made} ago"
    yield (Part(f"flow {flow.key}  "), Part(phase, STYLES.get(phase, "")), Part(facts))
    targets = {step.name: step.depends_on.targets if step.depends_on else () for step in steps}
    top = "\0"  # no name of a job
    rows = []
    for place in branches(_below(targets, top), top):
        if place.name == top:
            rows.append(
                Row(flow.metadata.name, place.below, (Part(phase, STYLES.get(phase, "")), *[Part("")] * 4))
            )
        else:
            rows.append(
                Row(place.before + place.name, place.below, _step_cells(flow, place.name, targets, jobs, now))
            )
    yield (Part(""),)
    yield from table(("FLOW", "STATUS", "PODS", " RETRIES", " AGE", "AFTER"), rows, width)
    yield from event_lines(view.events, now, width)


def _step_cells(
    flow: JobFlow,
    step: str,
    targets: Mapping[str, Sequence[str]],
    jobs: Mapping[str, Job],
    now: float,
) -> tuple[Part, ...]:
    after = Part(", ".join(targets[step]) or "-")
    name = f"{flow.metadata.name}-{step}"
    job, kept = jobs.get(name), flow.status.conditions.get(name)
    if job is not None:
        _, _, _, pods, retries, age = job_cells(job, now, False)
        return Part(job_status(job), STYLES.get(job.phase, "")), Part(pods), Part(retries), Part(age), after
    if kept is not None and kept.phase:  # a job that was deleted when it had ended
        blank = Part("-")
        return (
            Part(kept.phase, STYLES.get(kept.phase, "")),
            blank,
            blank,
            Part(since(kept.create_time, now)),
            after,
        )
    blank = Part("-")
    return Part("not made yet", "dim"), blank, blank, blank, after


def _below(targets: Mapping[str, Sequence[str]], top: str) -> dict[str, list[str]]:
    """Which jobs are drawn below which: each below the target that is farthest from the start."""
    depths = _depths(targets)
    below: dict[str, list[str]] = {}
    for name, wanted in targets.items():
        known = [one for one in wanted if one in targets and depths[one] < depths[name]]
        below.setdefault(max(known, key=lambda one: depths[one]) if known else top, []).append(name)
    return below


def _depths(targets: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many jobs come before each at least; those of a circle, which admission refuses, count as far."""
    depths: dict[str, int] = {}
    waiting = dict(targets)
    while waiting:
        ready = [name for name in waiting if all(one in depths for one in waiting[name] if one in targets)]
        for name in ready or list(waiting):
            before = [depths[one] for one in waiting[name] if one in depths]
            depths[name] = 1 + max(before, default=0)
        waiting = {name: wanted for name, wanted in waiting.items() if name not in depths}
    return depths


def cron_lines(view: CronView, now: float, width: int = WIDTH) -> Iterator[Line]:
    """Draw a cron job."""
    cron, spec, status = view.cron, view.cron.spec, view.cron.status
    word = Part("Suspended", "magenta") if spec.suspend else Part("Active", "green")
    yield (Part(f"cron job {cron.key}  "), word, Part(f"  {spec.schedule}  {spec.time_zone or 'UTC'}"))
    last, success = status.last_schedule_time, status.last_successful_time
    facts = [
        f"concurrency policy {spec.concurrency_policy}",
        f"keeps {spec.successful_jobs_history_limit} completed jobs, {spec.failed_jobs_history_limit} failed",
        f"last run {since(last, now)} ago" if last else "not run yet",
    ]
    facts += [f"last success {since(success, now)} ago"] if success else []
    deadline = spec.starting_deadline_seconds
    facts += [f"a run may start {deadline} s late"] if deadline is not None else []
    yield from paragraph(Part("; ".join(facts)), width)
    rows = []
    for job in sorted(view.jobs, key=lambda one: (created(one.metadata), one.key)):
        name, _, shown, pods, retries, age = job_cells(job, now, False)
        rows.append(
            Row(name, "", (Part(shown, STYLES.get(job.phase, "")), Part(pods), Part(retries), Part(age)))
        )
    if rows:
        yield (Part(""),)
        yield from table(("JOB", "STATUS", "PODS", " RETRIES", " AGE"), rows, width)
    yield from event_lines(view.events, now, width)
