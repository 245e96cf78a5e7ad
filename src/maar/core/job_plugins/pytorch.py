"""The plugin pytorch: the variables with which torch.distributed finds its master and its ranks."""

from collections.abc import Callable, Iterator
from typing import Final

from maar.core.job_plugins.flags import Flags, port, seconds, switch, task, text
from maar.core.job_plugins.plugin import Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import add, add_port, add_variables, containers_of, spec_of

_PORT_NAME: Final = "pytorchjob-port"
_WAIT: Final = """\
waited=0
until nc -z -w 2 "$MASTER_ADDR" "$MASTER_PORT"; do
  if [ "$waited" -ge {timeout} ]; then
    echo "$MASTER_ADDR:$MASTER_PORT did not answer within {timeout} seconds" >&2
    exit 1
  fi
  sleep 2
  waited=$((waited + 2))
done"""


class Pytorch:
    """MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK; workers may wait for the master."""

    name = "pytorch"
    flags = Flags(
        "pytorch",
        (
            task("master"),
            task("worker"),
            port("port", 23456),
            switch("wait-master-enabled", False),
            seconds("wait-master-timeout", 300),
            text("wait-master-image", "busybox:1.36.1", "an image"),
        ),
    )

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read, and names of tasks that the job does not have."""
        yield from self.flags.read(arguments).problems
        yield from self.flags.unknown_tasks(job, arguments, "master", "worker")

    def warnings(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """No master: nothing is added."""
        name = self.flags.read(arguments).text("master")
        if job.task(name) is None:
            yield f"{self.flags.no_task(job, 'master', name)}: as it is, pytorch adds nothing"

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """None."""
        return []

    def change_pod(
        self, pod: Json, job: PluginJob, task: PluginTask, index: int, arguments: tuple[str, ...]
    ) -> None:
        """Set the variables; a task that is neither master nor worker has no rank."""
        read = self.flags.read(arguments)
        master, worker = job.task(read.text("master")), job.task(read.text("worker"))
        if master is None:
            return
        number = read.number("port")
        address = {"MASTER_ADDR": job.host(master, 0), "MASTER_PORT": str(number)}
        size = master.replicas + (worker.replicas if worker and worker.name != master.name else 0)
        variables = {**address, "WORLD_SIZE": str(size)}
        if task.name == master.name:
            variables["RANK"] = str(index)
        elif worker and task.name == worker.name:
            variables["RANK"] = str(master.replicas + index)
            if read.is_on("wait-master-enabled"):
                _wait(pod, address, read.text("wait-master-image"), read.number("wait-master-timeout"))
        for container in containers_of(pod):
            add_variables(container, variables)
            add_port(container, _PORT_NAME, number)


def _wait(pod: Json, address: dict[str, str], image: str, timeout: int) -> None:
    """Wait last of all init containers: the others need no master."""
    waiting: Json = {
        "name": "wait-for-master",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", _WAIT.format(timeout=timeout)],
        "env": [{"name": name, "value": value} for name, value in address.items()],
    }
    add(spec_of(pod), "initContainers", "name", waiting)
