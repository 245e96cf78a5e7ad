"""The plugin tensorflow: TF_CONFIG, with which TensorFlow finds its cluster."""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from maar.core.job_plugins.flags import Flags, port, task
from maar.core.job_plugins.plugin import Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import LONGEST_VARIABLE, add_variables, containers_of

_ROLES: Final = ("ps", "worker", "chief", "evaluator")


class Tensorflow:
    """TF_CONFIG in the containers of the tasks that form the cluster."""

    name = "tensorflow"
    flags = Flags("tensorflow", (*map(task, _ROLES), port("port", 2222)))

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read, and names of tasks that the job does not have."""
        yield from self.flags.read(arguments).problems
        yield from self.flags.unknown_tasks(job, arguments, *_ROLES)

    def warnings(self, job: PluginJob, _arguments: tuple[str, ...]) -> Iterator[str]:
        """A cluster that is too large for a variable."""
        if sum(map(job.hosts_length, job.tasks)) > LONGEST_VARIABLE:
            yield "the hosts of the job are too long for TF_CONFIG, and pods may not start; use fewer pods"

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """None."""
        return []

    def change_pod(
        self, pod: Json, job: PluginJob, task: PluginTask, index: int, arguments: tuple[str, ...]
    ) -> None:
        """Set TF_CONFIG; a job of one pod has no cluster, and a task without a role no part in it."""
        read = self.flags.read(arguments)
        role = next((one for one in _ROLES if read.text(one) == task.name), None)
        if role is None or sum(one.replicas for one in job.tasks) == 1:
            return
        hosts = tuple((one, job.hosts_of(read.text(one))) for one in _ROLES)
        place = json.dumps({"type": role, "index": index}, separators=(",", ":"))
        config = f'{{"cluster":{_cluster(hosts, read.number("port"))},"task":{place}}}'
        for container in containers_of(pod):
            add_variables(container, {"TF_CONFIG": config})


@lru_cache(maxsize=64)
def _cluster(hosts: tuple[tuple[str, tuple[str, ...]], ...], number: int) -> str:
    """The cluster as JSON, which is the same for all pods of a job."""
    cluster = {role: [f"{host}:{number}" for host in some] for role, some in hosts if some}
    return json.dumps(cluster, separators=(",", ":"))
