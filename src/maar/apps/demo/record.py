"""What the demo has read from the API server: the current objects, and what happened to them."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from maar.apps.demo.clock import Clock
from maar.core.answers.tree.answer import TreeView, is_settled, queue_tree
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.pod import EVICTED_FOR_ANNOTATION, GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import DEFAULT, ROOT, Queue, QueueStatus
from maar.core.model.reasons import Reason
from maar.core.model.resources import CPU, units_in_one

_STARTED: Final = ("Running", "Completed")
_MOMENT_S: Final = 2.0


class LogLine(NamedTuple):
    """A line of the demo's log."""

    minute: float
    text: str


class Submission(NamedTuple):
    """When a group was submitted, and into which queue."""

    minute: float
    queue: str
    second: float  # of our own time


@dataclass
class Average:
    """What a queue used and deserved, in CPUs, over the time that it has been watched."""

    since: float
    until: float
    used: float = 0.0  # CPUs x minutes
    deserved: float = 0.0

    def add(self, queue: Queue, minute: float) -> None:
        """Count what has been so until now."""
        span = minute - self.until
        self.used += cpus(queue.status.used) * span
        self.deserved += cpus(queue.status.deserved) * span
        self.until = minute


@dataclass(eq=False)
class Record:
    """Objects as the API server has them, and what has happened to them since the demo began."""

    clock: Clock
    queues: dict[str, Queue] = field(default_factory=dict)
    groups: dict[str, PodGroup] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    log: list[LogLine] = field(default_factory=list)
    submitted: dict[str, Submission] = field(default_factory=dict)  # by key of the group
    waits: dict[str, float] = field(default_factory=dict)  # minutes until it first ran, by key of the group
    done: set[str] = field(default_factory=set)
    evicted: Counter[str] = field(default_factory=Counter)  # pods, by queue
    reclaimed: int = 0  # pods that made room for another queue
    failed: int = 0  # pods; none should, for they are made to succeed
    averages: dict[str, Average] = field(default_factory=dict)
    lost: Callable[[str], None] = lambda _pod: None  # hears of a pod that went or failed before it was done
    _whole: list[Queue] = field(default_factory=list)  # of the last moment that was seen whole
    _unnoticed: dict[str, Submission] = field(default_factory=dict)
    _moves: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def add_line(self, text: str) -> None:
        """Add a line to the log."""
        self.log.append(LogLine(self.clock.minute, text))

    def on_events(self, events: list[Event]) -> None:
        """Take events of a watch."""
        for event in events:
            match event:
                case Upserted(object=Queue() as queue):
                    self._see_queue(queue)
                case Upserted(object=PodGroup() as group):
                    self._see_group(group)
                case Upserted(object=Pod() as pod):
                    self._see_pod(pod)
                case Deleted(kind="Pod", key=key) if key in self.pods:
                    self._lose(key, self.pods.pop(key))
                case _:
                    pass
        news, self._news = self._news, asyncio.Event()
        news.set()

    def is_behind(self) -> bool:
        """Whether a group submitted more than two seconds ago has no status from the scheduler yet."""
        now = time.monotonic()
        return any(now - submission.second > _MOMENT_S for submission in self._unnoticed.values())

    def submit(self, group: str, queue: str) -> None:
        """Note that a group is being submitted."""
        submission = Submission(self.clock.minute, queue, time.monotonic())
        self.submitted[group] = self._unnoticed[group] = submission

    def withdraw(self, group: str) -> None:
        """Note that a group was refused."""
        del self.submitted[group], self._unnoticed[group]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until what is seen is as it should be."""
        while not holds():
            await self._news.wait()

    def sum_up_moves(self) -> None:
        """Log the evictions since the last call, one line for each queue that gained."""
        moves, self._moves = self._moves, defaultdict(Counter)
        for winner, queues in moves.items():
            ours = self.queue_of(winner)
            if own := queues.pop(ours, 0):
                self.add_line(f"{winner} goes before others in {ours}: {_pods(own)}")
            if queues:
                lost = ", ".join(f"{_pods(count)} of {queue}" for queue, count in queues.items())
                self.add_line(f"{winner} takes back its share: {lost}" if winner else f"cleaned up: {lost}")

    def queue_of(self, group: str) -> str:
        """The queue that a group is in."""
        return self.submitted[group].queue if group in self.submitted else ""

    def reason(self, group: str) -> str:
        """Why a group waits, as the scheduler says; empty without a reason, or with pods under way."""
        conditions = self.groups[group].status.conditions if group in self.groups else ()
        waiting = [one for one in conditions if one.type == "Unschedulable" and one.status == "True"]
        return next((one.message for one in waiting if one.reason != Reason.NOT_ENOUGH_TASKS), "")

    def tree(self) -> TreeView:
        """The queue tree as it is now, without the default queue, which the demo does not use."""
        view = queue_tree(self._of_one_moment())
        if view is None:
            raise LookupError("a tree of queues has a root, always")
        return view

    def _of_one_moment(self) -> list[Queue]:
        """The queues; while some statuses are newer than others, all as they were last seen together."""
        queues = [queue for name, queue in self.queues.items() if name != DEFAULT]
        if is_settled(queues) and _adds_up(queues):
            self._whole = queues
        return self._whole or [msgspec.structs.replace(queue, status=QueueStatus()) for queue in queues]

    def leaves(self) -> list[Queue]:
        """The queues that hold work."""
        parents = {queue.parent for queue in self.queues.values()}
        return [queue for name, queue in self.queues.items() if name not in parents and name != ROOT]

    def _see_queue(self, queue: Queue) -> None:
        before, minute = self.queues.get(queue.key), self.clock.minute
        average = self.averages.setdefault(queue.key, Average(minute, minute))
        if before is not None:
            average.add(before, minute)
            if before.status.state and before.status.state != queue.status.state:
                self.add_line(f"queue {queue.key} was {before.status.state} and is {queue.status.state}")
        self.queues[queue.key] = queue

    def _see_group(self, group: PodGroup) -> None:
        key, phase = group.key, group.status.phase
        self.groups[key] = group
        if phase:
            self._unnoticed.pop(key, None)
        if phase in _STARTED and key in self.submitted:
            self.waits.setdefault(key, self.clock.minute - self.submitted[key].minute)
        if phase == "Completed":
            self.done.add(key)

    def _see_pod(self, pod: Pod) -> None:
        before = self.pods.get(pod.key)
        self.pods[pod.key] = pod
        if pod.status.phase == "Failed" and (before is None or before.status.phase != "Failed"):
            self.failed += 1
            self.add_line(f"{pod.key} failed on {pod.spec.node_name or 'no node'}")
            self.lost(pod.key)

    def _lose(self, key: str, pod: Pod) -> None:
        if pod.is_finished:
            return
        notes = pod.metadata.annotations
        queue, winner = self.queue_of(_group_of(pod)), notes.get(EVICTED_FOR_ANNOTATION, "")
        self.evicted[queue] += 1
        self.reclaimed += self.queue_of(winner) not in ("", queue)
        self._moves[winner][queue] += 1
        self.lost(key)


def _group_of(pod: Pod) -> str:
    """The key of a pod's group."""
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_ANNOTATION, '')}"


def cpus(amounts: Mapping[str, int]) -> float:
    """How many CPUs there are among amounts."""
    return amounts.get(CPU, 0) / units_in_one(CPU)


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _adds_up(queues: list[Queue]) -> bool:
    """Whether each inner queue uses and holds as much as those below it together."""
    inside: defaultdict[str, list[Queue]] = defaultdict(list)
    for queue in queues:
        if queue.key != ROOT:
            inside[queue.parent].append(queue)
    return all(
        _in_use(queue) == [sum(amounts) for amounts in zip(*map(_in_use, inside[queue.key]), strict=True)]
        for queue in queues
        if queue.key in inside
    )


def _in_use(queue: Queue) -> list[int]:
    status = queue.status
    return [status.used.get(CPU, 0), status.running, status.inqueue, status.pending]
