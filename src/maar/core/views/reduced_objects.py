"""Objects without what no decision reads: other annotations, and what containers run."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from maar.core.model.job import Job, Task
from maar.core.model.kinds import BadObjectError, from_document, to_json
from maar.core.model.metadata import Metadata, Object
from maar.core.model.pod import Pod
from maar.core.model.workload import BatchJob

_DOMAINS: Final = ("maar.sh", "volcano.sh", "scheduling.k8s.io", "volume.kubernetes.io")
_TEMPLATE: Final = ("metadata", "spec")


def reduced(one: Object) -> Object:
    """Leave out annotations that are not for schedulers: they may contain anything."""
    if isinstance(one, BatchJob):
        template = msgspec.structs.replace(one.spec.template, metadata=_reduced(one.spec.template.metadata))
        one = msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, template=template))
    metadata = _reduced(one.metadata)
    return one if metadata is one.metadata else msgspec.structs.replace(one, metadata=metadata)


def reduced_jobs(jobs: Iterable[Job]) -> Iterator[Job]:
    """Jobs with as much of their templates as pods are read by; without those whose pods cannot be made."""
    for job in jobs:
        with suppress(BadObjectError):
            tasks = tuple(map(_reduced_task, job.spec.tasks))
            yield msgspec.structs.replace(
                job, metadata=_reduced(job.metadata), spec=msgspec.structs.replace(job.spec, tasks=tasks)
            )


def _reduced_task(task: Task) -> Task:
    pod = from_document(Pod, {name: task.template.get(name) for name in _TEMPLATE})
    template = {"metadata": _reduced(pod.metadata), "spec": pod.spec}
    return msgspec.structs.replace(task, written=msgspec.Raw(to_json(template)))


def _reduced(metadata: Metadata) -> Metadata:
    annotations = metadata.annotations
    kept = {name: text for name, text in annotations.items() if _is_for_schedulers(name)}
    return metadata if len(kept) == len(annotations) else msgspec.structs.replace(metadata, annotations=kept)


def _is_for_schedulers(annotation: str) -> bool:
    domain = annotation.partition("/")[0]
    return domain in _DOMAINS or domain.endswith(".volcano.sh")
