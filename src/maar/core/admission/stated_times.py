"""Annotations that state a time span: one that cannot be read is accepted, and has no effect."""

from collections.abc import Iterator
from typing import Final, Protocol

from maar.core.admission.case import Case
from maar.core.admission.plain import brief, map_at
from maar.core.admission.request import Problem
from maar.core.model.pod_group import SLA_ANNOTATIONS
from maar.core.model.run_time import EXPECTED_RUN_TIME, stated_seconds

_ANNOTATIONS: Final = (EXPECTED_RUN_TIME, *SLA_ANNOTATIONS)


class HasCase(Protocol):
    """What is checked of a job, a pod group or a pod."""

    @property
    def case(self) -> Case:
        """The request and what is known of the cluster."""


def stated_times(one: HasCase) -> Iterator[Problem]:
    """An expected run time, or a waiting time, is a duration or a whole number of seconds."""
    annotations = map_at(one.case.new, "metadata", "annotations")
    for name in _ANNOTATIONS:
        text = annotations.get(name)
        if isinstance(text, str) and stated_seconds({name: text}, name) is None:
            path, sentence = f"metadata.annotations[{name}]", "is no time span and has no effect"
            yield Problem(path, brief(text), f"{sentence}: write 90s, 30m or 1h30m")
