"""Jobs of batch/v1 that were suspended by Maar, in simulations: their pods to come are pods that wait.

In a simulation an evicted pod is submitted again as it was, and so are all pods of a Job that is
evicted: none is suspended there. Those that are suspended in the cluster, or wait for their pods,
are resumed at once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from maar.core.model.events import Upserted
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.workload import SUSPENDED_FOR_ANNOTATION, BatchJob
from maar.core.tables.batch_jobs import JobRow, pod_to_come
from maar.core.tables.tables import Tables


def with_resumed_jobs(objects: Iterable[Object], scheduler_name: str, now: float) -> list[Object]:
    """The same objects with Jobs that are not suspended, and the pods that they will make."""
    listed = list(objects)
    jobs = [one for one in listed if isinstance(one, BatchJob)]
    if not jobs:
        return listed
    tables = Tables(scheduler_name=scheduler_name)
    for one in listed:
        if isinstance(one, PodGroup | BatchJob) or (isinstance(one, Pod) and one.batch_job):
            tables.feed([Upserted(object=one)])
    tables.batch_jobs.settle(now)
    resumed = {row.job.key: row for row in tables.batch_jobs.by_uid.values() if row.to_come}
    found = list[Object]()
    for one in listed:
        if isinstance(one, BatchJob) and one.key in resumed:
            row = resumed[one.key]
            found += resumed_objects(row, (pod.promised for pod in row.to_come.values()))
        else:
            found.append(one)
    return found


def resumed_objects(row: JobRow, nodes: Iterable[str]) -> Iterator[BatchJob | Pod]:
    """A Job that is resumed, and its pods, promised these nodes."""
    job, left = row.job, iter(nodes)
    notes = {
        name: text for name, text in job.metadata.annotations.items() if name != SUSPENDED_FOR_ANNOTATION
    }
    # What the group promises is for an earlier generation.
    metadata = msgspec.structs.replace(
        job.metadata, annotations=notes, generation=job.metadata.generation + 2
    )
    yield msgspec.structs.replace(
        job, metadata=metadata, spec=msgspec.structs.replace(job.spec, suspend=False)
    )
    for number in sorted(row.to_come):
        pod = pod_to_come(job, number)
        yield msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, name=f"{job.metadata.name}-resumed-{number}"),
            status=msgspec.structs.replace(pod.status, nominated_node_name=next(left, "")),
        )


def nodes_of(promised: dict[str, int]) -> Iterator[str]:
    """Each node as often as it is promised."""
    return iter(sorted(Counter(promised).elements()))
