"""Pods that do not exist yet: job controllers make them when their group is admitted.

A group that waits at the gate has no pods, so a simulation has to make them. Where the job is known
they are those that its controller will make. Otherwise as many stand for them as the group needs to
start, with equal parts of its minResources; what nodes they ask for is not known then.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from maar.core.controllers.jobs.dependencies import waiting_tasks
from maar.core.controllers.jobs.group import group_key
from maar.core.controllers.jobs.pod_documents import PodMaker
from maar.core.model.events import Deleted, Event
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.metadata import Metadata, Object
from maar.core.model.pod import (
    GROUP_ANNOTATION,
    TASK_ANNOTATION,
    Container,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from maar.core.model.pod_group import PodGroup
from maar.core.model.resources import PODS, Resources, of_pods

MakePods = Callable[[], list[Pod]]
_FINISHED: Final = "Completed"


class PodsToCome:
    """The groups without pods whose pods somebody makes once they are admitted."""

    def __init__(self, objects: Iterable[Object], scheduler_name: str) -> None:
        groups, jobs, there = dict[str, PodGroup](), dict[str, Job](), dict[str, list[Pod]]()
        for one in objects:
            match one:
                case PodGroup():
                    groups[one.key] = one
                case Job():
                    jobs[group_key(one)] = one
                case Pod():
                    there.setdefault(one.group_key, []).append(one)
                case _:
                    pass
        self._scheduler_name, self._jobs, self._there = scheduler_name, jobs, there
        self.held: dict[str, list[Pod]] = {}  # pods that were there before, by group
        lacking = {
            key: group
            for key, group in groups.items()
            if (key not in there or self._lacks_pods(group)) and group.status.phase != _FINISHED
        }
        for key in lacking:
            if key in jobs and not _can_be_made(jobs[key]):
                del jobs[key]
        self.groups = {
            key: group
            for key, group in lacking.items()
            if key in jobs or (_has_owner(group) and group.spec.min_resources and group.spec.min_member > 0)
        }

    def _lacks_pods(self, group: PodGroup) -> bool:
        """Whether pods of a job have gone while its group is not admitted any more."""
        job = self._jobs.get(group.key)
        is_outside = group.status.phase in ("", "Pending")
        return is_outside and job is not None and len(self._there[group.key]) < job.spec.replicas

    def change(self, events: Iterable[Event], known: Collection[str]) -> None:
        """Know of groups and jobs that come, change or go; `known` are the groups that there were."""
        new = list[Object]()
        for event in events:
            if isinstance(event, Deleted):
                if event.kind == "PodGroup":
                    self.groups.pop(event.key, None)
                    self.held.pop(event.key, None)
            elif isinstance(event.object, PodGroup) and event.object.key in known:
                if event.object.key in self.groups:
                    self.groups[event.object.key] = event.object
            else:
                new.append(event.object)
        found = PodsToCome(new, self._scheduler_name)
        self._jobs |= found._jobs
        self._there |= found._there
        self.groups |= found.groups

    def hold(self, group: PodGroup, pod: Pod) -> None:
        """Keep a pod until its group is admitted again."""
        self.groups[group.key] = group
        self.held.setdefault(group.key, []).append(pod)

    def is_known(self, group: str) -> bool:
        """Whether the pods of a group will be exactly those that are made here."""
        return group in self._jobs or group in self.held

    def take(self, key: str) -> list[Pod]:
        """Make the pods of a group, once."""
        group, job = self.groups.pop(key), self._jobs.get(key)
        pods = self.held.pop(key, [])
        if job is None:
            return pods or _stand_ins(group, self._scheduler_name)
        maker, waiting = PodMaker(job, lambda *_: None), waiting_tasks(job, [])
        made = (
            from_document(Pod, maker.document(task, index))
            for task in job.spec.tasks
            if task.name not in waiting
            for index in range(task.replicas)
        )
        there = {one.key for one in pods} | {one.key for one in self._there.get(key, ())}
        return [*pods, *(one for one in made if one.key not in there)]


def _can_be_made(job: Job) -> bool:
    """Whether the templates of a job are pods; from others no controller makes any."""
    maker = PodMaker(job, lambda *_: None)
    try:
        for task in job.spec.tasks:
            from_document(Pod, maker.document(task, 0))
    except BadObjectError:
        return False
    return True


def _has_owner(group: PodGroup) -> bool:
    return any(one.controller for one in group.metadata.owner_references)


def _stand_ins(group: PodGroup, scheduler_name: str) -> list[Pod]:
    """As many pods as the group needs to start, with equal parts of what it asks for."""
    spec, count = group.spec, group.spec.min_member
    asked = of_pods(spec.min_resources or Resources())
    part = Resources({name: -(-amount // count) for name, amount in asked.items() if name != PODS})
    container = Container(name="expected", resources=ResourceRequirements(requests=part))
    tasks = [task for task, least in spec.binding_tasks.items() for _ in range(least)]
    tasks += [""] * (count - len(tasks))
    return [
        Pod(
            metadata=Metadata(
                name=f"{group.metadata.name}-{number}",
                namespace=group.metadata.namespace,
                annotations={
                    GROUP_ANNOTATION: group.metadata.name,
                    **({TASK_ANNOTATION: task} if task else {}),
                },
                owner_references=group.metadata.owner_references,
            ),
            spec=PodSpec(
                scheduler_name=scheduler_name,
                priority_class_name=spec.priority_class_name,
                containers=(container,),
            ),
        )
        for number, task in enumerate(tasks)
    ]
