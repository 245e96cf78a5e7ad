"""The shape of a controller: a function from a cluster, some keys and a time to writes.

A controller remembers nothing. It says which keys a change concerns (names of queues, keys of pod groups),
and what has to be written for a key to be as it should be. Where that depends on time, it says when to look
at the key again. Whoever runs it looks again at a key when a write for it was answered or has failed.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple, Protocol

from maar.core.controllers.cluster_view import AnyChange, ClusterView
from maar.core.model.writes import ControllerWrite


class Reconciled(NamedTuple):
    """The writes for some keys, each with its key, and when to reconcile keys although nothing changes."""

    writes: Sequence[tuple[str, ControllerWrite]]
    wake_at: Sequence[tuple[str, datetime]] = ()


class Controller(Protocol):
    """Something that converges; controllers inherit what most of them have alike."""

    first_keys: ClassVar[Collection[str]] = ()
    """The keys to reconcile in any case when it starts, such as those of objects that may be missing."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterable[str]:
        """The keys that a change concerns; called as soon as the view has it."""

    def reconcile(self, cluster: ClusterView, keys: Collection[str], now: datetime) -> Reconciled:
        """Return what has to be written for these keys; nothing where all is as it should be."""
