"""What an explanation is about: the object that was named, and the pod group that decisions are about."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from maar.core.controllers.jobs.dependencies import job_before, waits_for_job
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.workload import BatchJob

SubjectKind = Literal["job", "podgroup", "pod"]
_NOT_MADE: Final = "no pod group has been made for it; check that maar controllers runs"
WORDS: Final[dict[SubjectKind, str]] = {"job": "job", "podgroup": "pod group", "pod": "pod"}
_KINDS: Final[dict[SubjectKind, tuple[type[Object], ...]]] = {
    "podgroup": (PodGroup,),
    "pod": (Pod,),
    "job": (Job, BatchJob),
}


class Subject(NamedTuple):
    """An object that was asked about, and its pod group; where it has none, why."""

    kind: SubjectKind
    key: str
    group: str = ""
    why_no_group: str = ""

    @property
    def name(self) -> str:
        """The object as people say it."""
        return f"{WORDS[self.kind]} {self.key}"


def find_subject(
    objects: Sequence[Object], kind: SubjectKind, key: str, scheduler_name: str = "volcano"
) -> Subject | None:
    """What was asked about; None where there is no such object."""
    if kind == "podgroup":
        is_there = any(isinstance(one, PodGroup) and one.key == key for one in objects)
        return Subject(kind, key, group=key) if is_there else None
    if kind == "pod":
        pod = next((one for one in objects if isinstance(one, Pod) and one.key == key), None)
        return None if pod is None else _of_pod(objects, pod, scheduler_name)
    return _of_job(objects, key, scheduler_name)


def names(objects: Sequence[Object], kind: SubjectKind, namespace: str) -> list[str]:
    """The names there are in a namespace, one of which may have been meant."""
    own = [one for one in objects if _namespace(one) == namespace]
    found = {one.metadata.name for one in own if isinstance(one, _KINDS[kind])}
    if kind == "job":
        found |= {_owner(one) for one in own if isinstance(one, PodGroup)}
    return sorted(found - {""})


def elsewhere(objects: Sequence[Object], kind: SubjectKind, name: str) -> list[str]:
    """The namespaces that have an object of this name."""
    same_name = [one for one in objects if one.metadata.name == name]
    return sorted({_namespace(one) for one in same_name if isinstance(one, _KINDS[kind])})


def _of_pod(objects: Sequence[Object], pod: Pod, scheduler_name: str) -> Subject:
    group, name = pod.group_key, pod.spec.scheduler_name
    if name not in ("", scheduler_name):
        why = f"it is for scheduler {name}; Maar places pods whose schedulerName is {scheduler_name}"
        return Subject("pod", pod.key, why_no_group=why)
    if any(isinstance(one, PodGroup) and one.key == group for one in objects):
        return Subject("pod", pod.key, group)
    if pod.spec.node_name:
        return Subject("pod", pod.key, why_no_group=f"it runs on {pod.spec.node_name} and has no pod group")
    return Subject("pod", pod.key)  # the plan has its reason


def _of_job(objects: Sequence[Object], key: str, scheduler_name: str) -> Subject | None:
    namespace, _, name = key.partition("/")
    owned = [
        one
        for one in objects
        if isinstance(one, PodGroup) and _namespace(one) == namespace and _owner(one) == name
    ]
    job = next((one for one in objects if isinstance(one, Job) and one.key == key), None)
    if owned:
        return Subject("job", key, max(owned, key=_age).key)
    if job is None:
        return _of_batch_job(objects, key, scheduler_name)
    other = job.spec.scheduler_name
    if other not in ("", scheduler_name):
        why = f"its pods are for scheduler {other}; Maar places those of scheduler {scheduler_name}"
    elif job.status.state.phase not in ("", "Pending", "Running", "Restarting"):
        why = f"it is {job.status.state.phase} and has no pod group any more"
    else:
        why = _waits_for(objects, job) or job.status.state.message or _NOT_MADE
    return Subject("job", key, why_no_group=why)


def _of_batch_job(objects: Sequence[Object], key: str, scheduler_name: str) -> Subject | None:
    """A Job of batch/v1 that has no pod group: it has no pods, and Maar has not suspended it."""
    job = next((one for one in objects if isinstance(one, BatchJob) and one.key == key), None)
    if job is None:
        return None
    other = job.spec.template.spec.scheduler_name
    if other != scheduler_name:
        why = f"its pods are for scheduler {other}; Maar places those of scheduler {scheduler_name}"
    elif job.is_finished:
        why = "it is finished and has no pod group any more"
    elif job.spec.suspend:
        why = (
            "it is suspended (spec.suspend), and not by Maar, so it has no place in its queue; "
            f"resume it: maar job resume {job.metadata.name}"
        )
    else:
        why = "it has no pods yet; the controller of its cluster makes them"
    return Subject("job", key, why_no_group=why)


def _waits_for(objects: Sequence[Object], job: Job) -> str:
    """Why a job waits for another; empty where it does not, or where that is not known here."""
    if (before := job_before(job)) is None:
        return ""
    return waits_for_job(
        job, next((one for one in objects if isinstance(one, Job) and one.key == before), None)
    )


def _owner(group: PodGroup) -> str:
    return next((one.name for one in group.metadata.owner_references if one.controller), "")


def _age(group: PodGroup) -> float:
    created = group.metadata.creation_timestamp
    return created.timestamp() if created else 0.0


def _namespace(one: Object) -> str:
    return one.metadata.namespace or "default"
