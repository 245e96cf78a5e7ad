"""A queue before the rules: as it was, as it would be, and what of it changes."""

from dataclasses import dataclass
from functools import cached_property

from maar.core.admission.case import Case
from maar.core.admission.cluster import KnownCluster
from maar.core.admission.reading import read_spec
from maar.core.admission.request import Options
from maar.core.model.kinds import BadObjectError
from maar.core.model.queue import Queue, QueueSpec


@dataclass(frozen=True, eq=False)
class QueueCase:
    """A queue before the rules; `old` is None where it is new, or where the stored one cannot be read."""

    new: Queue
    old: Queue | None
    known: KnownCluster
    options: Options

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.new.metadata.name

    @property
    def spec(self) -> QueueSpec:
        """The spec as it would be."""
        return self.new.spec

    @cached_property
    def is_moved(self) -> bool:
        """Whether it gets a place in the tree, or another one."""
        return self.old is None or self.old.parent != self.new.parent

    @cached_property
    def is_resized(self) -> bool:
        """Whether its guarantee or capability changes, or the queues they are compared with."""
        return (
            self.old is None
            or self.is_moved
            or self.old.spec.guarantee != self.spec.guarantee
            or self.old.spec.capability != self.spec.capability
        )

    @cached_property
    def has_place(self) -> bool:
        """Whether its parent exists and is neither the queue itself nor below it."""
        parent = self.known.queue(self.new.parent)
        return (
            parent is not None
            and parent.metadata.name != self.name
            and not self.known.is_below(parent, self.name)
        )


def read_queue(case: Case) -> QueueCase:
    """A queue is what the API says: every field that Maar reads has its type."""
    try:
        old = None if case.old is None else read_spec(Queue, case.old, case.name)
    except BadObjectError:
        old = None
    return QueueCase(read_spec(Queue, case.new, case.name), old, case.known, case.options)
