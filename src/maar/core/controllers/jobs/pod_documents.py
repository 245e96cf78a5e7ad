"""The pods of a job as they are created: the template, what says whose they are, and what plugins add."""

from collections.abc import Callable
from typing import Final, cast

import msgspec

from maar.core.controllers.jobs.pods import (
    FINALIZER,
    JOB_NAME,
    JOB_NAMESPACE,
    JOB_VERSION,
    PARTITION,
    QUEUE_NAME,
    RESTARTS,
    RETRY_COUNT,
    TASK_INDEX,
    TEMPLATE_UID,
    owner_reference,
)
from maar.core.controllers.jobs.volumes import mount, mounted_claims
from maar.core.job_plugins.plugin import PluginJob, PluginTask
from maar.core.model.job import Job, Task
from maar.core.model.pod import GROUP_ANNOTATION, PREEMPTABLE_MARK, TASK_ANNOTATION

Json = dict[str, object]
ChangePod = Callable[[Json, PluginJob, PluginTask, int], None]

_COOLDOWN: Final = "volcano.sh/cooldown-time"
_JDB_MIN: Final = "volcano.sh/jdb-min-available"
_JDB_MAX: Final = "volcano.sh/jdb-max-unavailable"
_NUMA: Final = "volcano.sh/numa-topology-policy"
_INHERITED_ANNOTATIONS: Final = (PREEMPTABLE_MARK, _COOLDOWN, "volcano.sh/revocable-zone")
_INHERITED_LABELS: Final = (PREEMPTABLE_MARK, _COOLDOWN)


def plugin_job(job: Job) -> PluginJob:
    """A job as its plugins see it."""
    tasks = tuple(PluginTask(task.name, task.replicas, task.template) for task in job.spec.tasks)
    plugins = {name: arguments or () for name, arguments in job.spec.plugins.items()}
    return PluginJob(job.metadata.name, job.metadata.namespace or "default", tasks, plugins)


def pod_name(job: Job, task: Task, index: int) -> str:
    """The name of a pod."""
    return f"{job.metadata.name}-{task.name}-{index}"


class PodMaker:
    """Makes the documents of a job's pods; what all pods of a task have is worked out once."""

    def __init__(self, job: Job, change_pod: ChangePod) -> None:
        self._job, self._change_pod = job, change_pod
        self._seen = plugin_job(job)
        self._tasks = {task.name: task for task in self._seen.tasks}
        self._common: dict[str, bytes] = {}

    def document(self, task: Task, index: int) -> Json:
        """One pod."""
        common = self._common.get(task.name)
        if common is None:
            common = self._common[task.name] = msgspec.json.encode(_common(self._job, task))
        pod = cast(Json, msgspec.json.decode(common))  # a copy of its own
        metadata = cast(dict[str, Json], pod["metadata"])
        metadata["annotations"][TASK_INDEX] = metadata["labels"][TASK_INDEX] = str(index)
        if (partition := task.partition(index)) is not None:
            metadata["labels"][PARTITION] = str(partition)
        cast(Json, pod["metadata"])["name"] = pod_name(self._job, task, index)
        self._change_pod(pod, self._seen, self._tasks[task.name], index)
        return pod


def _common(job: Job, task: Task) -> Json:
    """What all pods of a task have."""
    metadata, status = job.metadata, job.status
    namespace = metadata.namespace or "default"
    given = cast(Json, task.template.get("metadata") or {})
    labels: dict[str, str] = {
        **cast(dict[str, str], given.get("labels") or {}),
        **{name: metadata.labels[name] for name in _INHERITED_LABELS if name in metadata.labels},
        JOB_NAME: metadata.name,
        JOB_NAMESPACE: namespace,
        TASK_ANNOTATION: task.name,
        QUEUE_NAME: job.spec.queue,
    }
    notes: dict[str, str] = {
        **cast(dict[str, str], given.get("annotations") or {}),
        **_inherited(job),
        GROUP_ANNOTATION: f"{metadata.name}-{metadata.uid}",
        JOB_NAME: metadata.name,
        TASK_ANNOTATION: task.name,
        QUEUE_NAME: job.spec.queue,
        JOB_VERSION: str(status.version),
        RETRY_COUNT: str(status.retry_count),
        RESTARTS: str(status.restarts),
        TEMPLATE_UID: f"{metadata.name}-{task.name}",
    }
    if task.topology_policy:
        notes[_NUMA] = task.topology_policy
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "",
            "namespace": namespace,
            "labels": labels,
            "annotations": notes,
            "ownerReferences": [owner_reference(job)],
            "finalizers": [*cast(list[str], given.get("finalizers") or []), FINALIZER],
        },
        "spec": _spec(job, task),
    }


def _spec(job: Job, task: Task) -> Json:
    spec = cast(Json, msgspec.json.decode(msgspec.json.encode(task.template.get("spec") or {})))
    if not spec.get("schedulerName"):
        spec["schedulerName"] = job.spec.scheduler_name
    if job.spec.priority_class_name and not spec.get("priorityClassName"):
        spec["priorityClassName"] = job.spec.priority_class_name
    if job.spec.volumes:
        mount(spec, mounted_claims(job))
    return spec


def _inherited(job: Job) -> dict[str, str]:
    notes = job.metadata.annotations
    budget = _JDB_MIN if _JDB_MIN in notes else _JDB_MAX
    return {name: notes[name] for name in (*_INHERITED_ANNOTATIONS, budget) if name in notes}
