"""What has been asked of the cluster and not been seen yet, laid over what the cluster tells.

A bind takes a while to come back as an event. Until then the pod counts as bound, or the next cycle would
place it again; the same holds for evictions and promises.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from maar.core.model.events import Appeared, Event, Vanished
from maar.core.model.pod import Pod
from maar.core.model.writes import Bind, Evict, Nominate, Write
from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables


@dataclass(eq=False)
class Assumptions:
    """Writes under way, by pod; the tables see pods as if these had been carried out."""

    tables: Tables
    under_way: dict[str, Bind | Evict | Nominate] = field(default_factory=dict)
    uids: dict[str, str] = field(default_factory=dict)  # of every pod that is known
    promised: dict[str, str] = field(default_factory=dict)  # the node that a waiting pod is promised
    _told: dict[str, PodRow] = field(default_factory=dict)  # what the cluster says of the pods above

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened; what a write was to bring about and has, needs no assumption any more."""
        listed = list(events)
        self.tables.feed(listed)
        last: dict[str, Pod | None] = {}
        for event in listed:
            match event:
                case Appeared(object=Pod() as pod):
                    last[pod.key] = pod
                case Vanished(kind="Pod", key=key):
                    last[key] = None
                case _:
                    pass
        for key, seen in last.items():
            if seen is not None:
                self._appear(seen)
            else:
                self._drop(key)
                self.uids.pop(key, None)
                self.promised.pop(key, None)

    def assume(self, write: Write) -> None:
        """Take a write for carried out."""
        key = "" if not isinstance(write, Bind | Evict | Nominate) else write.pod
        row = self.tables.pods.get(key)
        if row is None or not isinstance(write, Bind | Evict | Nominate):
            return
        self._told.setdefault(key, row)
        self.under_way[key] = write
        self._lay(row, write)

    def forget(self, write: Write) -> None:
        """Take back what was assumed of a write that has failed, unless another has come after it."""
        key = write.pod if isinstance(write, Bind | Evict | Nominate) else ""
        if self.under_way.get(key) is write:
            self.tables.put_pod(self._told[key])
            self._note_promise(self._told[key])
            self._drop(key)

    def _appear(self, pod: Pod) -> None:
        key, row = pod.key, self.tables.pods[pod.key]
        if self.uids.get(key) != pod.metadata.uid:
            self._drop(key)  # another pod of that name
            self.uids[key] = pod.metadata.uid
        write = self.under_way.get(key)
        if write is None or _has_come_true(row, write):
            self._drop(key)
            self._note_promise(row)
        else:
            self._told[key] = row
            self._lay(row, write)

    def _lay(self, row: PodRow, write: Bind | Evict | Nominate) -> None:
        match write:
            case Bind(node=node):
                changed = replace(row, node_name=node, nominated="", group=None, counted=None)
            case Evict(beneficiary=beneficiary):
                changed = replace(
                    row, is_terminating=True, evicted_for=beneficiary or "", group=None, counted=None
                )
            case Nominate(node=node):
                changed = replace(row, nominated=node, group=None, counted=None)
        self.tables.put_pod(changed)
        self._note_promise(changed)

    def _note_promise(self, row: PodRow) -> None:
        if row.nominated and not row.node_name:
            self.promised[row.key] = row.nominated
        else:
            self.promised.pop(row.key, None)

    def _drop(self, key: str) -> None:
        self.under_way.pop(key, None)
        self._told.pop(key, None)


def _has_come_true(row: PodRow, write: Bind | Evict | Nominate) -> bool:
    match write:
        case Bind():
            return bool(row.node_name) or row.is_terminating or not row.is_live
        case Evict():
            return row.is_terminating or not row.is_live
        case Nominate(node=node):
            return row.nominated == node or bool(row.node_name)
