"""What a change would do as columns: NumPy arrays of numbers and lists of names, row by row."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maar.core.answers.future import Certainty
from maar.core.model.columns import Columns

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class QueueChanges(NamedTuple):
    """A row for every queue and resource, amounts in whole units: thousandths of a CPU, bytes, pieces."""

    queue: list[str]
    resource: list[str]
    deserved_before: Integers
    deserved_after: Integers
    used_before: Integers
    used_after: Integers


class JobChanges(NamedTuple):
    """A row for every pod group; times in seconds since the epoch, NaN where nobody knows."""

    group: list[str]
    job: list[str]  # the key of its owner, or of the group itself where it has none
    queue: list[str]
    running_before: Integers  # pods on nodes
    running_after: Integers
    waiting_before: Integers  # pods without a node
    waiting_after: Integers
    evicted: Integers  # pods, on the way
    start_before: Floats
    start_after: Floats
    certainty_before: list[Certainty]
    certainty_after: list[Certainty]
    reason: list[str]  # why it waits after the change; empty: it does not


class Evictions(NamedTuple):
    """A row for every pod that the change would evict, in the order in which they go."""

    pod: list[str]
    group: list[str]
    queue: list[str]
    action: list[str]  # reclaim, preempt or cleanup; drain, or the deletion of its node
    beneficiary: list[str]  # the group that it makes room for; empty: none
    why: list[str]


class Binds(NamedTuple):
    """A row for every pod that runs somewhere only with the change."""

    pod: list[str]
    node: list[str]


@dataclass(frozen=True, eq=False)
class WhatIfColumns(Columns):
    """All columns of an answer."""

    queues: QueueChanges
    jobs: JobChanges
    evictions: Evictions
    binds: Binds

    @property
    def evicts(self) -> bool:
        """Whether somebody would be evicted."""
        return bool(self.evictions.pod)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The columns of queues, jobs, evictions and binds by name."""
        return {
            "queues": self.queues._asdict(),
            "jobs": self.jobs._asdict(),
            "evictions": self.evictions._asdict(),
            "binds": self.binds._asdict(),
        }
