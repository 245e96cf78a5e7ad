"""The list of Maar's controllers."""

from collections.abc import Callable, Collection
from datetime import tzinfo

from maar.core.controllers.cluster_view import ClusterController
from maar.core.controllers.cron_jobs import CronJobs
from maar.core.controllers.job_flows import JobFlows, JobTemplates
from maar.core.controllers.jobs.controller import Jobs
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.controllers.queue_states import QueueStates
from maar.core.controllers.quotas import NamespaceQuotas
from maar.core.controllers.suspended_jobs import SuspendedJobs
from maar.core.controllers.unserved_pods import UnservedPods
from maar.core.job_plugins.plugin import SshKey
from maar.core.job_plugins.registry import JobPlugins


def all_controllers(
    new_key: Callable[[], SshKey],
    plugins: JobPlugins,
    zone: Callable[[str], tzinfo | None],
    only_schedulers: Collection[str] = (),
) -> tuple[ClusterController, ...]:
    """All controllers; only where no other scheduler than these runs can one say that pods are not served."""
    unserved = (UnservedPods(only_schedulers),) if only_schedulers else ()
    jobs = (Jobs(plugins, new_key), CronJobs(zone), JobFlows(), JobTemplates())
    return (QueueStates(), MissingGroups(), SuspendedJobs(), NamespaceQuotas(), *jobs, *unserved)
