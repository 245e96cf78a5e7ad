"""Reading a job with what belongs to it, for `maar job view`."""

import asyncio
from typing import TYPE_CHECKING

from maar.cli.failure import CommandError
from maar.cli.job.logs import pod_labels
from maar.cli.tables import Document
from maar.core.model.kinds import from_document
from maar.core.model.pod_group import PodGroup
from maar.core.views.job_summary import EventSummary, JobSummary, PodSummary
from maar.core.views.job_text import JobView

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient


async def read_view(cluster: "ClusterClient", document: Document) -> JobView:
    """Read the pods, the pod group and the events of a job, side by side."""
    job = from_document(JobSummary, document)
    group, pods, events = await asyncio.gather(
        _group(cluster, job),
        _pods(cluster, job),
        events_of(cluster, job.metadata.namespace, "Job", job.metadata.uid),
    )
    return JobView(job, group, pods, events)


async def events_of(cluster: "ClusterClient", namespace: str, kind: str, uid: str) -> list[EventSummary]:
    """The events of an object; none where they may not be read."""
    fields = f"involvedObject.kind={kind},involvedObject.uid={uid}"
    try:
        return await cluster.objects(EventSummary, namespace, fields=fields)
    except CommandError:
        return []


async def _pods(cluster: "ClusterClient", job: JobSummary) -> list[PodSummary]:
    labels = pod_labels(job.metadata.name)
    try:
        return await cluster.objects(PodSummary, job.metadata.namespace, labels)
    except CommandError:
        return []


async def _group(cluster: "ClusterClient", job: JobSummary) -> PodGroup | None:
    """The pod group; None where there is none yet, or none any more."""
    key = f"{job.metadata.namespace}/{job.metadata.name}-{job.metadata.uid}"
    try:
        return from_document(PodGroup, await cluster.get(PodGroup, key))
    except CommandError:
        return None
