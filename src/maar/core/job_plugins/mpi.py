"""The plugin mpi: the master of an MPI job knows the hosts of its workers."""

from collections.abc import Callable, Iterator
from typing import Final

from maar.core.job_plugins.flags import Flags, port, task
from maar.core.job_plugins.plugin import Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import BOTH, LONGEST_VARIABLE, add_port, add_variables, containers_of

_PORT_NAME: Final = "mpijob-port"


class Mpi:
    """MPI_HOST in the master, and the port of SSH in all containers."""

    name = "mpi"
    flags = Flags("mpi", (task("master"), task("worker"), port("port", 22)))

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read, and a job without a master or without workers."""
        read = self.flags.read(arguments)
        yield from read.problems
        for flag in ("master", "worker"):
            if job.task(read.text(flag)) is None:
                yield self.flags.no_task(job, flag, read.text(flag))
        if read.text("master") == read.text("worker"):
            yield "mpi needs two tasks, and --master and --worker name the same one; name the workers' task"

    def warnings(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Workers that are too many for a variable."""
        workers = job.task(self.flags.read(arguments).text("worker"))
        if workers and job.hosts_length(workers) > LONGEST_VARIABLE:
            yield (
                f"the hosts of task {workers.name} are too long for MPI_HOST, and "
                "the master may not start; use fewer workers"
            )

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """None."""
        return []

    def change_pod(
        self, pod: Json, job: PluginJob, task: PluginTask, _index: int, arguments: tuple[str, ...]
    ) -> None:
        """Declare the port, and give the master the hosts of the workers."""
        read = self.flags.read(arguments)
        is_master = task.name == read.text("master")
        variables = {"MPI_HOST": ",".join(job.hosts_of(read.text("worker")))} if is_master else {}
        for container in containers_of(pod, BOTH):
            add_variables(container, variables)
            add_port(container, _PORT_NAME, read.number("port"))
