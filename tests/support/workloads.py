"""What workloads write: pods without a group, of Jobs, Deployments, StatefulSets, JobSets and Argo; vcjobs.

Volcano and Maar make the group: `podgroup-<uid of the controller>`.
"""

from dataclasses import dataclass, field
from typing import Final

from support.operators import GROUP, TASK, Json, owned_by, pod, pod_group, r5

_JOB: Final = "batch.kubernetes.io"
_JOBSET: Final = "jobset.sigs.k8s.io"


@dataclass
class PlainJob:
    """A batch/v1 Job; with `indexed`, one whose pods have a completion index."""

    name: str
    indexed: bool = False
    annotations: Json = field(default_factory=dict)  # of the pod template
    labels: Json = field(default_factory=dict)

    def pod(self, index: int = 0) -> Json:
        """Another pod: a new name each time, and in an Indexed Job the index that is free or retried."""
        owner = owned_by("batch/v1", "Job", self.name)
        uid = owner[0]["uid"]
        labels = {
            f"{_JOB}/job-name": self.name,
            "job-name": self.name,
            f"{_JOB}/controller-uid": uid,
            "controller-uid": uid,
            **self.labels,
        }
        notes, name = dict(self.annotations), f"{self.name}-{r5()}"
        if self.indexed:
            name = f"{self.name}-{index}-{r5()}"
            notes[f"{_JOB}/job-completion-index"] = labels[f"{_JOB}/job-completion-index"] = str(index)
        made = pod(name, owner, annotations=notes, labels=labels, restartPolicy="Never")
        made["metadata"]["finalizers"] = [f"{_JOB}/job-tracking"]
        return made


@dataclass
class Deployment:
    """An apps/v1 Deployment: its pods belong to a ReplicaSet, and a rollout makes a second one."""

    name: str
    hash: str = "6d4cf56db6"
    annotations: Json = field(default_factory=dict)

    def pod(self) -> Json:
        """Another pod of the newest ReplicaSet."""
        owner = owned_by("apps/v1", "ReplicaSet", f"{self.name}-{self.hash}")
        labels = {"app": self.name, "pod-template-hash": self.hash}
        return pod(
            f"{self.name}-{self.hash}-{r5()}", owner, annotations=dict(self.annotations), labels=labels
        )


@dataclass
class StatefulSet:
    """An apps/v1 StatefulSet: pods by number, remade under the same name."""

    name: str
    annotations: Json = field(default_factory=dict)

    def pod(self, index: int) -> Json:
        """The pod of a number."""
        name = f"{self.name}-{index}"
        labels = {
            "app": self.name,
            "apps.kubernetes.io/pod-index": str(index),
            "statefulset.kubernetes.io/pod-name": name,
        }
        owner = owned_by("apps/v1", "StatefulSet", self.name)
        return pod(name, owner, annotations=dict(self.annotations), labels=labels)


def job_set_job(job_set: str, replicated_job: str, index: int) -> PlainJob:
    """One of the Jobs of a JobSet 0.10: Indexed, with JobSet's labels and annotations on its pods."""
    marks = {
        f"{_JOBSET}/jobset-name": job_set,
        f"{_JOBSET}/replicatedjob-name": replicated_job,
        f"{_JOBSET}/job-index": str(index),
        f"{_JOBSET}/job-global-index": str(index),
        f"{_JOBSET}/restart-attempt": "0",
    }
    return PlainJob(f"{job_set}-{replicated_job}-{index}", indexed=True, annotations=marks, labels=marks)


def argo_step(workflow: str, template: str, number: int) -> Json:
    """The pod of a step of an Argo Workflow: its name ends in a decimal hash that is no index."""
    owner = owned_by("argoproj.io/v1alpha1", "Workflow", workflow)
    labels = {"workflows.argoproj.io/workflow": workflow}
    return pod(f"{workflow}-{template}-{number}", owner, annotations={}, labels=labels, restartPolicy="Never")


@dataclass
class VolcanoJob:
    """A job whose pod group and pods Volcano's own job controller has written, for whoever moves over."""

    name: str
    tasks: dict[str, tuple[int, int]]  # replicas and minAvailable by task
    min_available: int | None = None

    @property
    def owner(self) -> list[Json]:
        """The job."""
        return owned_by("batch.volcano.sh/v1alpha1", "Job", self.name)

    @property
    def group_name(self) -> str:
        """The name of the job and its uid."""
        return f"{self.name}-{self.owner[0]['uid']}"

    def group(self) -> Json:
        """The group; `minResources` names quotas beside resources."""
        least = sum(one for _, one in self.tasks.values())
        least = least if self.min_available is None else self.min_available
        cpu, memory = str(least), f"{least}Gi"
        asked = {"cpu": cpu, "memory": memory, "requests.cpu": cpu, "requests.memory": memory}
        spec = {
            "minMember": least,
            "minTaskMember": {task: one for task, (_, one) in self.tasks.items()},
            "minResources": {**asked, "count/pods": str(least), "pods": str(least)},
            "queue": "default",
        }
        return pod_group(self.group_name, self.owner, spec, {"phase": "Pending"})

    def pods(self) -> list[Json]:
        """The pods of all tasks."""
        return [
            pod(
                f"{self.name}-{task}-{index}",
                self.owner,
                annotations={
                    GROUP: self.group_name,
                    TASK: task,
                    "volcano.sh/job-name": self.name,
                    "volcano.sh/queue-name": "default",
                    "volcano.sh/task-index": str(index),
                },
                labels={"volcano.sh/job-name": self.name, "volcano.sh/task-spec": task},
            )
            for task, (replicas, _) in self.tasks.items()
            for index in range(replicas)
        ]
