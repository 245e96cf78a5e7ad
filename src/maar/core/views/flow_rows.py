"""Cron jobs, job flows and job templates as rows of a table."""

from typing import Final

from maar.core.model.durations import age
from maar.core.views.flow_summary import CronSummary, FlowSummary, TemplateSummary
from maar.core.views.job_rows import NONE, since
from maar.core.views.job_summary import created

CRON_HEADINGS: Final = ("NAME", "SCHEDULE", "TIMEZONE", "SUSPEND", "ACTIVE", "LAST SCHEDULE", "AGE")
CRON_WIDE: Final = ("QUEUE", "CONCURRENCY", "LAST SUCCESS")
FLOW_HEADINGS: Final = ("NAME", "STATUS", "JOBS", "AGE")
FLOW_WIDE: Final = ("RETAIN", "STEPS")
TEMPLATE_HEADINGS: Final = ("NAME", "QUEUE", "PODS", "AGE")
TEMPLATE_WIDE: Final = ("MIN", "TASKS")


def cron_cells(cron: CronSummary, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
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
        row += [spec.job_template.spec.queue, spec.concurrency_policy, success]
    return row


def flow_cells(flow: FlowSummary, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
    """A flow, a text for each column; jobs are running/completed/failed/all."""
    status, steps = flow.status, flow.spec.flows
    jobs = (status.running_jobs, status.completed_jobs, status.failed_jobs, steps)
    row = [
        flow.metadata.name,
        flow.phase,
        "/".join(str(len(names)) for names in jobs),
        age(created(flow.metadata), now),
    ]
    if wide:
        row += [flow.spec.job_retain_policy or "retain", ",".join(one.name for one in steps) or NONE]
    return row


def template_cells(one: TemplateSummary, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # as above
    """A template, a text for each column."""
    spec = one.spec
    row = [one.metadata.name, spec.queue, str(spec.replicas), age(created(one.metadata), now)]
    if wide:
        row += [str(spec.min_available), ",".join(task.name for task in spec.tasks) or NONE]
    return row
