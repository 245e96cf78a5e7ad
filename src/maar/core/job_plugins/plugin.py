"""A job plugin: the objects that it adds to a job, and what it changes in the job's pods."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Protocol, runtime_checkable

Json = dict[str, object]

# Of all hosts of a job together, in bytes: svc has them twice in one object, which holds 1 MiB at most.
MOST_HOSTS: Final = 500 << 10
JOB_NAME_LABEL: Final = "volcano.sh/job-name"
JOB_NAMESPACE_LABEL: Final = "volcano.sh/job-namespace"
TASK_LABEL: Final = "volcano.sh/task-spec"


@dataclass(frozen=True)
class PluginTask:
    """A task as plugins see it."""

    name: str
    replicas: int
    template: Json  # the pod template as written: {"metadata": …, "spec": …}

    def setting(self, field: str) -> str:
        """A text in the spec of the template; empty where it is not set."""
        spec = self.template.get("spec")
        found = spec.get(field) if isinstance(spec, dict) else None
        return found if isinstance(found, str) else ""


@dataclass(frozen=True)
class PluginJob:
    """A job as plugins see it; made once for all its pods, so that its hosts are listed once."""

    name: str
    namespace: str
    tasks: tuple[PluginTask, ...]
    plugins: Mapping[str, tuple[str, ...]]  # all plugins of the job with their arguments

    def task(self, name: str) -> PluginTask | None:
        """The task of this name."""
        return next((one for one in self.tasks if one.name == name), None)

    def hosts_of(self, name: str) -> tuple[str, ...]:
        """The DNS names of the pods of a task; none where there is no such task.

        A template with a hostname has one for all its pods.
        """
        task = self.task(name)
        if task is None:
            return ()
        if name not in self._listed:
            for problem in self.too_many_hosts():
                raise TooManyHostsError(problem)
            self._listed[name] = tuple(self._hosts(task))
        return self._listed[name]

    def hosts_length(self, task: PluginTask) -> int:
        """At most how long the hosts of a task are with commas between them; they are not listed for it."""
        last = max(0, self._host_count(task) - 1)
        return self._host_count(task) * (len(self.host(task, last)) + 1)

    def too_many_hosts(self) -> Iterator[str]:
        """A sentence where the hosts of the job do not fit into an object."""
        length = sum(map(self.hosts_length, self.tasks))
        if length > MOST_HOSTS:
            yield (
                f"the names of the job's hosts take up to {length} bytes, and {MOST_HOSTS} fit into an "
                "object; ask for fewer replicas, or shorten the names of the job and its tasks"
            )

    def host(self, task: PluginTask, index: int) -> str:
        """The DNS name of one pod, in its namespace."""
        hostname = task.setting("hostname") or f"{self.name}-{task.name}-{index}"
        return f"{hostname}.{task.setting('subdomain') or self.name}"

    @property
    def labels(self) -> Json:
        """The labels that select the pods of the job."""
        return {JOB_NAME_LABEL: self.name, JOB_NAMESPACE_LABEL: self.namespace}

    @cached_property
    def _listed(self) -> dict[str, tuple[str, ...]]:
        return {}

    def _hosts(self, task: PluginTask) -> Iterator[str]:
        return (self.host(task, index) for index in range(self._host_count(task)))

    def _host_count(self, task: PluginTask) -> int:
        return max(0, min(task.replicas, 1) if task.setting("hostname") else task.replicas)


class TooManyHostsError(ValueError):
    """The hosts of a job do not fit into an object."""


class SshKey(NamedTuple):
    """A pair of keys for SSH."""

    private: str  # RSA 2048, PKCS#1 PEM
    public: str  # one line, OpenSSH


def no_key() -> SshKey:
    """A key for where only the names of objects matter."""
    return SshKey("", "")


OBJECT_KINDS: Final = ("ConfigMap", "NetworkPolicy", "Secret", "Service")  # that a plugin may add to a job


@dataclass(frozen=True)
class OwnedObject:
    """An object that the job has beside its pods; the controller adds namespace and owner reference."""

    document: Json  # what is created: apiVersion, kind, metadata and the rest
    update: Json | None  # merge patch where it is there already; None: it is left as it is


class JobPlugin(Protocol):
    """What a job plugin provides: pure functions, which fail on no arguments, whatever they are."""

    @property
    def name(self) -> str:
        """The name that jobs write."""

    def problems(self, job: PluginJob, arguments: tuple[str, ...], /) -> Iterator[str]:
        """Whole sentences about wrong arguments, or about a job that they do not fit: it is refused."""

    def objects(
        self, job: PluginJob, arguments: tuple[str, ...], new_key: Callable[[], SshKey], /
    ) -> list[OwnedObject]:
        """The objects that the job has for this plugin; only a plugin that needs a key asks for one."""

    def change_pod(
        self, pod: Json, job: PluginJob, task: PluginTask, index: int, arguments: tuple[str, ...], /
    ) -> None:
        """Change the document of a pod that is to be created; it is nobody else's, and named already."""


@runtime_checkable
class WarningPlugin(Protocol):
    """What a job plugin may provide: warnings about a job that is accepted all the same."""

    def warnings(self, job: PluginJob, arguments: tuple[str, ...], /) -> Iterator[str]:
        """Whole sentences about what will not be as the user may expect."""
