"""A job plugin for JAX: all pods of a job are one cluster, whose coordinator is the first pod."""

from collections.abc import Callable, Iterator

from maar.plugins import OwnedObject, PluginJob, PluginTask, SshKey

PORT = 1234


class Jax:
    """JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID in every container."""

    name = "jax"

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Refuse arguments, and a job whose pods have no DNS names."""
        if arguments:
            yield "jax takes no arguments; remove them"
        if "svc" not in job.plugins:
            yield "jax needs the names that svc gives to pods; add the plugin svc"

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """Need no objects beside the pods."""
        return []

    def change_pod(
        self, pod: dict, job: PluginJob, task: PluginTask, index: int, _arguments: tuple[str, ...]
    ) -> None:
        """Set the variables; processes are numbered task by task."""
        before = job.tasks[: job.tasks.index(task)]
        variables = {
            "JAX_COORDINATOR_ADDRESS": f"{job.host(job.tasks[0], 0)}:{PORT}",
            "JAX_NUM_PROCESSES": str(sum(one.replicas for one in job.tasks)),
            "JAX_PROCESS_ID": str(sum(one.replicas for one in before) + index),
        }
        for container in pod["spec"]["containers"]:
            container.setdefault("env", []).extend({"name": k, "value": v} for k, v in variables.items())
