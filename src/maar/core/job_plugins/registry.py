"""The job plugins that there are, applied in one order whatever the order in a job."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from maar.core.job_plugins.env import Env
from maar.core.job_plugins.hcclrank import Hcclrank
from maar.core.job_plugins.mpi import Mpi
from maar.core.job_plugins.plugin import (
    OBJECT_KINDS,
    JobPlugin,
    Json,
    OwnedObject,
    PluginJob,
    PluginTask,
    SshKey,
    TooManyHostsError,
    WarningPlugin,
)
from maar.core.job_plugins.pytorch import Pytorch
from maar.core.job_plugins.ray import Ray
from maar.core.job_plugins.ssh import Ssh
from maar.core.job_plugins.svc import Svc
from maar.core.job_plugins.tensorflow import Tensorflow

# hcclrank reads the variable that pytorch sets.
_OWN: Final[tuple[JobPlugin, ...]] = (
    Svc(), Ssh(), Env(), Pytorch(), Tensorflow(), Mpi(), Ray(), Hcclrank(),
)  # fmt: skip
_IN_NO_STATUS: Final = "hcclrank"  # as in Volcano


class JobPluginError(RuntimeError):
    """A plugin that failed, or a job with too many hosts: this job cannot go on, and others can."""


@dataclass(frozen=True)
class UnavailablePlugin:
    """A plugin that is installed and cannot be used: jobs that name it are refused with the reason."""

    name: str
    reason: str

    def problems(self, _job: PluginJob, _arguments: tuple[str, ...]) -> Iterator[str]:
        """Why it cannot be used."""
        yield f"{self.name} is installed and cannot be used: {self.reason}; reinstall it or do without"

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """None: a job with it cannot go on."""
        raise JobPluginError(self.reason)

    def change_pod(
        self, _pod: Json, _job: PluginJob, _task: PluginTask, _index: int, _arguments: tuple[str, ...]
    ) -> None:
        """None: a job with it cannot go on."""
        raise JobPluginError(self.reason)


@dataclass(frozen=True)
class JobPlugins:
    """Plugins by name, in the order in which they are applied."""

    by_name: Mapping[str, JobPlugin]

    @classmethod
    def of(cls, extra: Iterable[JobPlugin] = ()) -> "JobPlugins":
        """Maar's own plugins and those of third parties, which replace none of Maar's."""
        others = {one.name: one for one in sorted(extra, key=lambda one: one.name)}
        own: dict[str, JobPlugin] = {one.name: one for one in _OWN}
        return cls(own | {name: one for name, one in others.items() if name not in own})

    def without(self, names: Collection[str]) -> "JobPlugins":
        """These plugins but some, as if those were not installed."""
        return JobPlugins({name: one for name, one in self.by_name.items() if name not in names})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all plugins, in the order in which they are applied."""
        return tuple(self.by_name)

    def get(self, name: str) -> JobPlugin | None:
        """A plugin by its name."""
        return self.by_name.get(name)

    def missing(self, job: PluginJob) -> list[str]:
        """Plugins that the job names and that are not there (any more)."""
        return sorted(name for name in job.plugins if name not in self.by_name)

    def problems(self, job: PluginJob) -> Iterator[tuple[str, str]]:
        """What plugins have against a job: the name of the plugin, and a sentence."""
        for plugin, arguments in self._of(job):
            try:
                yield from ((plugin.name, sentence) for sentence in plugin.problems(job, arguments))
            except Exception as error:  # noqa: BLE001  a third party's plugin may fail in any way
                yield plugin.name, _failure(plugin, error)

    def warnings(self, job: PluginJob) -> Iterator[tuple[str, str]]:
        """What plugins warn of: the name of the plugin, and a sentence."""
        for plugin, arguments in self._of(job):
            if isinstance(plugin, WarningPlugin):
                try:
                    yield from ((plugin.name, sentence) for sentence in plugin.warnings(job, arguments))
                except Exception as error:  # noqa: BLE001  a third party's plugin may fail in any way
                    yield plugin.name, _failure(plugin, error)

    def objects(self, job: PluginJob, new_key: Callable[[], SshKey]) -> list[OwnedObject]:
        """The objects that a job has beside its pods; a key is asked for where ssh has to make one."""
        found: list[OwnedObject] = []
        for plugin, arguments in self._of(job):
            try:
                made = plugin.objects(job, arguments, new_key)
            except TooManyHostsError as error:
                raise JobPluginError(str(error)) from error
            except Exception as error:
                raise JobPluginError(_failure(plugin, error)) from error
            for one in made:
                _check_object(plugin, one)
            found += made
        return found

    def change_pod(self, pod: Json, job: PluginJob, task: PluginTask, index: int) -> None:
        """Change the document of a pod that is to be created."""
        for plugin, arguments in self._of(job):
            name = _name(pod)
            try:
                plugin.change_pod(pod, job, task, index, arguments)
            except TooManyHostsError as error:
                raise JobPluginError(str(error)) from error
            except Exception as error:
                raise JobPluginError(_failure(plugin, error)) from error
            if _name(pod) != name:  # the controller would not find it, and make it again and again
                raise JobPluginError(_failure(plugin, "it changed the name of a pod"))

    def controlled(self, job: PluginJob) -> dict[str, str]:
        """The plugins of a job as its status lists them."""
        return {f"plugin-{one.name}": one.name for one, _ in self._of(job) if one.name != _IN_NO_STATUS}

    def _of(self, job: PluginJob) -> list[tuple[JobPlugin, tuple[str, ...]]]:
        return [(plugin, job.plugins[name]) for name, plugin in self.by_name.items() if name in job.plugins]


def _check_object(plugin: JobPlugin, one: OwnedObject) -> None:
    """Refuse what the controller can neither create nor delete."""
    if one.document.get("kind") not in OBJECT_KINDS or not isinstance(_name(one.document), str):
        kinds = ", ".join(OBJECT_KINDS)
        raise JobPluginError(_failure(plugin, f"its objects have a name and are of the kinds {kinds}"))


def _name(document: Json) -> object:
    metadata = document.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


def _failure(plugin: JobPlugin, error: Exception | str) -> str:
    return f"the job plugin {plugin.name} failed: {error}; correct the plugin, or take it out of the job"
