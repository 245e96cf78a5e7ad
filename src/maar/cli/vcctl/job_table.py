"""Jobs in Volcano's columns."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from maar.core.views.job_summary import JobSummary

TYPE_LABEL: Final = "volcano.sh/job-type"

_HEADINGS: Final = (
    "Creation", "Phase", "JobType", "Replicas", "Min", "Pending", "Running", "Succeeded", "Failed", "Unknown",
    "RetryCount",
)  # fmt: skip
_WIDTHS: Final = (15, 12, 12, 12, 6, 10, 10, 12, 10, 12, 10)
_BESIDE: Final = 3  # blanks behind the longest name


def job_table(jobs: Sequence[JobSummary], *, with_namespace: bool) -> str:
    """The table of `vcctl job list`; the columns of names are as wide as the longest and three more."""
    names = [("Name", [job.metadata.name for job in jobs])]
    if with_namespace:
        names.insert(0, ("Namespace", [job.metadata.namespace for job in jobs]))
    columns = [[heading, *texts] for heading, texts in names]
    widths = [max(map(len, column)) + _BESIDE for column in columns]
    first = list(zip(*columns, strict=True))
    rows = [_HEADINGS, *map(_cells, jobs)]
    return "\n".join(
        "".join(text.ljust(width) for text, width in zip(before, widths, strict=True))
        + "".join(text.ljust(width) for text, width in zip(row, _WIDTHS, strict=True))
        for before, row in zip(first, rows, strict=True)
    )


def _cells(job: JobSummary) -> tuple[str, ...]:
    status = job.status
    counts = (
        job.spec.replicas, status.min_available, status.pending, status.running, status.succeeded,
        status.failed, status.unknown, status.retry_count,
    )  # fmt: skip
    kind = job.metadata.labels.get(TYPE_LABEL) or "Batch"
    return _date(job.metadata.creation_timestamp), status.state.phase, kind, *map(str, counts)


def _date(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d") if moment else ""
