"""What batch operators write when Volcano is their gang scheduler: their pod groups and pods, field by field.

Training-operator 1.9.3 (PyTorchJob), KubeRay 1.5.1 (RayCluster, RayJob), mpi-operator 0.8 (MPIJob)
and spark-operator 2.4 (SparkApplication). `group` is the pod group as the operator creates it,
`pods` the pods that it makes then; what an operator does later (a PUT, a scaling, a suspension) is
a change of the fields and the same methods again. Names with five random characters come from a
generator with a fixed seed.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

Json = dict[str, Any]

GROUP: Final = "scheduling.k8s.io/group-name"
TASK: Final = "volcano.sh/task-spec"
_SUFFIX: Final = "bcdfghjklmnpqrstvwxz2456789"  # of names that the API server generates
_KUBEFLOW: Final = "training.kubeflow.org"
_RANDOM: Final = Random(14)


def r5() -> str:
    """Five characters, as the API server adds them to a generated name."""
    return "".join(_RANDOM.choices(_SUFFIX, k=5))


def requests(count: int = 1, **more: str) -> Json:
    """What `count` pods of 1 CPU and 1Gi ask for."""
    return {"cpu": str(count), "memory": f"{count}Gi", **more}


def owned_by(api_version: str, kind: str, name: str) -> list[Json]:
    """The one owner of an object."""
    return [
        {
            "apiVersion": api_version,
            "kind": kind,
            "name": name,
            "uid": f"{kind}-{name}".lower(),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def pod_group(name: str, owner: list[Json], spec: Json, status: Json | None = None, **metadata: Json) -> Json:
    """A pod group as typed clients send it, with its status."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "ownerReferences": owner, **metadata},
        "spec": spec,
        "status": status or {},
    }


def pod(
    name: str, owner: list[Json], *, annotations: Json, labels: Json, init: Json | None = None, **spec: object
) -> Json:
    """A pod of 1 CPU and 1Gi with the owner, annotations and labels that an operator gives it."""
    asked = spec.pop("requests", None) or requests()
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": owner,
            "annotations": annotations,
            "labels": labels,
        },
        "spec": {
            "schedulerName": "volcano",
            "containers": [{"name": "main", "image": "none", "resources": {"requests": asked}}],
            **({"initContainers": [{"name": "init", "image": "none", "resources": init}]} if init else {}),
            **spec,
        },
        "status": {"phase": "Pending"},
    }


@dataclass
class PyTorchJob:
    """Training-operator: the pods come only when the group's phase is neither empty nor Pending."""

    name: str
    workers: int = 3
    min_available: int | None = None  # schedulingPolicy.minAvailable
    queue: str = "default"  # schedulingPolicy.queue
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def owner(self) -> list[Json]:
        """The custom resource."""
        return owned_by("kubeflow.org/v1", "PyTorchJob", self.name)

    def group(self, stored_queue: str = "") -> Json:
        """The group at creation; with the stored queue, as it is put back at each reconcile."""
        least = self.workers + 1 if self.min_available is None else self.min_available
        spec = {"minMember": least, "queue": stored_queue or self.queue, "minResources": requests(least)}
        return pod_group(self.name, self.owner, spec, annotations=dict(self.annotations))

    def pods(self) -> list[Json]:
        """A master, and workers that wait for it in an init container."""
        return [self.pod("master", 0), *(self.pod("worker", index) for index in range(self.workers))]

    def pod(self, kind: str, index: int) -> Json:
        """A pod; one that is made again has the same name."""
        labels = {
            f"{_KUBEFLOW}/operator-name": "pytorchjob-controller",
            f"{_KUBEFLOW}/job-name": self.name,
            f"{_KUBEFLOW}/replica-type": kind,
            f"{_KUBEFLOW}/replica-index": str(index),
            **({f"{_KUBEFLOW}/job-role": "master"} if kind == "master" else {}),
        }
        init = {"requests": {"cpu": "50m", "memory": "10Mi"}} if kind == "worker" else None
        notes = {GROUP: self.name, TASK: kind}
        return pod(f"{self.name}-{kind}-{index}", self.owner, annotations=notes, labels=labels, init=init)


@dataclass
class RayCluster:
    """KubeRay: the group and its pods come together; the group stays when its pods go."""

    name: str
    workers: int = 3
    autoscaling_from: int | None = None  # minReplicas, where the autoscaler decides how many run
    queue: str = ""  # label volcano.sh/queue-name on the resource
    job: str = ""  # the RayJob that it belongs to, if any

    @property
    def owner(self) -> list[Json]:
        """The custom resource."""
        return owned_by("ray.io/v1", "RayCluster", self.name)

    @property
    def group_name(self) -> str:
        """The name of the group: the RayJob's where there is one, whatever its clusters are called."""
        return f"ray-{self.job or self.name}-pg"

    def group(self) -> Json:
        """The group with its phase, as it is created and as minMember and minResources are updated."""
        least = 1 + (self.workers if self.autoscaling_from is None else self.autoscaling_from)
        asked = {"cpu": f"{least}500m", "memory": f"{least * 1024 + 200}Mi"} if self.job else requests(least)
        spec: Json = {"minMember": least, "minResources": asked}
        if self.queue:
            spec["queue"] = self.queue
        owner = owned_by("ray.io/v1", "RayJob", self.job) if self.job else self.owner
        return pod_group(self.group_name, owner, spec, {"phase": "Pending"})

    def pods(self) -> list[Json]:
        """The head, the workers and, of a RayJob, the pod that submits it."""
        pods = [self.head(), *(self.worker() for _ in range(self.workers))]
        return [*pods, self.submitter()] if self.job else pods

    def head(self) -> Json:
        """The head; another name each time."""
        return self._pod(f"{self.name}-head-{r5()}", "headgroup", "head", None)

    def worker(self) -> Json:
        """A worker of the group `small`; another name each time."""
        init = {"requests": {"cpu": "200m", "memory": "256Mi"}}
        return self._pod(f"{self.name}-small-worker-{r5()}", "small", "worker", init)

    def submitter(self) -> Json:
        """The pod of the Job that submits a RayJob; it is in the group and not counted in minMember."""
        notes, asked = {GROUP: self.group_name, TASK: "submittergroup"}, {"cpu": "500m", "memory": "200Mi"}
        owner = owned_by("batch/v1", "Job", self.job)
        return pod(f"{self.job}-{r5()}", owner, annotations=notes, labels={}, requests=asked)

    def _pod(self, name: str, group: str, kind: str, init: Json | None) -> Json:
        labels = {"ray.io/cluster": self.name, "ray.io/group": group, "ray.io/node-type": kind}
        if self.queue:
            labels["volcano.sh/queue-name"] = self.queue
        notes = {GROUP: self.group_name, TASK: group}
        return pod(name, self.owner, annotations=notes, labels=labels, init=init)


@dataclass
class MPIJob:
    """MPI operator v2beta1: workers by number, then a launcher from a Job; no task names."""

    name: str
    workers: int = 3
    min_available: int | None = None
    queue: str = ""  # schedulingPolicy.queue, or the job's annotation; without it every PUT leaves it out

    @property
    def owner(self) -> list[Json]:
        """The custom resource."""
        return owned_by("kubeflow.org/v2beta1", "MPIJob", self.name)

    def group(self) -> Json:
        """The group at creation, and as it is put back when it is different."""
        least = self.workers + 1 if self.min_available is None else self.min_available
        spec: Json = {"minMember": least, "minResources": requests(least)}
        if self.queue:
            spec["queue"] = self.queue
        return pod_group(self.name, self.owner, spec)

    def pods(self) -> list[Json]:
        """The workers, then the launcher."""
        return [*(self.worker(index) for index in range(self.workers)), self.launcher()]

    def worker(self, index: int) -> Json:
        """A worker; one that is made again has the same name."""
        labels = {**self._labels("worker"), f"{_KUBEFLOW}/replica-index": str(index)}
        return pod(f"{self.name}-worker-{index}", self.owner, annotations={GROUP: self.name}, labels=labels)

    def launcher(self) -> Json:
        """The launcher, which belongs to a Job."""
        owner, labels = owned_by("batch/v1", "Job", f"{self.name}-launcher"), self._labels("launcher")
        return pod(f"{self.name}-launcher-{r5()}", owner, annotations={GROUP: self.name}, labels=labels)

    def _labels(self, role: str) -> Json:
        return {
            f"{_KUBEFLOW}/operator-name": "mpi-operator",
            f"{_KUBEFLOW}/job-name": self.name,
            f"{_KUBEFLOW}/job-role": role,
        }


@dataclass
class SparkApplication:
    """Spark operator: a group of one, a driver seconds later, and executors once it runs."""

    name: str
    executors: int = 3
    queue: str = ""  # batchSchedulerOptions.queue
    _hex: str = "0123456789abcdef"

    @property
    def owner(self) -> list[Json]:
        """The custom resource."""
        return owned_by("sparkoperator.k8s.io/v1beta2", "SparkApplication", self.name)

    @property
    def group_name(self) -> str:
        """The name of the group, the same for every retry."""
        return f"spark-{self.name}-pg"

    def group(self) -> Json:
        """The group; memory `512m` of driver and executors is read as thousandths of a byte."""
        pods = 1 + self.executors
        spec: Json = {"minMember": 1, "minResources": {"cpu": str(pods), "memory": f"{pods * 512}m"}}
        if self.queue:
            spec["queue"] = self.queue
        return pod_group(self.group_name, self.owner, spec, {"phase": "Pending"})

    def driver(self) -> Json:
        """The driver; a retry has the same name and the same group."""
        return self._pod(f"{self.name}-driver", self.owner, {"spark-role": "driver"})

    def executor(self, number: int) -> Json:
        """An executor, numbered from 1 and never again with the same number; the driver is its owner."""
        labels = {"spark-role": "executor", "spark-exec-id": str(number)}
        owner = owned_by("v1", "Pod", f"{self.name}-driver")
        return self._pod(f"{self.name}-{self._hex}-exec-{number}", owner, labels)

    def _pod(self, name: str, owner: list[Json], labels: Json) -> Json:
        labels = {
            **labels,
            "sparkoperator.k8s.io/app-name": self.name,
            "sparkoperator.k8s.io/submission-id": "one",
        }
        asked = {"cpu": "1", "memory": "896Mi"}  # 512Mi and the overhead
        return pod(name, owner, annotations={GROUP: self.group_name}, labels=labels, requests=asked)
