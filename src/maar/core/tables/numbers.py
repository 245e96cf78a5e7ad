"""Which pod of its group a pod is: its number, and whether the others depend on it.

A number comes from an index that a controller wrote, and only else from the name, whose end is
random for most workloads: a segment of at most four digits is taken for a number, a longer one is a
hash (Argo's pods end in a decimal one, and one random suffix of five letters in 850 is all digits).
"""

from collections.abc import Mapping
from typing import Final

from maar.core.model.metadata import Metadata

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_JOB_OF_SET: Final = ("jobset.sigs.k8s.io/job-global-index", "jobset.sigs.k8s.io/job-index")
_INDEXES: Final = (
    COMPLETION_INDEX,
    "apps.kubernetes.io/pod-index",  # StatefulSet
    "training.kubeflow.org/replica-index",  # training-operator, mpi-operator
    "spark-exec-id",
)
TASK_INDEX: Final = "volcano.sh/task-index"
_MARKS: Final = frozenset((TASK_INDEX, *_INDEXES, *_JOB_OF_SET))
_LEADS: Final = {
    "ray.io/node-type": ("head",),
    "spark-role": ("driver",),
    "training.kubeflow.org/job-role": ("master", "launcher"),
}
_LONGEST_SEGMENT: Final = 4
_LONGEST_INDEX: Final = 18
_LARGEST_JOB: Final = 2**31  # indexes within a Job are below it


def number_of(metadata: Metadata) -> int:
    """The number of a pod in its group: its index, else the last segment of its name, else 0."""
    if not (_MARKS.isdisjoint(metadata.labels) and _MARKS.isdisjoint(metadata.annotations)):
        index = _index({**metadata.labels, **metadata.annotations})
        if index is not None:
            return index
    segment = metadata.name.rpartition("-")[2]
    return int(segment) if len(segment) <= _LONGEST_SEGMENT and _is_whole(segment) else 0


def is_lead(metadata: Metadata) -> bool:
    """Whether the other pods of its group depend on it; of pods with equal numbers it is the last to go."""
    labels = metadata.labels
    return not labels.keys().isdisjoint(_LEADS) and any(
        labels.get(name) in roles for name, roles in _LEADS.items()
    )


def _index(marks: Mapping[str, str]) -> int | None:
    """The index that a controller wrote as an annotation or as a label."""
    task = _first(marks, (TASK_INDEX,))
    if task is not None:
        return task
    within, job = _first(marks, _INDEXES), _first(marks, _JOB_OF_SET)
    return within if job is None else job * _LARGEST_JOB + (within or 0)


def _first(marks: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    """The first of some marks that is a whole number."""
    for name in names:
        text = marks.get(name)
        if text is not None and len(text) <= _LONGEST_INDEX and _is_whole(text):
            return int(text)
    return None


def _is_whole(text: str) -> bool:
    return text.isdecimal() and text.isascii()
