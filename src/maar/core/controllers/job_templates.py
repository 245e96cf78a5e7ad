"""Job templates: the names of the jobs that were made from each."""

from collections.abc import Collection, Iterator
from datetime import datetime

from maar.core.controllers.cluster_view import (
    AnyChange,
    ClusterController,
    ClusterView,
    Wanted,
)
from maar.core.controllers.job_owners import JobTemplateChanged, OwnedJobChanged
from maar.core.model.differences import difference
from maar.core.model.job_flow import JobTemplate, JobTemplateStatus
from maar.core.model.writes import SetStatus


class JobTemplates(ClusterController):
    """Keys are those of job templates."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:  # noqa: ARG002
        """The templates that a change concerns."""
        match change:
            case JobTemplateChanged():
                yield change.key
            case OwnedJobChanged() if change.before is None or change.after is None:
                yield from {one.template for one in (change.before, change.after) if one and one.template}
            case _:
                pass

    def reconcile(
        self,
        cluster: ClusterView,
        keys: Collection[str],
        now: datetime,  # noqa: ARG002
    ) -> Wanted:
        """The statuses of these templates, where they are out of date."""
        owners = cluster.job_owners
        for key in sorted(keys):
            template = owners.templates.get(key)
            if template is None or template.is_terminating:
                continue
            names = sorted(owners.jobs[job].name for job in owners.jobs_of_template.keys(key))
            status = JobTemplateStatus(job_depends_on_list=tuple(names))
            if patch := difference(template.status, status):
                yield key, SetStatus(kind=JobTemplate.__name__, key=key, status=patch)
