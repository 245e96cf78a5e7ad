"""Reading a flow or a cron job with its jobs and events."""

import asyncio
from typing import TYPE_CHECKING

from maar.cli.job.view import events_of
from maar.cli.tables import Document
from maar.core.model.kinds import from_document
from maar.core.views.flow_summary import FLOW_LABEL, CronSummary, FlowSummary
from maar.core.views.flow_text import CronView, FlowView
from maar.core.views.job_summary import JobSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient


async def read_flow(cluster: "ClusterClient", document: Document) -> FlowView:
    """Read the jobs and the events of a flow."""
    flow = from_document(FlowSummary, document)
    namespace, name = flow.metadata.namespace, flow.metadata.name
    labels = f"{FLOW_LABEL}={namespace}.{name}"
    jobs, events = await asyncio.gather(
        cluster.objects(JobSummary, namespace, labels),
        events_of(cluster, namespace, "JobFlow", flow.metadata.uid),
    )
    return FlowView(flow, jobs, events)


async def read_cron(cluster: "ClusterClient", document: Document) -> CronView:
    """Read the jobs and the events of a cron job."""
    cron = from_document(CronSummary, document)
    namespace, uid = cron.metadata.namespace, cron.metadata.uid
    jobs, events = await asyncio.gather(
        cluster.objects(JobSummary, namespace), events_of(cluster, namespace, "CronJob", uid)
    )
    own = [job for job in jobs if any(one.uid == uid for one in job.metadata.owner_references)]
    return CronView(cron, own, events)
