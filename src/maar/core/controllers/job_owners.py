"""What controllers know of cron jobs, job flows and job templates, and of the jobs that they make.

Of a job only that is kept by which its owner goes on: its phase and times, and the pods of its
tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from maar.core.controllers.index import Index, put
from maar.core.controllers.work_queue import Changed
from maar.core.model.cron_job import SCHEDULED_ANNOTATION, CronJob
from maar.core.model.events import AnyObject
from maar.core.model.job import Job, TaskState
from maar.core.model.job_flow import CREATED_BY_TEMPLATE, JobFlow, JobTemplate
from maar.core.model.writes import PodCheck

_OWNERS: Final = (CronJob, JobFlow)
COMPLETED: Final = "Completed"
# An aborted job can be resumed, and then it is unfinished again.
FAILED: Final = ("Failed", "Terminated", "Aborted")


class OwnedJob(NamedTuple):
    """A job of a cron job or of a job flow."""

    key: str
    uid: str
    owner_kind: str
    owner: str  # its key
    owner_uid: str
    template: str  # the key of the job template that it was made from; empty where there is none
    phase: str
    created: datetime | None
    changed: datetime | None  # its phase
    scheduled: datetime | None  # the time of the schedule that it was created for; of a cron job only
    retries: int
    minima: Mapping[str, int]  # the pods of each task that must have come as far as somebody waits for
    tasks: Mapping[str, TaskState]
    is_terminating: bool

    @property
    def name(self) -> str:
        """Its name without the namespace."""
        return self.key.rpartition("/")[2]

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, well or not."""
        return self.phase == COMPLETED or self.phase in FAILED


class CronJobChanged(Changed[CronJob]):
    """A cron job."""


class JobFlowChanged(Changed[JobFlow]):
    """A job flow."""


class JobTemplateChanged(Changed[JobTemplate]):
    """A job template."""


class OwnedJobChanged(Changed[OwnedJob]):
    """A job of a cron job or of a job flow."""


JobOwnerChange = CronJobChanged | JobFlowChanged | JobTemplateChanged | OwnedJobChanged


@dataclass(eq=False)
class JobOwners:
    """Cron jobs, job flows, job templates and their jobs, by key."""

    cron_jobs: dict[str, CronJob] = field(default_factory=dict)
    flows: dict[str, JobFlow] = field(default_factory=dict)
    templates: dict[str, JobTemplate] = field(default_factory=dict)
    jobs: dict[str, OwnedJob] = field(default_factory=dict)
    other_jobs: set[str] = field(default_factory=set)  # the keys of jobs without such an owner
    jobs_of_owner: Index = field(default_factory=Index)  # by the owner's uid
    jobs_of_template: Index = field(default_factory=Index)
    flows_of_template: Index = field(default_factory=Index)
    _checked: dict[str, tuple[datetime, frozenset[PodCheck]]] = field(default_factory=dict)  # by flow

    def checked(self, flow: str, now: datetime, answered: frozenset[PodCheck]) -> None:
        """Know which pods have answered what a flow asked."""
        if flow in self.flows:
            self._checked[flow] = (now, self.answered_checks(flow) | answered)

    def checked_at(self, flow: str) -> datetime | None:
        """When pods were last asked for a flow."""
        return self._checked[flow][0] if flow in self._checked else None

    def answered_checks(self, flow: str) -> frozenset[PodCheck]:
        """What was asked for a flow and answered."""
        return self._checked[flow][1] if flow in self._checked else frozenset()

    def put(self, kind: str, key: str, new: AnyObject | None) -> list[JobOwnerChange]:
        """Learn of an object of one of the three kinds; None where it is gone."""
        match kind:
            case "CronJob":
                cron_job = new if isinstance(new, CronJob) else None
                return [CronJobChanged(key, put(self.cron_jobs, key, cron_job), cron_job)]
            case "JobFlow":
                return [self._put_flow(key, new if isinstance(new, JobFlow) else None)]
            case "JobTemplate":
                template = new if isinstance(new, JobTemplate) else None
                return [JobTemplateChanged(key, put(self.templates, key, template), template)]
            case _:
                return []

    def put_job(self, key: str, job: Job | None) -> list[JobOwnerChange]:
        """Learn of a job; there is no change where nothing made it."""
        after = None if job is None else _owned(job)
        before = put(self.jobs, key, after)
        if job is not None and after is None:
            self.other_jobs.add(key)
        else:
            self.other_jobs.discard(key)
        if before == after:
            return []
        self.jobs_of_owner.move(key, before and before.owner_uid, after and after.owner_uid)
        self.jobs_of_template.move(key, before and before.template, after and after.template)
        return [OwnedJobChanged(key, before, after)]

    def jobs_of(self, owner: CronJob | JobFlow) -> list[OwnedJob]:
        """The jobs that an owner has made, those of an earlier one of its name left out."""
        uid = owner.metadata.uid
        return sorted((self.jobs[key] for key in self.jobs_of_owner.keys(uid)), key=lambda job: job.key)

    def _put_flow(self, key: str, new: JobFlow | None) -> JobFlowChanged:
        old = put(self.flows, key, new)
        if new is None:
            self._checked.pop(key, None)
        self.flows_of_template.move_all(key, _templates(key, old), _templates(key, new))
        return JobFlowChanged(key, old, new)


def _owned(job: Job) -> OwnedJob | None:
    """What is kept of a job; None where no cron job and no job flow is its controller."""
    metadata, status = job.metadata, job.status
    kinds = {(kind.__name__, kind.api_version) for kind in _OWNERS}
    owner = next((reference for reference in metadata.owner_references if reference.controller), None)
    if owner is None or (owner.kind, owner.api_version) not in kinds:
        return None
    namespace = metadata.namespace or "default"
    template = metadata.annotations.get(CREATED_BY_TEMPLATE, "").removeprefix(f"{namespace}.")
    return OwnedJob(
        key=job.key,
        uid=metadata.uid,
        owner_kind=owner.kind,
        owner=f"{namespace}/{owner.name}",
        owner_uid=owner.uid,
        template=f"{namespace}/{template}" if template else "",
        phase=status.state.phase,
        created=metadata.creation_timestamp,
        changed=status.state.last_transition_time,
        scheduled=_moment(metadata.annotations.get(SCHEDULED_ANNOTATION, "")),
        retries=status.retry_count,
        minima={
            task.name: task.replicas if task.min_available is None else task.min_available
            for task in job.spec.tasks
        },
        tasks=status.task_status_count,
        is_terminating=job.is_terminating,
    )


def _moment(text: str) -> datetime | None:
    """A time as the annotation has it; None where it is not there, or was changed to something else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _templates(key: str, flow: JobFlow | None) -> set[str]:
    namespace = key.partition("/")[0]
    return set() if flow is None else {f"{namespace}/{one.name}" for one in flow.spec.flows}
