"""Writes that are under way, applied to what the cluster has reported.

The problem. A bind takes a while to come back as an event, and the next decision is made before.
Without the bind it would place the pod again; without an eviction it would give the victim's room
away a second time.

How it works. For every pod with writes under way two things are kept: the row as the cluster last
reported it (`_reported`), and the writes in the order in which they were decided (`under_way`). The
tables have the row with these writes applied. An event goes into the tables first, so that their
row is what the cluster reported; the writes that are still under way are then applied to it again.
An assumption ends

- when an event shows that it has come true: the pod has a node, is being deleted, is nominated to
  the node;
- when the pod is gone, has finished, or another pod of its name exists, which has another uid;
- when the write has failed (`forget`); the row is then what the cluster reported, and the next
  decision is free.

A write without an answer is no failure: it may have been carried out. Whoever asked for it calls
`forget` a few seconds later, and by then an event has mostly shown whether it was.

Invariants.
- The row of a pod in the tables is its reported row with all its writes applied, and that row
  itself where there are none.
- `_reported` and `under_way` have the same pods; of one kind of write a pod has one at most, the
  last.
- `forget` takes back the very write that failed, by identity: an equal one that was decided since
  stays.
- Tables change between decisions only, so none of these methods is called during one.
An event or a write costs the work on one row, however many pods there are.

Why not otherwise? Waiting for the events before the next decision would make every cycle as slow as
the API server. Changing the table and changing it back after a failure would bring back an old row:
the pod may have changed meanwhile. Keeping pods as objects, as kube-scheduler's cache does, would
cost more memory than all tables. Claims and volumes are assumed in the same way in
`assumed_volumes.py`. Decision record 13.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.writes import Bind, Evict, Nominate, RemoveGate, Resume, Write
from maar.core.tables.assumed_volumes import AssumedVolumes
from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables

PodWrite = Bind | Evict | Nominate | RemoveGate

_NONE: Final[tuple[PodWrite, ...]] = ()


@dataclass(eq=False)
class Assumptions:
    """Writes under way, by pod, at most one of a kind; the tables see pods as if all had been carried out."""

    tables: Tables
    under_way: dict[str, tuple[PodWrite, ...]] = field(default_factory=dict)
    promised: dict[str, str] = field(default_factory=dict)  # the node that a waiting pod is promised
    resumed: dict[str, Resume] = field(default_factory=dict)  # room that groups are being promised
    volumes: AssumedVolumes = field(init=False)
    _reported: dict[str, PodRow] = field(default_factory=dict)  # the pods above as the cluster reported them

    def __post_init__(self) -> None:
        self.volumes = AssumedVolumes(self.tables)

    def feed(self, events: Iterable[Event]) -> None:
        """Take events in; an assumption ends where an event shows its effect."""
        listed = list(events)
        self.tables.feed(listed)
        if self.volumes.under_way:
            self.volumes.feed(listed)
        are_any = bool(self.under_way or self.promised)
        is_there: dict[str, bool] = {}
        for event in listed:
            match event:
                case Upserted(object=Pod() as pod):
                    if are_any or pod.status.nominated_node_name:
                        is_there[pod.key] = True
                case Deleted(kind="Pod", key=key):
                    is_there[key] = False
                case Upserted(object=PodGroup() as group) if self.resumed and group.key in self.resumed:
                    self._group_upserted(group)
                case Deleted(kind="PodGroup", key=key):
                    self.resumed.pop(key, None)
                case _:
                    pass
        for key, is_known in is_there.items():
            if is_known:
                self._pod_upserted(key)
            else:
                self._drop(key)
                self.promised.pop(key, None)

    def assume(self, write: Write) -> None:
        """Take a write for carried out; what was assumed of the pod before stays."""
        if isinstance(write, Resume):
            self.resumed[write.pod_group] = write
            self.tables.batch_jobs.promise_room(write.pod_group, write.room)
            return
        if not isinstance(write, PodWrite):
            self.volumes.assume(write)
            return
        if write.pod not in self.tables.pods:
            return
        key = write.pod
        before = tuple(one for one in self.under_way.get(key, _NONE) if type(one) is not type(write))
        self._apply(self._reported.get(key) or self.tables.pods[key], (*before, write))

    def forget(self, write: Write) -> None:
        """Take back what was assumed of a write that has failed, unless another has taken its place."""
        if isinstance(write, Resume):
            if self.resumed.get(write.pod_group) is write:
                del self.resumed[write.pod_group]
                self.tables.batch_jobs.promise_room(write.pod_group, None)
            return
        if not isinstance(write, PodWrite):
            self.volumes.forget(write)
            return
        known = self.under_way.get(write.pod, _NONE)
        left = tuple(one for one in known if one is not write)
        if len(left) < len(known):
            self._apply(self._reported[write.pod], left)

    def equal_to(self, write: Write) -> Write | None:
        """The write under way that says the same."""
        known: Iterable[Write | None] = (self.volumes.under_way.get(write.subject),)
        if isinstance(write, PodWrite):
            known = self.under_way.get(write.pod, _NONE)
        elif isinstance(write, Resume):
            known = (self.resumed.get(write.pod_group),)
        return next((one for one in known if one == write), None)

    def _group_upserted(self, group: PodGroup) -> None:
        room = self.resumed[group.key].room
        if group.promised_room == room:
            del self.resumed[group.key]
        else:
            self.tables.batch_jobs.promise_room(group.key, room)

    def _pod_upserted(self, key: str) -> None:
        row, reported = self.tables.pods[key], self._reported.get(key)
        if reported is not None and reported.uid != row.uid:
            self._drop(key)  # another pod of that name
        left = tuple([one for one in self.under_way.get(key, _NONE) if not _has_come_true(row, one)])
        if left:
            self._apply(row, left)
        else:
            self._drop(key)
            self._note_promise(row)

    def _apply(self, reported: PodRow, writes: tuple[PodWrite, ...]) -> None:
        """Put a pod into the tables as the cluster reported it, with these writes applied."""
        key = reported.key
        self._reported[key], self.under_way[key] = reported, writes
        row = reported
        for write in writes:
            row = _with(row, write)
        self.tables.put_pod(row)
        self._note_promise(row)
        if not writes:
            self._drop(key)

    def _note_promise(self, row: PodRow) -> None:
        if row.nominated and not row.node_name:
            self.promised[row.key] = row.nominated
        else:
            self.promised.pop(row.key, None)

    def _drop(self, key: str) -> None:
        if key in self.under_way:
            del self.under_way[key], self._reported[key]


def _with(row: PodRow, write: PodWrite) -> PodRow:
    """A pod as if a write had been carried out."""
    match write:
        case Bind(node=node):
            return replace(row, node_name=node, nominated="", group=None, counted=None)
        case Evict(beneficiary=beneficiary):
            return replace(row, is_terminating=True, evicted_for=beneficiary or "", group=None, counted=None)
        case Nominate(node=node):
            return replace(row, nominated=node, group=None, counted=None)
        case RemoveGate():
            return replace(row, is_gated=False, queue_gate="removed", group=None, counted=None)


def _has_come_true(row: PodRow, write: PodWrite) -> bool:
    match write:
        case Bind():
            return bool(row.node_name) or row.is_terminating or not row.is_live
        case Evict():
            return row.is_terminating or not row.is_live
        case Nominate(node=node):
            return row.nominated == node or bool(row.node_name)
        case RemoveGate():
            return not row.is_gated
