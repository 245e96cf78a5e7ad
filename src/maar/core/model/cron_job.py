"""Volcano's cron job: a schedule, and the job that is made at each of its times."""

from typing import ClassVar, Final, Literal

from maar.core.model.metadata import Object, Record, Time

SCHEDULED_ANNOTATION: Final = "volcano.sh/cronjob-scheduled-timestamp"


class TemplateMetadata(Record, frozen=True):
    """What objects made from a template have in their metadata beside a name."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class CronJobTemplate(Record, frozen=True):
    """The jobs of a cron job; their spec stays as it was written."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: dict[str, object] = {}


class CronJobSpec(Record, frozen=True):
    """When a job is made, of what, and what becomes of earlier ones."""

    schedule: str = ""
    time_zone: str = ""  # an IANA name; UTC where it is empty
    starting_deadline_seconds: int | None = None
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Allow"
    suspend: bool = False
    job_template: CronJobTemplate = CronJobTemplate()
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class JobReference(Record, frozen=True):
    """A job in the status of its cron job."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class CronJobStatus(Record, frozen=True):
    """The unfinished jobs, and when one was last due and last completed."""

    active: tuple[JobReference, ...] = ()
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronJob(Object, frozen=True, tag="CronJob"):
    """The `batch.volcano.sh` cron job."""

    api_version: ClassVar[str] = "batch.volcano.sh/v1alpha1"
    plural: ClassVar[str] = "cronjobs"
    namespaced: ClassVar[bool] = True

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
