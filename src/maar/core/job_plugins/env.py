"""The plugin env: a container learns the index of its pod in the task."""

from collections.abc import Callable, Iterator

from maar.core.job_plugins.flags import Flags
from maar.core.job_plugins.plugin import Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import BOTH, add_variables, containers_of


class Env:
    """VK_TASK_INDEX and VC_TASK_INDEX in every container."""

    name = "env"
    flags = Flags("env")

    def problems(self, _job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read."""
        yield from self.flags.read(arguments).problems

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """None."""
        return []

    def change_pod(
        self, pod: Json, _job: PluginJob, _task: PluginTask, index: int, _arguments: tuple[str, ...]
    ) -> None:
        """Set the variables."""
        for container in containers_of(pod, BOTH):
            add_variables(container, {"VK_TASK_INDEX": str(index), "VC_TASK_INDEX": str(index)})
