"""One look at a job: the writes of the first step that has any."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.jobs.counting import count, is_at_rest, unwanted, with_counts
from maar.core.controllers.jobs.decision import Decision, after_command, after_what_happened
from maar.core.controllers.jobs.dependencies import (
    cannot_follow,
    job_before,
    waiting_tasks,
    waits_for_job,
    why_it_waits,
)
from maar.core.controllers.jobs.group import group_document, group_key, group_patch, wanted_group
from maar.core.controllers.jobs.phase_conditions import JobFacts
from maar.core.controllers.jobs.phases import after_facts
from maar.core.controllers.jobs.pod_documents import PodMaker, plugin_job, pod_name
from maar.core.controllers.jobs.pods import FINALIZER, OUT_OF_SYNC, JobPod, owner_reference
from maar.core.controllers.jobs.volumes import claim_document, mounted_claims
from maar.core.job_plugins.plugin import OwnedObject, SshKey, no_key
from maar.core.job_plugins.registry import JobPluginError, JobPlugins
from maar.core.model.differences import difference
from maar.core.model.index_ranges import parse_indexes
from maar.core.model.job import ACTIVE_JOBS, FINISHED_JOBS, Command, Job, JobStatus
from maar.core.model.kinds import BadObjectError
from maar.core.model.pod_group import PodGroup
from maar.core.model.whole_numbers import whole_number
from maar.core.model.writes import ControllerWrite, Create, Delete, Ensure, Patch, RecordEvent, SetStatus

Json = dict[str, object]

_MOST_PODS: Final = 500  # that are made at a time; then the job is looked at again
_MOST_BYTES: Final = 32 << 20  # of those pods: a list of hosts in each of them can be long


class Look:
    """A job with all that belongs to it, at one moment."""

    def __init__(
        self,
        cluster: ClusterView,
        key: str,
        now: datetime,
        plugins: JobPlugins,
        new_key: Callable[[], SshKey],
    ) -> None:
        self._cluster, self._key, self._now = cluster, key, now
        self._plugins, self._new_key = plugins, new_key
        self._pods = [cluster.job_pods[pod] for pod in cluster.pods_of_job.keys(key)]
        there = {("Pod", pod.key) for pod in self._pods if not pod.is_gone}
        self._refusals = {
            path: why for path, why in cluster.refusals.get(key, {}).items() if path not in there
        }
        self._forget_unwanted()
        self._problem = ""  # what keeps the job from being made, besides refusals
        self.wake_at: datetime | None = None

    def _forget_unwanted(self) -> None:
        """Leave out refusals of pods that the job does not want any more."""
        job = self._cluster.jobs.get(self._key)
        if not self._refusals or job is None:
            return
        self._refusals = {
            (kind, key): why
            for (kind, key), why in self._refusals.items()
            if kind != "Pod" or _is_wanted(job, key)
        }

    def writes(self) -> list[ControllerWrite]:
        """What has to be written now."""
        job = self._cluster.jobs.get(self._key)
        uid = None if job is None else job.metadata.uid
        own = [pod for pod in self._pods if pod.owner_uid == uid]
        writes: list[ControllerWrite] = []
        writes += [_let_go(pod) for pod in self._pods if pod.owner_uid != uid and pod.is_tracked]
        if job is None or job.is_terminating:
            return [*writes, *(_let_go(pod) for pod in own if pod.is_tracked)]
        group = self._cluster.groups.get(group_key(job))
        writes += self._commands_done(job)
        decision = self._decision(job, own, group)
        if decision.status is not None and decision.status != job.status:
            status = with_counts(decision.status, count(job, decision.status, own), job.spec.least)
            return [*writes, _set_status(job, status), *decision.recorded]
        self.wake_at = decision.wake_at
        made = list(self._made(job, own, group)) if job.status.state.phase in ACTIVE_JOBS else []
        gone = list(self._gone(job, own, group))
        if job.status.state.phase == "" and (group is not None or self._refusals or self._problem):
            return [*writes, _set_status(job, self._first_status(job, own))]
        return [*writes, *gone, *made, *self._progress(job, own, group)]

    def _decision(self, job: Job, own: list[JobPod], group: PodGroup | None) -> Decision:
        """The next step; a job that has not begun takes none."""
        commands = self._commands(job)
        # One that is carried out has to go first: the status knows only the last.
        is_last_gone = all(command.metadata.uid != job.status.last_command for command in commands)
        if commands and is_last_gone:
            return after_command(job, commands[0], own, self._now)
        if not job.status.state.phase:
            return Decision(None)
        key = self._job_before(job, group)
        before = None if key is None else self._cluster.jobs.get(key)
        if why := cannot_follow(before):
            facts = JobFacts(job, own, count(job, job.status, own), cannot_follow=why)
            return Decision(after_facts(facts, self._now))
        if key is not None and waits_for_job(job, before):
            return Decision(None)  # it has not begun, however few pods it needs to run
        return after_what_happened(job, own, group, self._now)

    def _commands(self, job: Job) -> list[Command]:
        """The Commands to this very job, in the order in which they were given."""
        named = [self._cluster.commands[key] for key in self._cluster.commands_to_job.keys(self._key)]
        meant = [
            command
            for command in named
            if command.target is None or command.target.uid in ("", job.metadata.uid)
        ]
        return sorted((command for command in meant if not command.is_terminating), key=self._given)

    def _given(self, command: Command) -> tuple[datetime, int, str]:
        """When a Command was given: times are whole seconds, and resource versions rise in between."""
        metadata = command.metadata
        version = whole_number(metadata.resource_version) or 0
        return metadata.creation_timestamp or self._now, version, metadata.name

    def _commands_done(self, job: Job) -> Iterator[ControllerWrite]:
        """Delete the Command that was carried out, and those to another job that had this name."""
        for key in self._cluster.commands_to_job.keys(self._key):
            command = self._cluster.commands[key]
            uid = command.target.uid if command.target is not None else ""
            is_done = command.metadata.uid == job.status.last_command
            if (is_done or uid not in ("", job.metadata.uid)) and not command.is_terminating:
                yield Delete(kind="Command", key=key, uid=command.metadata.uid)

    # What the phase asks for

    def _job_before(self, job: Job, group: PodGroup | None) -> str | None:
        """The key of the job that must complete before this one, unless this one has begun or is over."""
        has_run = any(condition.status == "Running" for condition in job.status.conditions)
        is_waiting = group is None and not has_run and job.status.state.phase in ACTIVE_JOBS
        return job_before(job) if is_waiting else None

    def _made(self, job: Job, own: list[JobPod], group: PodGroup | None) -> Iterator[ControllerWrite]:
        """What a job that is to run lacks: first what its pods need, then the pods."""
        if (before := self._job_before(job, group)) is not None:
            self._problem = waits_for_job(job, self._cluster.jobs.get(before))
            if self._problem:
                return
        try:
            needed = [*self._objects(job), *self._claims(job)]
            if needed or self._problem:
                yield from needed
                return
            yield from self._group(job, own, group)
            yield from self._missing_pods(job, own, group)
        except JobPluginError as error:
            self._problem = str(error)
        except BadObjectError as error:
            self._problem = f"a template cannot be read: {error}"

    def _objects(self, job: Job) -> list[ControllerWrite]:
        """The objects of plugins, where they are not there for this generation of the spec."""
        if not job.spec.plugins or job.status.plugins_generation == job.metadata.generation:
            return []
        seen = plugin_job(job)
        if missing := self._plugins.missing(seen):
            self._problem = (
                f"it has the plugin {missing[0]}, which is not installed; install it or make a new job"
            )
            return []
        if not self._lacks_objects(job):
            return []
        return [
            Ensure(kind=kind, key=key, document=_owned(job, owned), update=owned.update, about=self._key)
            for owned in self._plugins.objects(seen, self._new_key)
            for kind, key in [_path_of(job, owned)]
        ]

    def _lacks_objects(self, job: Job) -> bool:
        """Whether an object of a plugin is not known to be there as this generation of the spec has it."""
        made, generation = self._cluster.objects_made.get(self._key, {}), job.metadata.generation
        wanted = f"{job.metadata.uid}/{generation}"
        objects = self._plugins.objects(plugin_job(job), no_key)  # only their names matter
        return any(made.get(_path_of(job, owned)) != wanted for owned in objects)

    def _claims(self, job: Job) -> list[ControllerWrite]:
        """The claims that are made for the job; those that it names must be there."""
        namespace, writes = job.metadata.namespace or "default", list[ControllerWrite]()
        for claim in mounted_claims(job):
            key = f"{namespace}/{claim.name}"
            if key in self._cluster.claims:
                continue
            if claim.spec is None:
                self._problem = f"the volume claim {claim.name} is not there; create it"
                continue
            document = claim_document(job, claim)
            writes.append(_create("PersistentVolumeClaim", key, document, self._key))
        return writes

    def _group(self, job: Job, own: list[JobPod], group: PodGroup | None) -> Iterator[ControllerWrite]:
        wanted = wanted_group(job, tuple(waiting_tasks(job, own)), self._cluster.priorities)
        if group is None:
            yield _create("PodGroup", group_key(job), group_document(job, wanted), self._key)
        elif patch := group_patch(group, wanted):
            yield Patch(kind="PodGroup", key=group.key, patch=patch)

    def _missing_pods(self, job: Job, own: list[JobPod], group: PodGroup | None) -> Iterator[ControllerWrite]:
        """The pods that are not there, once the group is admitted; while some are refused, one as a try."""
        if not job.status.state.phase or group is None or group.is_terminating:
            return
        if group.status.phase in ("", "Pending"):
            return
        most = 1 if any(kind == "Pod" for kind, _ in self._refusals) else _MOST_PODS
        waiting, maker = waiting_tasks(job, own), PodMaker(job, self._plugins.change_pod)
        there = {pod.key for pod in self._pods if not pod.is_gone}
        namespace, size = job.metadata.namespace or "default", 0
        for task in job.spec.tasks:
            done = parse_indexes(job.status.completed_indexes.get(task.name, ""))
            for index in range(task.replicas) if task.name not in waiting else ():
                key = f"{namespace}/{pod_name(job, task, index)}"
                if key in there or index in done:
                    continue
                if not most or size > _MOST_BYTES:
                    return
                most -= 1
                document = maker.document(task, index)
                size += len(msgspec.json.encode(document))
                yield _create("Pod", key, document, self._key)

    def _gone(self, job: Job, own: list[JobPod], group: PodGroup | None) -> Iterator[ControllerWrite]:
        """What the job is to lose: pods, then its group, then what its pods needed."""
        is_unwanted, phase = unwanted(job, job.status), job.status.state.phase
        losing = [pod for pod in own if is_unwanted(pod) or (pod.is_evicted and not pod.is_gone)]
        for pod in losing:
            if pod.is_terminating:
                continue
            yield _let_go(pod)
            yield Delete(kind="Pod", key=pod.key, uid=pod.uid)
        for pod in own:
            if pod.is_tracked and pod.is_terminating and not pod.is_gone:
                yield _let_go(pod)  # its end is in the status, or no policy answers it
        restart = job.status.restart
        is_whole_restart = phase == "Restarting" and restart is not None and not restart.targets
        is_over = phase in FINISHED_JOBS and not any(_is_alive(pod) for pod in own)
        are_going = all(pod.is_terminating for pod in own if is_unwanted(pod))
        has_group = group is not None and not group.is_terminating
        if group is not None and has_group and (is_over or (is_whole_restart and are_going)):
            yield Delete(kind="PodGroup", key=group.key, uid=group.metadata.uid)
        if is_over:
            yield from self._objects_to_delete(job)
            yield from self._expired(job)

    def _objects_to_delete(self, job: Job) -> Iterator[ControllerWrite]:
        if not job.status.plugins_generation:
            return
        made = self._cluster.objects_made.get(self._key, {})
        try:
            objects = self._plugins.objects(plugin_job(job), no_key)
        except JobPluginError:
            return  # they go with the job
        left = [path for path in (_path_of(job, owned) for owned in objects) if made.get(path) != ""]
        if left:
            yield from (Delete(kind=kind, key=key, about=self._key) for kind, key in left)
            return
        resources = {
            name: text
            for name, text in job.status.controlled_resources.items()
            if not name.startswith("plugin-")
        }
        gone = msgspec.structs.replace(job.status, plugins_generation=0, controlled_resources=resources)
        yield _set_status(job, gone)

    def _expired(self, job: Job) -> Iterator[ControllerWrite]:
        """Delete a job that is over for longer than it is to be kept."""
        kept, since = job.spec.ttl_seconds_after_finished, job.status.state.last_transition_time
        if kept is None or since is None:
            return
        at = since + timedelta(seconds=kept)
        if at <= self._now:
            yield Delete(kind="Job", key=self._key, uid=job.metadata.uid, waits_for_dependents=True)
        else:
            self.wake_at = at

    # What the status says

    def _first_status(self, job: Job, own: list[JobPod]) -> JobStatus:
        """The first status: its group is there by then, unless something keeps it from being made."""
        why = why_it_waits(job, own, None, self._refusals, self._problem)  # the group's comes with an event
        facts = JobFacts(job, own, count(job, job.status, own), waiting=why)
        status = after_facts(facts, self._now) or job.status
        return self._with_objects(job, with_counts(status, facts.counts, job.spec.least))

    def _with_objects(self, job: Job, status: JobStatus) -> JobStatus:
        """Note that the objects of plugins are there, once they are."""
        resources = {f"volume-pvc-{claim.name}": claim.name for claim in mounted_claims(job)}
        generation = status.plugins_generation
        if generation == job.metadata.generation:
            return status
        if job.spec.plugins and not self._problem and not self._lacks_objects(job):
            generation = job.metadata.generation
        if generation:
            resources |= self._plugins.controlled(plugin_job(job))
        return msgspec.structs.replace(status, plugins_generation=generation, controlled_resources=resources)

    def _progress(self, job: Job, own: list[JobPod], group: PodGroup | None) -> Iterator[ControllerWrite]:
        """Counters, and why the job waits."""
        if is_at_rest(job.status):
            return
        status = with_counts(job.status, count(job, job.status, own), job.spec.least)
        if job.status.state.phase in ACTIVE_JOBS and job.status.state.phase:
            status = self._with_objects(job, status)
            reason, message = why_it_waits(job, own, group, self._refusals, self._problem)
            state = msgspec.structs.replace(status.state, reason=reason, message=message)
            status = msgspec.structs.replace(status, state=state)
            if message and reason != job.status.state.reason and group is not None and not self._refusals:
                text = f"PodGroup {self._key.replace('/', ':')} unschedulable, reason: {message}"
                yield RecordEvent(
                    kind="Job", key=self._key, reason="PodGroupPending", message=text, is_warning=True
                )
        if status != job.status:
            yield _set_status(job, status)


def _is_wanted(job: Job, pod: str) -> bool:
    """Whether a job wants a pod of this key; its pods are not listed for it, of which there may be many."""
    index = whole_number(pod.rpartition("-")[2])
    namespace = job.metadata.namespace or "default"
    return index is not None and any(
        index < task.replicas and pod == f"{namespace}/{pod_name(job, task, index)}"
        for task in job.spec.tasks
    )


def _set_status(job: Job, status: JobStatus) -> SetStatus:
    changes = difference(job.status, status)
    return SetStatus(kind="Job", key=job.key, status=changes, version=job.metadata.resource_version)


def _let_go(pod: JobPod) -> Patch:
    """Mark a pod as one that the controller has done with, so that it can go."""
    others = [finalizer for finalizer in pod.finalizers if finalizer != FINALIZER]
    metadata: Json = {"annotations": {OUT_OF_SYNC: "true"}, "uid": pod.uid}
    if pod.is_tracked:
        metadata["finalizers"] = others or None
    return Patch(kind="Pod", key=pod.key, patch={"metadata": metadata})


def _create(kind: str, key: str, document: Json, job: str) -> Create:
    return Create(kind=kind, key=key, document=document, about=job, about_kind="Job")


def _owned(job: Job, owned: OwnedObject) -> Json:
    given = owned.document.get("metadata")
    metadata: Json = {
        **(given if isinstance(given, dict) else {}),
        "namespace": job.metadata.namespace or "default",
        "ownerReferences": [owner_reference(job)],
    }
    return {**owned.document, "metadata": metadata}


def _path_of(job: Job, owned: OwnedObject) -> tuple[str, str]:
    metadata = owned.document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    return str(owned.document.get("kind")), f"{job.metadata.namespace or 'default'}/{name}"


def _is_alive(pod: JobPod) -> bool:
    return not pod.is_finished and not pod.is_gone
