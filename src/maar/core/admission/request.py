"""The input and output of admission: a request, the options, findings and the verdict."""

from dataclasses import dataclass
from typing import Final, Literal

from maar.core.job_plugins.registry import JobPlugins

Json = dict[str, object]

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to write an object; `old` and `new` are the objects that were sent, as parsed JSON."""

    operation: str
    resource: str  # as in the API's paths: queues, podgroups, jobs, pods, commands, resourcequotas
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    old: object = None
    new: object = None
    user: str = ""
    groups: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class Options:
    """What an administrator decides about admission."""

    guarantee_over_total: Literal["refuse", "warn"] = "refuse"
    child_capability: Literal["sum", "max"] = "sum"
    max_queue_depth: int = 5  # levels below the root
    max_job_pods: int = 100_000  # as many as Kubernetes lets an Indexed Job have
    scheduler_names: tuple[str, ...] = ("volcano",)
    controllers_user: str = "system:serviceaccount:maar-system:maar-controllers"
    time_zones: frozenset[str] = frozenset()  # names that cron jobs may have; not checked where it is empty
    cluster_users: tuple[str, ...] = ()  # users that act for the cluster beside Kubernetes' own controllers
    job_plugins: JobPlugins = JobPlugins.of()  # noqa: RUF009  immutable


@dataclass(frozen=True)
class Problem:
    """What is wrong with a field: its path, its value, and what to do about it."""

    field: str
    value: str
    sentence: str  # reads on after the name of the field


@dataclass(frozen=True)
class Finding:
    """A problem with the rule that found it: a refusal, or a warning."""

    rule: str
    field: str
    value: str
    sentence: str

    def __str__(self) -> str:
        return f"[{self.rule}] {self.field} {self.sentence}"


@dataclass(frozen=True)
class Verdict:
    """Whether the object may be stored, why not, the warnings, and what is filled in."""

    refusals: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    patch: tuple[Json, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the object may be stored."""
        return not self.refusals

    @property
    def message(self) -> str:
        """The refusals, one to a line."""
        return "\n".join(str(one) for one in self.refusals)
