"""Kinds in Volcano's columns: each kind has its own rule for how wide a column is."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic

from maar.core.model.durations import age
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.kinds import ObjectT
from maar.core.model.queue import ROOT, Queue
from maar.core.views.job_rows import pod_cells
from maar.core.views.job_summary import PodSummary, created

TYPE_LABEL: Final = "volcano.sh/job-type"

_JOB_WIDTHS: Final = {
    "Creation": 15, "Phase": 12, "JobType": 12, "Replicas": 12, "Min": 6, "Pending": 10, "Running": 10,
    "Succeeded": 12, "Failed": 10, "Unknown": 12, "RetryCount": 10,
}  # fmt: skip


@dataclass(frozen=True)
class VolcanoKind(Generic[ObjectT]):
    """A kind as Volcano's commands show it."""

    kind: type[ObjectT]
    command: str
    headings: tuple[str, ...]
    cells: Callable[[ObjectT, float], Sequence[str]]  # of an object, now
    width: Callable[[str, Sequence[str]], int]  # of a column, by its heading and its cells

    def table(
        self, objects: Sequence[ObjectT], now: float | None = None, *, with_namespace: bool = False
    ) -> str:
        """The objects below one another."""
        moment = time.time() if now is None else now
        headings = ("Namespace",) * with_namespace + self.headings
        rows = [[each.metadata.namespace] * with_namespace + [*self.cells(each, moment)] for each in objects]
        columns = zip(headings, zip(*rows, strict=True) if rows else [()] * len(headings), strict=True)
        widths = [self.width(heading, cells) for heading, cells in columns]
        return "\n".join(
            "".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
            for row in (headings, *rows)
        )


def _longest(heading: str, cells: Sequence[str]) -> int:
    return max(map(len, (heading, *cells)))


def _job_cells(job: Job, _now: float) -> Sequence[str]:
    status, made = job.status, job.metadata.creation_timestamp
    counts = (
        job.spec.replicas, status.min_available, status.pending, status.running, status.succeeded,
        status.failed, status.unknown, status.retry_count,
    )  # fmt: skip
    job_type, date = job.metadata.labels.get(TYPE_LABEL) or "Batch", made.strftime("%Y-%m-%d") if made else ""
    return job.metadata.name, date, status.state.phase, job_type, *map(str, counts)


def _queue_cells(queue: Queue, _now: float) -> Sequence[str]:
    status = queue.status
    counts = (status.inqueue, status.pending, status.running, status.unknown, status.completed)
    parent = "" if queue.key == ROOT else queue.parent
    return queue.key, str(queue.spec.weight), status.state, parent, *map(str, counts)


def _flow_cells(flow: JobFlow, now: float) -> Sequence[str]:
    metadata = flow.metadata
    return metadata.name, metadata.namespace, flow.status.state.phase, age(created(metadata), now)


JOBS: Final = VolcanoKind(
    Job,
    "job",
    ("Name", *_JOB_WIDTHS),
    _job_cells,
    lambda heading, cells: _JOB_WIDTHS.get(heading) or _longest(heading, cells) + 3,
)
PODS: Final = VolcanoKind(
    PodSummary,
    "pod",
    ("Name", "Ready", "Status", "Restart", "Age"),
    lambda pod, now: pod_cells(pod, now, False),
    lambda heading, cells: max(len(heading) + 2, *(len(text) + 8 for text in cells), 0),
)
QUEUES: Final = VolcanoKind(
    Queue,
    "queue",
    ("Name", "Weight", "State", "Parent", "Inqueue", "Pending", "Running", "Unknown", "Completed"),
    _queue_cells,
    lambda heading, cells: max(25 if heading == "Name" else 8, _longest(heading, cells) + 1),
)
FLOWS: Final = VolcanoKind(
    JobFlow,
    "jobflow",
    ("Name", "Namespace", "Phase", "Age"),
    _flow_cells,
    lambda heading, cells: _longest(heading, cells) + 4,
)
TEMPLATES: Final = VolcanoKind(
    JobTemplate,
    "jobtemplate",
    ("Name", "Namespace"),
    lambda template, _now: (template.metadata.name, template.metadata.namespace),
    lambda heading, cells: _longest(heading, cells) + 4,
)
