"""Cron jobs, job flows and job templates as rows of a table."""

from typing import Final

from maar.core.model.cron_job import CronJob
from maar.core.model.durations import age
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.kinds import from_document
from maar.core.model.queue import DEFAULT
from maar.core.views.job_rows import NONE, since
from maar.core.views.job_summary import created

CRON_HEADINGS: Final = ("NAME", "SCHEDULE", "TIMEZONE", "SUSPEND", "ACTIVE", "LAST SCHEDULE", "AGE")
CRON_WIDE: Final = ("QUEUE", "CONCURRENCY", "LAST SUCCESS")
FLOW_HEADINGS: Final = ("NAME", "STATUS", "JOBS", "AGE")
FLOW_WIDE: Final = ("RETAIN", "STEPS")
TEMPLATE_HEADINGS: Final = ("NAME", "QUEUE", "PODS", "AGE")
TEMPLATE_WIDE: Final = ("MIN", "TASKS")


def cron_cells(cron: CronJob, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
    """A cron job, a text for each column."""
    spec, status = cron.spec, cron.status
    row = [
        cron.metadata.name,
        spec.schedule,
        spec.time_zone or NONE,
        "True" if spec.suspend else "False",
        str(len(status.active)),
        since(status.last_schedule_time, now) if status.last_schedule_time else NONE,
        age(created(cron.metadata), now),
    ]
    if wide:
        success = since(status.last_successful_time, now) if status.last_successful_time else NONE
        row += [str(spec.job_template.spec.get("queue") or DEFAULT), spec.concurrency_policy, success]
    return row


def flow_cells(flow: JobFlow, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
    """A flow, a text for each column; jobs are running/completed/failed/all."""
    status, steps = flow.status, flow.spec.flows
    jobs = (status.running_jobs, status.completed_jobs, status.failed_jobs, steps)
    row = [
        flow.metadata.name,
        flow_phase(flow),
        "/".join(str(len(names)) for names in jobs),
        age(created(flow.metadata), now),
    ]
    if wide:
        row += [flow.spec.job_retain_policy, ",".join(step.name for step in steps) or NONE]
    return row


def flow_phase(flow: JobFlow) -> str:
    """The phase; one that no controller has seen is Pending."""
    return flow.status.state.phase or "Pending"


def template_cells(template: JobTemplate, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # as above
    """A template, a text for each column."""
    spec = from_document(Job, {"spec": template.spec}).spec
    row = [template.metadata.name, spec.queue, str(spec.replicas), age(created(template.metadata), now)]
    if wide:
        row += [str(spec.min_available or 0), ",".join(task.name for task in spec.tasks) or NONE]
    return row
