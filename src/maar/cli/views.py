"""One object with what belongs to it, as `view` draws it: read here, drawn by maar.core.views."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from maar.cli.failure import CommandError
from maar.cli.job.logs import pod_labels
from maar.cli.tables import Document
from maar.core.model.cron_job import CronJob
from maar.core.model.job import Job
from maar.core.model.job_flow import CREATED_BY_FLOW, JobFlow
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object
from maar.core.model.pod_group import PodGroup
from maar.core.views.drawing import Line
from maar.core.views.flow_text import CronView, FlowView, cron_lines, flow_lines
from maar.core.views.job_summary import EventSummary, PodSummary
from maar.core.views.job_text import JobView, job_lines

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

Draw = Callable[[float, int], Iterable[Line]]  # at a time, for a width


async def _job(cluster: "ClusterClient", document: Document) -> Draw:
    """Read the pods, the pod group and the events of a job, side by side."""
    job = from_document(Job, document)
    group, pods, events = await asyncio.gather(
        _group(cluster, job), _pods(cluster, job), _events(cluster, job)
    )
    return partial(job_lines, JobView(job, group, pods, events))


async def _flow(cluster: "ClusterClient", document: Document) -> Draw:
    flow = from_document(JobFlow, document)
    labels = f"{CREATED_BY_FLOW}={flow.metadata.namespace}.{flow.metadata.name}"
    jobs, events = await asyncio.gather(
        cluster.objects(Job, flow.metadata.namespace, labels), _events(cluster, flow)
    )
    return partial(flow_lines, FlowView(flow, jobs, events))


async def _cron(cluster: "ClusterClient", document: Document) -> Draw:
    cron = from_document(CronJob, document)
    jobs, events = await asyncio.gather(cluster.objects(Job, cron.metadata.namespace), _events(cluster, cron))
    uid = cron.metadata.uid
    own = [job for job in jobs if any(owner.uid == uid for owner in job.metadata.owner_references)]
    return partial(cron_lines, CronView(cron, own, events))


VIEWS: Final[Mapping[type[Object], "Callable[[ClusterClient, Document], Awaitable[Draw]]"]] = {
    Job: _job,
    JobFlow: _flow,
    CronJob: _cron,
}


async def _events(cluster: "ClusterClient", owner: Object) -> list[EventSummary]:
    """The events of an object; none where they may not be read."""
    metadata = owner.metadata
    fields = f"involvedObject.kind={owner.kind_name()},involvedObject.uid={metadata.uid}"
    try:
        return await cluster.objects(EventSummary, metadata.namespace, fields=fields)
    except CommandError:
        return []


async def _pods(cluster: "ClusterClient", job: Job) -> list[PodSummary]:
    try:
        return await cluster.objects(PodSummary, job.metadata.namespace, pod_labels(job.metadata.name))
    except CommandError:
        return []


async def _group(cluster: "ClusterClient", job: Job) -> PodGroup | None:
    """The pod group; None where there is none yet, or none any more."""
    try:
        return from_document(PodGroup, await cluster.get(PodGroup, group_of(job)))
    except CommandError:
        return None


def group_of(job: Job) -> str:
    """The key of a job's pod group."""
    return f"{job.metadata.namespace}/{job.metadata.name}-{job.metadata.uid}"
