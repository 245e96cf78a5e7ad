"""The state and counters of queues, and the commands that open and close them.

Level-based: whatever order events come in, the state follows from what is there now.

Clients of Volcano, which has no spec.state, delete a queue in two steps: they write Closed into its status,
then delete it. So a Closed that another client wrote stands for a while before the state follows the spec
again. Who wrote it and when is in the queue's managedFields: nothing has to be remembered here.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import msgspec

from maar.core.fairshare import Claim, QueueTree
from maar.core.model.differences import difference
from maar.core.model.events import Appeared, Event, Vanished
from maar.core.model.job import Command, Job
from maar.core.model.metadata import FIELD_MANAGER
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import ALWAYS_OPEN, DEFAULT, ROOT, Queue, QueueState, QueueStatus
from maar.core.model.queue_state import queue_state
from maar.core.model.whole_numbers import whole_number
from maar.core.model.writes import Change, Create, Later, Remove, SetStatus, Tell, Upkeep

_FINISHED_JOBS: Final = ("Aborted", "Completed", "Terminated", "Failed")
_COUNTED: Final = ("pending", "inqueue", "running", "unknown", "completed")
# Clients take up to 2 s; times in managedFields are whole seconds, and clocks differ by a little.
_CLOSED_BY_CLIENT_STANDS: Final = timedelta(seconds=5)
_ORDERS: Final = {"OpenQueue": "Open", "CloseQueue": "Closed"}


@dataclass(eq=False)
class QueueStates:
    """What decides the state of queues, kept event by event."""

    queues: dict[str, Queue] = field(default_factory=dict)
    groups: dict[str, tuple[str, str]] = field(default_factory=dict)  # queue and phase by key
    jobs: dict[str, str] = field(default_factory=dict)  # the queue of each unfinished job
    commands: dict[str, Command] = field(default_factory=dict)

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        for event in events:
            match event:
                case Appeared(object=Queue() as queue):
                    self.queues[queue.key] = queue
                case Appeared(object=PodGroup() as group):
                    self.groups[group.key] = (group.spec.queue, (group.status.phase or "Pending").lower())
                case Appeared(object=Job() as job) if job.status.state.phase not in _FINISHED_JOBS:
                    self.jobs[job.key] = job.spec.queue
                case Appeared(object=Job() as job):
                    self.jobs.pop(job.key, None)
                case Appeared(object=Command() as command):
                    self.commands[command.key] = command
                case Vanished(kind=kind, key=key):
                    self._forget(kind, key)
                case _:
                    pass

    def _forget(self, kind: str, key: str) -> None:
        match kind:
            case "Queue":
                self.queues.pop(key, None)
            case "PodGroup":
                self.groups.pop(key, None)
            case "Job":
                self.jobs.pop(key, None)
            case "Command":
                self.commands.pop(key, None)

    def reconcile(self) -> list[Upkeep | Later]:
        """What has to be written for every queue to be in its state."""
        return [*self._missing_queues(), *self._carried_out_commands(), *self._statuses()]

    def _missing_queues(self) -> Iterable[Upkeep]:
        for name, is_reclaimable in ((ROOT, False), (DEFAULT, True)):
            if name not in self.queues:
                document: dict[str, object] = {
                    "apiVersion": Queue.api_version,
                    "kind": "Queue",
                    "metadata": {"name": name},
                    "spec": {"weight": 1, "reclaimable": is_reclaimable},
                }
                yield Create(kind="Queue", key=name, document=document)

    def _carried_out_commands(self) -> Iterable[Upkeep]:
        """Orders to queues: first what they want is written, then they go, so that none is lost."""
        asked = {name: queue.spec.state or "Open" for name, queue in self.queues.items()}
        for key, command in sorted(self.commands.items(), key=lambda one: _age(one[1])):
            target = command.target
            if command.action not in _ORDERS or target is None or target.kind != "Queue":
                continue
            state, queue = _ORDERS[command.action], self.queues.get(target.name)
            if queue is None:
                pass  # nothing to open or close
            elif state == "Closed" and queue.key in ALWAYS_OPEN:
                message = f"the queue {queue.key} cannot be closed; close queues below it instead"
                yield Tell(
                    kind="Queue", key=queue.key, reason=command.action, message=message, is_warning=True
                )
            elif asked[queue.key] != state:
                asked[queue.key] = state
                yield Change(kind="Queue", key=queue.key, patch={"spec": {"state": state}})
                done = "Open queue succeed" if state == "Open" else "Close queue succeed"
                yield Tell(kind="Queue", key=queue.key, reason=command.action, message=done)
            yield Remove(kind="Command", key=key, uid=command.metadata.uid)

    def _statuses(self) -> Iterable[Upkeep | Later]:
        tree = QueueTree.of(
            Claim(name=name, parent=ROOT if name == ROOT else queue.parent)
            for name, queue in self.queues.items()
        )
        counts, busy = self._counted(), Counter(self.jobs.values())
        ancestors: list[tuple[int, ...]] = []
        for index, parent in enumerate(tree.parent.tolist()):
            ancestors.append((index,) if index == 0 else (index, *ancestors[parent]))
        totals = [Counter[str]() for _ in tree.names]
        work = [0] * len(tree.names)
        for index, name in enumerate(tree.names):
            mine = counts.get(name, Counter())
            unfinished = mine.total() - mine["completed"] + busy[name]
            for above in ancestors[index]:
                totals[above].update(mine)
                work[above] += unfinished
        asked = [self._is_asked_to_close(name) for name in tree.names]
        for index, name in enumerate(tree.names):
            if (queue := self.queues.get(name)) is not None:
                closes = any(asked[above] for above in ancestors[index])
                state = queue_state(is_asked_to_close=closes, has_work=work[index] > 0)
                yield from _status(queue, state, totals[index])
        for name in tree.set_aside:
            if name in self.queues:
                mine = counts.get(name, Counter())
                unfinished = mine.total() - mine["completed"] + busy[name]
                closes = self._is_asked_to_close(name)
                state = queue_state(is_asked_to_close=closes, has_work=unfinished > 0)
                yield from _status(self.queues[name], state, mine)

    def _is_asked_to_close(self, name: str) -> bool:
        queue = self.queues.get(name)
        return queue is not None and queue.is_asked_to_close

    def _counted(self) -> dict[str, Counter[str]]:
        counts: dict[str, Counter[str]] = {}
        for queue, phase in self.groups.values():
            counts.setdefault(queue, Counter())[phase] += 1
        return counts


def _status(queue: Queue, state: QueueState, counts: Counter[str]) -> Iterable[Upkeep | Later]:
    old = queue.status
    until = _stands_until(queue) if state != "Closed" else None
    counted: QueueStatus = msgspec.structs.replace(old, **{name: counts[name] for name in _COUNTED})
    new = counted if until is not None else msgspec.structs.replace(counted, state=state)
    if patch := difference(old, new):
        yield SetStatus(kind="Queue", key=queue.key, status=patch)
    if old.state != state:
        before = f" (was {old.state})" if old.state else ""
        told = Tell(
            kind="Queue", key=queue.key, reason=f"Queue{state}", message=f"the queue is {state}{before}"
        )
        if until is None:
            yield told
        else:
            yield Later(at=until, write=SetStatus(kind="Queue", key=queue.key, status={"state": state}))
            yield Later(at=until, write=told)


def _stands_until(queue: Queue) -> datetime | None:
    """Until when the state stands that another client wrote; None where the state is Maar's to write."""
    if queue.status.state != "Closed" or queue.key in ALWAYS_OPEN:
        return None
    times = [
        one.time
        for one in queue.metadata.managed_fields
        if one.time is not None and one.manager != FIELD_MANAGER and _has_state(one.fields_v1)
    ]
    return max(times) + _CLOSED_BY_CLIENT_STANDS if times else None


def _has_state(fields: dict[str, object]) -> bool:
    status = fields.get("f:status")
    return isinstance(status, dict) and "f:state" in status


def _age(command: Command) -> tuple[float, int, str]:
    """When a command was given; of one second by its resource version, for nobody writes it again."""
    created, version = command.metadata.creation_timestamp, command.metadata.resource_version
    return (
        created.timestamp() if created else 0.0,
        whole_number(version) or 0,
        command.key,
    )
