"""The plugin svc: the pods of a job have DNS names, and files and variables with the names of all of them."""

from collections.abc import Callable, Iterator
from typing import Final

from maar.core.job_plugins.flags import Flags, shown, switch
from maar.core.job_plugins.plugin import Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import BOTH, LONGEST_VARIABLE, add, add_volume, containers_of, spec_of
from maar.core.model import name_rules

_MOUNTED_AT: Final = "/etc/volcano"


class Svc:
    """A headless Service, a NetworkPolicy and a ConfigMap of hosts; hostname and subdomain of every pod."""

    name = "svc"
    flags = Flags(
        "svc",
        (
            switch("publish-not-ready-addresses", False),
            switch("disable-network-policy", False),
            switch("inject-hosts-env", True),
        ),
    )

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read, and the name of a job that cannot be that of its Service."""
        yield from self.flags.read(arguments).problems
        yield from service_name_problems(self.name, job.name, job.name)
        yield from job.too_many_hosts()

    def warnings(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Lists of hosts that are too long for a variable."""
        if self.flags.read(arguments).is_on("inject-hosts-env"):
            for task in job.tasks:
                if job.hosts_length(task) > LONGEST_VARIABLE:
                    yield (
                        f"the hosts of task {task.name} are too long for {_variable(task)}_HOSTS, and "
                        f"containers may not start; add --inject-hosts-env=false and read {_MOUNTED_AT}"
                    )

    def objects(
        self, job: PluginJob, arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """The Service, the NetworkPolicy unless it is disabled, and the ConfigMap, which follows scaling."""
        read = self.flags.read(arguments)
        service: Json = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": job.name},
            "spec": {
                "clusterIP": "None",
                "selector": job.labels,
                "publishNotReadyAddresses": read.is_on("publish-not-ready-addresses"),
            },
        }
        pods = {"podSelector": {"matchLabels": job.labels}}
        policy: Json = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": job.name},
            "spec": {**pods, "ingress": [{"from": [pods]}], "policyTypes": ["Ingress"]},
        }
        data = _host_lists(job)
        hosts: Json = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _config_map(job)},
            "data": data,
        }
        policies = [] if read.is_on("disable-network-policy") else [OwnedObject(policy, None)]
        return [OwnedObject(service, None), *policies, OwnedObject(hosts, {"data": data})]

    def change_pod(
        self, pod: Json, job: PluginJob, task: PluginTask, index: int, arguments: tuple[str, ...]
    ) -> None:
        """Give the pod its DNS name, and mount the lists of hosts."""
        spec, source = spec_of(pod), _config_map(job)
        spec["hostname"] = spec.get("hostname") or f"{job.name}-{task.name}-{index}"
        spec["subdomain"] = spec.get("subdomain") or job.name
        add_volume(pod, {"name": source, "configMap": {"name": source}}, _MOUNTED_AT)
        if not self.flags.read(arguments).is_on("inject-hosts-env"):
            return
        names = [f"{_variable(one)}_{what}" for one in job.tasks for what in ("HOSTS", "NUM")]
        for container in containers_of(pod, BOTH):
            add(container, "env", "name", *(_from_map(source, name) for name in names))


def service_name_problems(plugin: str, job: str, service: str) -> Iterator[str]:
    """Why a job's name does not suit the Service that is named after it."""
    wrong = name_rules.of_object("Service", service) if job else ()  # a name that is still to be generated
    if wrong:
        yield f"{plugin} makes the Service {shown(service)}, and {wrong[0]}; rename the job"


def _host_lists(job: PluginJob) -> Json:
    data: Json = {}
    for task in job.tasks:
        hosts = job.hosts_of(task.name)
        data[f"{task.name.replace('-', '_')}.host"] = "\n".join(hosts)
        data[f"{_variable(task)}_HOSTS"] = ",".join(hosts)
        data[f"{_variable(task)}_NUM"] = str(len(hosts))
    return data


def _from_map(source: str, key: str) -> Json:
    return {"name": key, "valueFrom": {"configMapKeyRef": {"name": source, "key": key}}}


def _variable(task: PluginTask) -> str:
    return f"VC_{task.name.replace('-', '_').upper()}"


def _config_map(job: PluginJob) -> str:
    return f"{job.name}-svc"
