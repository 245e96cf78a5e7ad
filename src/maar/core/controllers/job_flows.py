"""Job flows: jobs made from templates, each when those it depends on have come far enough.

A target has come far enough when it has Completed or, before that, when the probe says so. What
has completed is remembered in the status of the flow, so that a job that is deleted afterwards, by
hand, by its time to live or by the retain policy, is not made again. A flow with a job that Failed
or was Terminated has Failed for good: what runs goes on, and no further job is made. Jobs are made
from the templates as they are at that moment, so edits of the flow and of its templates count for
whatever has not been started.

What a flow says differently from a template is a merge patch that knows lists of named things.
Maps are merged key by key; null is unset, as everywhere. Where every entry of a list has a name
(tasks, containers, environment variables) or a mount path (volumes), entries are merged with those
of the same name, and new ones follow. Any other list takes the place of the old one.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, cast

from maar.core.controllers.changes import AnyChange
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Wanted
from maar.core.controllers.flow_status import flow_status, is_passed, job_name, missing_checks
from maar.core.controllers.job_owners import (
    COMPLETED,
    JobFlowChanged,
    JobOwners,
    JobTemplateChanged,
    OwnedJob,
    OwnedJobChanged,
)
from maar.core.model.differences import difference
from maar.core.model.job import Job
from maar.core.model.job_flow import (
    CREATED_BY_FLOW,
    CREATED_BY_TEMPLATE,
    Flow,
    JobFlow,
    JobFlowStatus,
    JobTemplate,
    JobTemplateStatus,
)
from maar.core.model.writes import (
    CheckPods,
    Create,
    Delete,
    PodCheck,
    RecordEvent,
    SetStatus,
)

_KIND: Final = JobFlow.__name__
_LOOK_AGAIN: Final = timedelta(minutes=1)  # whether a job of the same name has gone
_CHECK_AGAIN: Final = timedelta(seconds=5)  # whether pods answer
_MOST_CHECKS: Final = 256  # at a time


class JobFlows(ClusterController):
    """Keys are those of job flows."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The flows that a change concerns."""
        match change:
            case JobFlowChanged():
                yield change.key
            case JobTemplateChanged():
                yield from cluster.job_owners.flows_of_template.keys(change.key)
            case OwnedJobChanged():
                states = (change.before, change.after)
                yield from {job.owner for job in states if job is not None and job.owner_kind == _KIND}

    def wanted(self, cluster: ClusterView, key: str, now: datetime) -> Wanted:
        """Make the jobs whose turn it is, write how far the flow has come, and clean up."""
        flow = cluster.job_owners.flows.get(key)
        if flow is not None and not flow.is_terminating:  # its jobs go with it
            yield from _wanted(cluster, flow, now)


def _wanted(cluster: ClusterView, flow: JobFlow, now: datetime) -> Wanted:
    jobs = {job.name: job for job in cluster.job_owners.jobs_of(flow)}
    status = flow_status(flow, list(jobs.values()))
    if patch := difference(flow.status, status):
        yield SetStatus(kind=_KIND, key=flow.key, status=patch)
    if flow.spec.job_retain_policy == "delete" and flow.status.state.phase == "Succeed":
        for job in jobs.values():
            if job.phase == COMPLETED and not job.is_terminating:
                yield Delete(kind=Job.__name__, key=job.key, uid=job.uid)
    if status.state.phase == "Failed":
        return
    yield from _checked(cluster, flow, jobs, status, now)
    ready = {step.name: step for step in _ready(cluster, flow, jobs, status)}  # names may come twice
    for step in ready.values():
        write = _make(cluster.job_owners, flow, step)
        if isinstance(write, Create) or not patch:  # a flow is looked at again once it is patched
            yield write
        if isinstance(write, RecordEvent) and _template(cluster.job_owners, flow, step) is not None:
            yield now + _LOOK_AGAIN


def _waiting(flow: JobFlow, jobs: dict[str, OwnedJob], status: JobFlowStatus) -> Iterator[Flow]:
    """What has no job yet."""
    for step in flow.spec.flows:
        name = job_name(flow, step.name)
        if name not in jobs and name not in status.completed_jobs:
            yield step


def _ready(
    cluster: ClusterView, flow: JobFlow, jobs: dict[str, OwnedJob], status: JobFlowStatus
) -> Iterator[Flow]:
    """What has no job yet, and depends on nothing that has not come far enough."""
    for step in _waiting(flow, jobs, status):
        probe = step.depends_on.probe if step.depends_on else None
        if all(
            target in status.completed_jobs or (target in jobs and is_passed(probe, jobs[target], cluster))
            for target in _targets(flow, step)
        ):
            yield step


def _checked(
    cluster: ClusterView, flow: JobFlow, jobs: dict[str, OwnedJob], status: JobFlowStatus, now: datetime
) -> Wanted:
    """Ask pods what probes are about, and again some time after the last answers."""
    checks = _checks(cluster, flow, jobs, status)
    if not checks:
        return
    last = cluster.job_owners.checked_at(flow.key)
    if last is not None and last + _CHECK_AGAIN > now:
        yield last + _CHECK_AGAIN
    else:
        yield CheckPods(kind=_KIND, key=flow.key, checks=checks)
        yield now + _CHECK_AGAIN


def _checks(
    cluster: ClusterView, flow: JobFlow, jobs: dict[str, OwnedJob], status: JobFlowStatus
) -> tuple[PodCheck, ...]:
    """What has to be asked of pods before a job can be made."""
    checks: dict[PodCheck, None] = {}
    for step in _waiting(flow, jobs, status):
        probe = step.depends_on.probe if step.depends_on else None
        for target in _targets(flow, step) if probe is not None else ():
            if target in jobs and target not in status.completed_jobs:
                checks |= dict.fromkeys(missing_checks(probe, jobs[target], cluster))
    return tuple(checks)[:_MOST_CHECKS]


def _targets(flow: JobFlow, step: Flow) -> list[str]:
    return [job_name(flow, target) for target in (step.depends_on.targets if step.depends_on else ())]


def _template(owners: JobOwners, flow: JobFlow, step: Flow) -> JobTemplate | None:
    return owners.templates.get(JobTemplate.key_of(flow.metadata.namespace, step.name))


def _make(owners: JobOwners, flow: JobFlow, step: Flow) -> Create | RecordEvent:
    namespace = flow.key.partition("/")[0]
    name = job_name(flow, step.name)
    key = f"{namespace}/{name}"
    template = _template(owners, flow, step)
    if template is None:
        message = (
            f"there is no JobTemplate {step.name} in {namespace}; create it, and job {name} will be made"
        )
    elif key in owners.jobs or key in owners.other_jobs:
        message = f"there is a job {name} already that this flow did not make; delete it, or rename the flow"
    else:
        document = _document(flow, step, template, namespace)
        return Create(kind=Job.__name__, key=key, document=document, about=flow.key, about_kind=_KIND)
    return RecordEvent(kind=_KIND, key=flow.key, reason="FailedCreate", message=message, is_warning=True)


def _document(flow: JobFlow, step: Flow, template: JobTemplate, namespace: str) -> dict[str, object]:
    origin = {
        CREATED_BY_FLOW: f"{namespace}.{flow.metadata.name}",
        CREATED_BY_TEMPLATE: f"{namespace}.{step.name}",
    }
    owner = {
        "apiVersion": JobFlow.api_version,
        "kind": _KIND,
        "name": flow.metadata.name,
        "uid": flow.metadata.uid,
        "controller": True,
    }
    return {
        "apiVersion": Job.api_version,
        "kind": Job.__name__,
        "metadata": {
            "name": job_name(flow, step.name),
            "namespace": namespace,
            "labels": origin,
            "annotations": origin,
            "ownerReferences": [owner],
        },
        "spec": merged(template.spec, step.patch.spec) if step.patch else template.spec,
    }


Json = dict[str, object]

_NAMES: Final = ("name", "mountPath")


def merged(old: object, patch: object) -> object:
    """A value with a patch applied; what it was made from stays as it was."""
    if isinstance(patch, dict):
        before = old if isinstance(old, dict) else {}
        changed = {key: merged(before.get(key), value) for key, value in patch.items() if value is not None}
        return before | changed
    if isinstance(patch, list) and isinstance(old, list):
        name = next((key for key in _NAMES if _has_names(old, key) and _has_names(patch, key)), None)
        return patch if name is None else _merged_list(cast(list[Json], old), cast(list[Json], patch), name)
    return patch


def _has_names(values: list[object], name: str) -> bool:
    names = [value.get(name) if isinstance(value, dict) else None for value in values]
    return all(isinstance(value, str) for value in names) and len(set(names)) == len(names)


def _merged_list(old: list[Json], patch: list[Json], name: str) -> list[object]:
    patches = {item[name]: item for item in patch}
    there = {item[name] for item in old}
    kept = [merged(item, patches.get(item[name], {})) for item in old]
    return [*kept, *(merged(None, item) for item in patch if item[name] not in there)]


class JobTemplates(ClusterController):
    """Keys are those of job templates."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The templates that a change concerns."""
        match change:
            case JobTemplateChanged():
                yield change.key
            case OwnedJobChanged() if change.before is None or change.after is None:
                yield from {job.template for job in (change.before, change.after) if job and job.template}

    def wanted(self, cluster: ClusterView, key: str, now: datetime) -> Wanted:
        """The status of a template, where it is out of date."""
        owners, template = cluster.job_owners, cluster.job_owners.templates.get(key)
        if template is None or template.is_terminating:
            return
        names = sorted(owners.jobs[job].name for job in owners.jobs_of_template.keys(key))
        status = JobTemplateStatus(job_depends_on_list=tuple(names))
        if patch := difference(template.status, status):
            yield SetStatus(kind=JobTemplate.__name__, key=key, status=patch)
