"""The plugin ray: the pods of a job are started as one Ray cluster."""

from collections.abc import Callable, Iterator
from typing import Final

from maar.core.job_plugins.flags import Arguments, Flags, port, task, text
from maar.core.job_plugins.plugin import TASK_LABEL, Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import add_port, containers_of
from maar.core.job_plugins.svc import service_name_problems

_PORTS: Final = {"gcs": "port", "dashboard": "dashboardPort", "client-server": "clientPort"}
_CONTAINERS: Final = {"head": "headContainer", "worker": "workerContainer"}


class Ray:
    """`ray start` as the command of a container of the head and of the workers; a Service for the head."""

    name = "ray"
    flags = Flags(
        "ray",
        (
            task("head"),
            task("worker"),
            text("headContainer", "head", "the name of a container"),
            text("workerContainer", "worker", "the name of a container"),
            port("port", 6379),
            port("dashboardPort", 8265),
            port("clientPort", 10001),
        ),
        instead={"clientServerPort": "write --clientPort"},
    )

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read, a job without a head, and what cannot be started."""
        read = self.flags.read(arguments)
        yield from read.problems
        if job.task(read.text("head")) is None:
            yield self.flags.no_task(job, "head", read.text("head"))
        yield from self.flags.unknown_tasks(job, arguments, "worker")
        for role, flag in _CONTAINERS.items():
            if read.text(flag) != role:
                yield from _no_container(job, read, role, flag)
        if len({read.number(flag) for flag in _PORTS.values()}) < len(_PORTS):
            flags = ", ".join(f"--{flag}" for flag in _PORTS.values())
            yield f"ray needs three ports, and two of {flags} are equal; choose another one"
        yield from service_name_problems(self.name, job.name, _head_service(job))

    def warnings(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Flags without effect; containers where ray is not started, or takes the place of a command."""
        read = self.flags.read(arguments)
        yield from read.remarks
        for role, flag in _CONTAINERS.items():
            if read.text(flag) == role:
                yield from _no_container(job, read, role, flag)
            for one in _containers(job, read, role):
                if one.get("name") == read.text(flag) and one.get("command"):
                    yield (
                        f"ray replaces the command of container {read.text(flag)} in task {read.text(role)}; "
                        f"run it in another container, or name another one with --{flag}"
                    )

    def objects(
        self, job: PluginJob, arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """The Service of the head: its ports, for clients outside the job."""
        read = self.flags.read(arguments)
        ports = [
            {"name": name, "port": number, "targetPort": number, "protocol": "TCP"}
            for name, number in _numbers(read).items()
        ]
        selector: Json = {**job.labels, TASK_LABEL: read.text("head")}
        service: Json = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _head_service(job)},
            "spec": {
                "type": "ClusterIP",
                "selector": selector,
                "ports": ports,
            },
        }
        return [OwnedObject(service, None)]

    def change_pod(
        self, pod: Json, job: PluginJob, task: PluginTask, _index: int, arguments: tuple[str, ...]
    ) -> None:
        """Start Ray in the container that is named for it."""
        read = self.flags.read(arguments)
        head = job.task(read.text("head"))
        if head is None:
            return
        if task.name == head.name:
            ports = _numbers(read)
            command = (
                f"ray start --head --block --dashboard-host=0.0.0.0 --port={ports['gcs']} "
                f"--dashboard-port={ports['dashboard']} --ray-client-server-port={ports['client-server']}"
            )
            _start(pod, read.text("headContainer"), command, ports)
        elif task.name == read.text("worker"):
            address = f"{job.host(head, 0)}:{read.number('port')}"
            _start(pod, read.text("workerContainer"), f"ray start --block --address={address}", {})


def _start(pod: Json, container: str, command: str, ports: dict[str, int]) -> None:
    for one in containers_of(pod):
        if one.get("name") == container:
            one["command"] = ["sh", "-c", command]
            for name, number in ports.items():
                add_port(one, name, number)


def _numbers(read: Arguments) -> dict[str, int]:
    return {name: read.number(flag) for name, flag in _PORTS.items()}


def _no_container(job: PluginJob, read: Arguments, role: str, flag: str) -> Iterator[str]:
    names = [str(one.get("name")) for one in _containers(job, read, role)]
    if names and read.text(flag) not in names:
        yield (
            f"ray is started in container {read.text(flag)[:64]}, and task {read.text(role)[:64]} has "
            f"{', '.join(names)[:128]}; set --{flag} to one of them"
        )


def _containers(job: PluginJob, read: Arguments, role: str) -> list[Json]:
    task = job.task(read.text(role))
    return list(containers_of({"spec": task.template.get("spec")})) if task else []


def _head_service(job: PluginJob) -> str:
    return f"{job.name}-head-svc"
