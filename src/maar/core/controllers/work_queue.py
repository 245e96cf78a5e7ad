"""One framework for Maar's own controllers and those of the embedded cluster.

A controller is two functions. `keys` says which keys a change concerns: names of queues, keys of
pod groups. `reconcile` says for some keys what has to be written for all to be as it should be.
Where that depends on time, it says when to look at a key again. A controller remembers nothing:
what it has to know is in the cluster, which whoever runs it keeps up to date change by change. So
it does not matter how often a key is looked at, or where a process was killed.

Invariants of the queue.
- A key is reconciled once, however often it was added before that.
- A time counts until its key is reconciled, whoever asked for that; of several times the first
  counts.
- A key that is busy stays in the queue.

Complexity. A key is added in constant time; a time costs the logarithm of how many there are.
Nothing is looked at that did not change and is not due.

Why not one key at a time, as in controller-runtime? Pod groups are made in the order of their
pods, and commands are carried out in the order in which they were given: both need all keys of a
round. `reconcile` is an iterator all the same: whoever carries out writes at once does so before
it is asked for the next.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

_ClusterT = TypeVar("_ClusterT")
_ChangeT = TypeVar("_ChangeT")
_KeyT = TypeVar("_KeyT")
_WriteT = TypeVar("_WriteT")
_ClusterT_contra = TypeVar("_ClusterT_contra", contravariant=True)
_ChangeT_contra = TypeVar("_ChangeT_contra", contravariant=True)
_WriteT_co = TypeVar("_WriteT_co", covariant=True)

_STALE: Final = 64  # times that are out of date, before the heap is made anew


class Controller(Protocol[_ClusterT_contra, _ChangeT_contra, _KeyT, _WriteT_co]):
    """Something that converges; controllers inherit what most of them have alike."""

    def first_keys(self) -> Collection[_KeyT]:
        """The keys to reconcile in any case when it starts, such as those of objects that may be missing."""
        return ()

    def keys(self, change: _ChangeT_contra, cluster: _ClusterT_contra) -> Iterable[_KeyT]:
        """The keys that a change concerns; called as soon as the cluster has it."""

    def reconcile(
        self, cluster: _ClusterT_contra, keys: Collection[_KeyT], now: datetime
    ) -> Iterator[tuple[_KeyT, _WriteT_co | datetime]]:
        """For these keys what has to be written, and when to look at one although nothing changes."""
        for key in keys:
            for wanted in self.wanted(cluster, key, now):
                yield key, wanted

    def wanted(self, cluster: _ClusterT_contra, key: _KeyT, now: datetime) -> Iterator[_WriteT_co | datetime]:
        """The same for one key, where it does not depend on the others."""
        return iter(())


class ControllerKey(NamedTuple, Generic[_KeyT]):
    """A key, and the controller that it is a key of, by its position in the list."""

    controller: int
    key: _KeyT


class WorkQueue(Generic[_ClusterT, _ChangeT, _KeyT, _WriteT]):
    """The keys of some controllers of one cluster: those that changed, were asked for, or are due."""

    def __init__(
        self, cluster: _ClusterT, controllers: Sequence[Controller[_ClusterT, _ChangeT, _KeyT, _WriteT]]
    ) -> None:
        self.cluster, self._controllers = cluster, controllers
        self._keys = [dict.fromkeys(controller.first_keys()) for controller in controllers]
        self._due: dict[ControllerKey[_KeyT], datetime] = {}
        self._times: list[tuple[datetime, ControllerKey[_KeyT]]] = []  # a heap; some are out of date

    def feed(self, changes: Iterable[_ChangeT]) -> None:
        """Add the keys that changes concern; each is made when it is asked for, and not before."""
        for change in changes:
            for controller, keys in zip(self._controllers, self._keys, strict=True):
                for key in controller.keys(change, self.cluster):
                    keys[key] = None

    def look_at(self, keys: Iterable[ControllerKey[_KeyT]], at: datetime | None = None) -> None:
        """Add keys for the next round, or for the first after a time."""
        for key in keys:
            if at is None:
                self._keys[key.controller][key.key] = None
            elif key not in self._due or at < self._due[key]:
                self._due[key] = at
                heappush(self._times, (at, key))
                if len(self._times) > 2 * len(self._due) + _STALE:
                    self._times = [(at, key) for key, at in self._due.items()]
                    heapify(self._times)

    def reconcile(
        self, now: datetime, busy: Container[ControllerKey[_KeyT]] = ()
    ) -> Iterator[tuple[ControllerKey[_KeyT], _WriteT]]:
        """What has to be written for the keys that are due; those that are busy stay for later."""
        while (wake_at := self.wake_at) is not None and wake_at <= now:
            self.look_at([self._times[0][1]])
            del self._due[heappop(self._times)[1]]
        for number, controller in enumerate(self._controllers):
            keys = {key: None for key in self._keys[number] if ControllerKey(number, key) not in busy}
            if not keys:
                continue
            self._keys[number] = {key: None for key in self._keys[number] if key not in keys}
            for key in keys:
                self._due.pop(ControllerKey(number, key), None)
            for key, wanted in controller.reconcile(self.cluster, keys, now):
                if isinstance(wanted, datetime):
                    self.look_at([ControllerKey(number, key)], wanted)
                else:
                    yield ControllerKey(number, key), wanted

    @property
    def wake_at(self) -> datetime | None:
        """When to reconcile at the latest, although nothing may have changed."""
        while self._times and self._due.get(self._times[0][1]) != self._times[0][0]:
            heappop(self._times)
        return self._times[0][0] if self._times else None

    @property
    def has_keys(self) -> bool:
        """Whether any key is to be reconciled at once."""
        return any(self._keys)


_T = TypeVar("_T")


@dataclass(frozen=True)
class Changed(Generic[_T]):
    """An object of which something has changed; None where there was none, or is none any more."""

    key: str
    before: _T | None
    after: _T | None
