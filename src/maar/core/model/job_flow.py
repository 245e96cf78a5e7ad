"""Volcano's job flow: jobs made from job templates, in an order; and the templates."""

from typing import ClassVar, Final, Literal

from maar.core.model.job import TaskState
from maar.core.model.metadata import Object, Record, Time

# On jobs, as labels and as annotations; the value is <namespace>.<name>.
CREATED_BY_FLOW: Final = "volcano.sh/createdByJobFlow"
CREATED_BY_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"


class HttpHeader(Record, frozen=True):
    """A header of a request."""

    name: str = ""
    value: str = ""


class HttpProbe(Record, frozen=True):
    """A request that the pods of a task answer."""

    task_name: str = ""
    path: str = ""
    port: int = 0
    http_header: HttpHeader | None = None


class TcpProbe(Record, frozen=True):
    """A port on which the pods of a task accept connections."""

    task_name: str = ""
    port: int = 0


class TaskStatusProbe(Record, frozen=True):
    """A phase that the pods of a task have reached."""

    task_name: str = ""
    phase: str = ""


class FlowProbe(Record, frozen=True):
    """What must be so of the targets before they have completed."""

    http_get_list: tuple[HttpProbe, ...] = ()
    tcp_socket_list: tuple[TcpProbe, ...] = ()
    task_status_list: tuple[TaskStatusProbe, ...] = ()


class FlowDependsOn(Record, frozen=True):
    """The jobs of the flow that come first; they have come far enough when Completed, or as a probe says."""

    targets: tuple[str, ...] = ()
    probe: FlowProbe | None = None


class FlowPatch(Record, frozen=True):
    """What is different from the template; it stays as it was written."""

    spec: dict[str, object] = {}


class Flow(Record, frozen=True):
    """One job of a flow: the name of its template, what comes first, and what differs from the template."""

    name: str = ""
    depends_on: FlowDependsOn | None = None
    patch: FlowPatch | None = None


class JobFlowSpec(Record, frozen=True):
    """The jobs, and whether they are deleted when all have completed."""

    flows: tuple[Flow, ...] = ()
    job_retain_policy: Literal["retain", "delete"] = "retain"


class RunningHistory(Record, frozen=True):
    """A phase that a job was in, and when."""

    state: str = ""
    start_timestamp: Time | None = None
    end_timestamp: Time | None = None


class FlowJobStatus(Record, frozen=True):
    """How far one job has come."""

    name: str = ""
    state: str = ""
    start_timestamp: Time | None = None
    end_timestamp: Time | None = None
    restart_count: int = 0
    running_histories: tuple[RunningHistory, ...] = ()


class FlowCondition(Record, frozen=True):
    """The phase of one job, since when it exists, how long it ran, and its pods."""

    phase: str = ""
    create_time: Time | None = None
    running_duration: str = ""
    task_status_count: dict[str, TaskState] = {}


class FlowState(Record, frozen=True):
    """The phase of a flow."""

    phase: Literal["Pending", "Running", "Succeed", "Failed", "Terminating", ""] = ""


class JobFlowStatus(Record, frozen=True):
    """How far the flow has come; the lists are of names of jobs."""

    pending_jobs: tuple[str, ...] = ()
    running_jobs: tuple[str, ...] = ()
    failed_jobs: tuple[str, ...] = ()
    completed_jobs: tuple[str, ...] = ()
    terminated_jobs: tuple[str, ...] = ()
    un_know_jobs: tuple[str, ...] = ()
    job_status_list: tuple[FlowJobStatus, ...] = ()
    conditions: dict[str, FlowCondition] = {}
    state: FlowState = FlowState()


class JobFlow(Object, frozen=True, tag="JobFlow"):
    """The `flow.volcano.sh` job flow."""

    api_version: ClassVar[str] = "flow.volcano.sh/v1alpha1"
    plural: ClassVar[str] = "jobflows"
    namespaced: ClassVar[bool] = True

    spec: JobFlowSpec = JobFlowSpec()
    status: JobFlowStatus = JobFlowStatus()


class JobTemplateStatus(Record, frozen=True):
    """The names of the jobs that were made from it."""

    job_depends_on_list: tuple[str, ...] = ()


class JobTemplate(Object, frozen=True, tag="JobTemplate"):
    """The `flow.volcano.sh` job template; its spec is that of a job and stays as it was written."""

    api_version: ClassVar[str] = "flow.volcano.sh/v1alpha1"
    plural: ClassVar[str] = "jobtemplates"
    namespaced: ClassVar[bool] = True

    spec: dict[str, object] = {}
    status: JobTemplateStatus = JobTemplateStatus()
