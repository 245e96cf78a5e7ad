"""The plugin hcclrank: the rank of a pod for Huawei's collective communication library."""

from collections.abc import Callable, Iterator
from typing import Final

from maar.core.job_plugins.flags import Flags, task
from maar.core.job_plugins.plugin import Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import containers_of

_RANK_ANNOTATION: Final = "hccl/rankIndex"


class Hcclrank:
    """The annotation hccl/rankIndex: the variable RANK where there is one, else the place in the job."""

    name = "hcclrank"
    flags = Flags("hcclrank", (task("master"), task("worker")))

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read, and names of tasks that the job does not have."""
        yield from self.flags.read(arguments).problems
        yield from self.flags.unknown_tasks(job, arguments, "master", "worker")

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """None."""
        return []

    def change_pod(
        self, pod: Json, job: PluginJob, task: PluginTask, index: int, arguments: tuple[str, ...]
    ) -> None:
        """Set the annotation."""
        read = self.flags.read(arguments)
        rank = _variable(pod)
        if rank is None and task.name == read.text("master"):
            rank = str(index)
        elif rank is None and task.name == read.text("worker"):
            master = job.task(read.text("master"))
            rank = str((master.replicas if master else 0) + index)
        if rank is not None:
            _annotate(pod, rank)


def _variable(pod: Json) -> str | None:
    """The variable RANK of the first container that has it: the plugin pytorch, or the user, has set it."""
    for container in containers_of(pod):
        variables = container.get("env")
        for one in variables if isinstance(variables, list) else ():
            value = one.get("value") if isinstance(one, dict) and one.get("name") == "RANK" else None
            if isinstance(value, str):
                return value
    return None


def _annotate(pod: Json, rank: str) -> None:
    metadata = pod.get("metadata")
    if not isinstance(metadata, dict):
        metadata = pod["metadata"] = {}
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        annotations = metadata["annotations"] = {}
    annotations.setdefault(_RANK_ANNOTATION, rank)
