"""The state and counters of queues, and the commands that open and close them.

Level-based: whatever order events come in, the state follows from what is there now. A queue is
looked at when it, a command to it, its work or that of a queue below it has changed; where it was
opened, closed or moved, so are the queues below it.

Clients of Volcano, which has no spec.state, delete a queue in two steps: they write Closed into
its status, then delete it. So a Closed that another client wrote stands for a while before the
state follows the spec again. Who wrote it and when is in the queue's managedFields: nothing has to
be remembered here.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from maar.core.controllers.changes import (
    AnyChange,
    CommandChanged,
    JobChanged,
    PodGroupChanged,
    QueueChanged,
    queue_and_phase,
    queue_of_command,
    queue_of_job,
)
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Reconciled
from maar.core.model.differences import difference
from maar.core.model.job import Command
from maar.core.model.metadata import FIELD_MANAGER
from maar.core.model.queue import ALWAYS_OPEN, ROOT, Queue, QueueState, QueueStatus
from maar.core.model.queue_state import asked_to_close_by, queue_state
from maar.core.model.whole_numbers import whole_number
from maar.core.model.writes import ControllerWrite, Create, Delete, Patch, RecordEvent, SetStatus

_COUNTED: Final = ("pending", "inqueue", "running", "unknown", "completed")
# Clients take up to 2 s; times in managedFields are whole seconds, and clocks differ by a little.
_CLOSED_BY_CLIENT_STANDS: Final = timedelta(seconds=5)
_ORDERS: Final = {"OpenQueue": "Open", "CloseQueue": "Closed"}


class QueueStates(ClusterController):
    """Keys are the names of queues, those that do not exist included."""

    def first_keys(self) -> Collection[str]:
        """The queues that must be there."""
        return ALWAYS_OPEN

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The queues that a change concerns."""
        path = cluster.counts.path
        match change:
            case QueueChanged():
                yield change.key
                if _place(change.before) != _place(change.after):
                    yield from path(change.before.parent) if change.before is not None else ()
                    yield from path(change.key)
                    yield from cluster.counts.below(change.key)
            case PodGroupChanged():
                before, after = queue_and_phase(change.before), queue_and_phase(change.after)
                if before != after:
                    yield from path(before[0]) if before is not None else ()
                    yield from path(after[0]) if after is not None else ()
            case JobChanged():
                queues = queue_of_job(change.before), queue_of_job(change.after)
                if queues[0] != queues[1]:
                    for queue in filter(None, queues):
                        yield from path(queue)
            case CommandChanged():
                yield from filter(None, map(queue_of_command, (change.before, change.after)))

    def reconcile(self, cluster: ClusterView, keys: Collection[str], now: datetime) -> Reconciled:
        """What has to be written for these queues to be there and in their states."""
        for name in ALWAYS_OPEN:
            if name in keys and name not in cluster.queues:
                yield name, _made(name)
        yield from _carried_out_commands(cluster, keys)
        for name in sorted(keys, key=lambda key: (len(cluster.counts.path(key)), key)):
            if (queue := cluster.queues.get(name)) is None:
                continue
            state, until = _state(cluster, name), _stands_until(queue)
            if until is not None and (state == "Closed" or until <= now):
                until = None
            for write in _status(cluster, queue, state, is_kept=until is not None):
                yield name, write
            if until is not None:
                yield name, until


def _place(queue: Queue | None) -> tuple[str, bool] | None:
    """What the states and counters of other queues follow from."""
    return None if queue is None else (queue.parent, queue.is_asked_to_close)


def _made(name: str) -> ControllerWrite:
    document: dict[str, object] = {
        "apiVersion": Queue.api_version,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": name != ROOT},
    }
    return Create(kind="Queue", key=name, document=document)


def _carried_out_commands(
    cluster: ClusterView, keys: Collection[str]
) -> Iterable[tuple[str, ControllerWrite]]:
    """Commands to queues: the effect is written first, then the command is deleted, so that none is lost."""
    commands = [cluster.commands[key] for name in keys for key in cluster.commands_to_queue.keys(name)]
    asked: dict[str, str] = {}
    for command in sorted(commands, key=_age):
        if command.action not in _ORDERS or command.target is None:
            continue
        state, name = _ORDERS[command.action], command.target.name
        queue = cluster.queues.get(name)
        if queue is None:
            pass  # nothing to open or close
        elif state == "Closed" and name in ALWAYS_OPEN:
            message = f"the queue {name} cannot be closed; close queues below it instead"
            yield (
                name,
                RecordEvent(kind="Queue", key=name, reason=command.action, message=message, is_warning=True),
            )
        elif asked.get(name, queue.spec.state or "Open") != state:
            asked[name] = state
            yield name, Patch(kind="Queue", key=name, patch={"spec": {"state": state}})
            done = "Open queue succeed" if state == "Open" else "Close queue succeed"
            yield name, RecordEvent(kind="Queue", key=name, reason=command.action, message=done)
        yield name, Delete(kind="Command", key=command.key, uid=command.metadata.uid)


def _state(cluster: ClusterView, name: str) -> QueueState:
    above = [cluster.queues[one] for one in cluster.counts.path(name) if one in cluster.queues]
    has_work = cluster.counts.unfinished(name) > 0
    return queue_state(is_asked_to_close=asked_to_close_by(above) is not None, has_work=has_work)


def _status(
    cluster: ClusterView, queue: Queue, state: QueueState, *, is_kept: bool
) -> Iterable[ControllerWrite]:
    """What to write about a queue; its counters alone where its state is kept as a client wrote it."""
    old, counts = queue.status, cluster.counts.counted(queue.key)
    new: QueueStatus = msgspec.structs.replace(old, **{name: counts[name] for name in _COUNTED})
    if not is_kept:
        new = msgspec.structs.replace(new, state=state)
    if patch := difference(old, new):
        yield SetStatus(kind="Queue", key=queue.key, status=patch)
    if old.state != new.state:
        before = f" (was {old.state})" if old.state else ""
        message = f"the queue is {state}{before}"
        yield RecordEvent(kind="Queue", key=queue.key, reason=f"Queue{state}", message=message)


def _stands_until(queue: Queue) -> datetime | None:
    """Until when the state stands that another client wrote; None where the state is Maar's to write."""
    if queue.status.state != "Closed" or queue.key in ALWAYS_OPEN:
        return None
    times = [
        field.time
        for field in queue.metadata.managed_fields
        if field.time is not None and field.manager != FIELD_MANAGER and _has_state(field.fields_v1)
    ]
    return max(times) + _CLOSED_BY_CLIENT_STANDS if times else None


def _has_state(fields: dict[str, object]) -> bool:
    status = fields.get("f:status")
    return isinstance(status, dict) and "f:state" in status


def _age(command: Command) -> tuple[float, int, str]:
    """When a command was given; of one second by its resource version, because it is not written again."""
    created, version = command.metadata.creation_timestamp, command.metadata.resource_version
    return (
        created.timestamp() if created else 0.0,
        whole_number(version) or 0,
        command.key,
    )
