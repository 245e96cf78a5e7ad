"""Cron jobs, job flows and job templates as commands show them: the fields that are shown, no others."""

from typing import ClassVar, Final

import msgspec

from maar.core.model.job import Job
from maar.core.model.metadata import Object, Record, Time
from maar.core.model.pod import Named
from maar.core.views.job_summary import JobSummarySpec

FLOW_LABEL: Final = "volcano.sh/createdByJobFlow"  # on jobs of a flow: namespace.name
FLOW_API: Final = "flow.volcano.sh/v1alpha1"


class CronTemplate(Record, frozen=True):
    """The job that a cron job makes."""

    spec: JobSummarySpec = JobSummarySpec()


class CronSummarySpec(Record, frozen=True):
    """When jobs are made, and how many at a time."""

    schedule: str = ""
    time_zone: str = ""
    suspend: bool = False
    concurrency_policy: str = "Allow"
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: CronTemplate = CronTemplate()


class CronSummaryStatus(Record, frozen=True):
    """What was made."""

    active: tuple[Named, ...] = ()
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronSummary(Object, frozen=True, tag="CronJob"):
    """A cron job."""

    api_version: ClassVar[str] = Job.api_version
    plural: ClassVar[str] = "cronjobs"
    namespaced: ClassVar[bool] = True

    spec: CronSummarySpec = CronSummarySpec()
    status: CronSummaryStatus = CronSummaryStatus()


class FlowTargets(Record, frozen=True):
    """The jobs that a job of a flow waits for."""

    targets: tuple[str, ...] = ()


class FlowStep(Record, frozen=True):
    """A job of a flow, by the name of its template."""

    name: str = ""
    depends_on: FlowTargets = FlowTargets()


class FlowSummarySpec(Record, frozen=True):
    """The jobs of a flow."""

    flows: tuple[FlowStep, ...] = ()
    job_retain_policy: str = ""


class FlowSummaryState(Record, frozen=True):
    """How far a flow is."""

    phase: str = ""


class FlowJobState(Record, frozen=True):
    """How far a job of a flow is."""

    phase: str = ""
    create_time: Time | None = msgspec.field(default=None, name="createTime")


class FlowSummaryStatus(Record, frozen=True):
    """How far a flow and its jobs are."""

    state: FlowSummaryState = FlowSummaryState()
    completed_jobs: tuple[str, ...] = ()
    running_jobs: tuple[str, ...] = ()
    failed_jobs: tuple[str, ...] = ()
    conditions: dict[str, FlowJobState] = {}


class FlowSummary(Object, frozen=True, tag="JobFlow"):
    """A flow of jobs."""

    api_version: ClassVar[str] = FLOW_API
    plural: ClassVar[str] = "jobflows"
    namespaced: ClassVar[bool] = True

    spec: FlowSummarySpec = FlowSummarySpec()
    status: FlowSummaryStatus = FlowSummaryStatus()

    @property
    def phase(self) -> str:
        """The phase; one that no controller has seen is Pending."""
        return self.status.state.phase or "Pending"

    def job_name(self, step: str) -> str:
        """The name of the job that is made from a template."""
        return f"{self.metadata.name}-{step}"


class TemplateSummaryStatus(Record, frozen=True):
    """Which jobs were made from the template."""

    job_depends_on_list: tuple[str, ...] = ()


class TemplateSummary(Object, frozen=True, tag="JobTemplate"):
    """A template for jobs of flows."""

    api_version: ClassVar[str] = FLOW_API
    plural: ClassVar[str] = "jobtemplates"
    namespaced: ClassVar[bool] = True

    spec: JobSummarySpec = JobSummarySpec()
    status: TemplateSummaryStatus = TemplateSummaryStatus()
