"""The steps of the demo; a step is complete when the API server's objects show its outcome."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from maar.apps.demo.clock import Clock, clock_time
from maar.apps.demo.hour import Group
from maar.apps.demo.record import Record, cpus
from maar.apps.demo.submitter import Submitter
from maar.core.model.queue import ROOT, Queue
from maar.core.model.resources import CPU, units_in_one
from maar.kube.outcome import Refused

SETTLED: Final = 0.9  # of what queues deserve is theirs
_EVERYBODY: Final = 7  # queues that ask at the same time
_RESERVED: Final = 24  # CPUs
_FULL: Final = 4.0  # CPUs that are free in a cluster that is full
_FILLING: Final = Group(20, "language", "language", "search", 40, 1, 1, 24)  # takes what nobody uses
_SERVERS: Final = tuple(Group(24, "serving", "serving", f"shop-{one}", 3, 3, 2, 16) for one in range(4))
_OVERSIZED: Final = Group(30, "notebooks", "notebooks", "course", 6, 6, 2, 10)
_LATE: Final = Group(36, "legacy", "legacy", "too-late", 1, 1, 1, 1)
SUBMITTED: Final = (_FILLING, *_SERVERS, _OVERSIZED, _LATE)  # beside what teams submit


@dataclass
class Step:
    """A step of the demo; the outcome describes it with figures, and is empty until it is complete."""

    title: str
    outcome: str = ""


@dataclass(eq=False)
class DemoSteps:
    """All steps, each waiting for its minute and then for its outcome."""

    submitter: Submitter
    settling: Step = field(default_factory=lambda: Step("queues get what they deserve"))
    reservation: Step = field(default_factory=lambda: Step("a reservation takes back what is its own"))
    oversized: Step = field(default_factory=lambda: Step("a gang that is too large says why it waits"))
    closing: Step = field(default_factory=lambda: Step("a queue closes and drains"))

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in their order."""
        return (self.settling, self.reservation, self.oversized, self.closing)

    @property
    def record(self) -> Record:
        """What has been seen."""
        return self.submitter.record

    @property
    def clock(self) -> Clock:
        """The time of the hour."""
        return self.submitter.clock

    async def run(self) -> None:
        """Run all steps; it ends when all are complete."""
        async with asyncio.TaskGroup() as tasks:
            for step in (self._settle(), self._reserve(), self._submit_oversized(), self._close()):
                tasks.create_task(step)

    async def _settle(self) -> None:
        await self.record.until(lambda: _is_settled(self.record))
        asking = list(_asking(self.record))
        had = _in_use_as_deserved(asking) / _deserved(asking)
        when = clock_time(self.clock.minute)
        self._show(
            self.settling,
            f"{len(asking)} queues asked for it all, and at {when} had {had:.0%} of what they deserve",
        )

    async def _reserve(self) -> None:
        record, name, keys = self.record, _SERVERS[0].queue, [group.key for group in _SERVERS]
        await self.clock.until(_FILLING.minute)
        await self.submitter.submit(_FILLING)
        record.add_line(f"{_FILLING.key} takes whatever nobody uses, one pod at a time")
        await self.clock.until(_SERVERS[0].minute)
        await record.until(lambda: _free(record) < _FULL)
        borrowed = min(_RESERVED, max(0.0, _RESERVED - _free(record)))
        began, before = time.monotonic(), record.reclaimed
        await self.submitter.change_queue(name, {"guarantee": {"resource": {"cpu": str(_RESERVED)}}})
        record.add_line(
            f"{_RESERVED} CPUs are reserved for {name}, which asks for them; others use {borrowed:.3g}"
        )
        async with asyncio.TaskGroup() as tasks:
            for group in _SERVERS:
                tasks.create_task(self.submitter.submit(group))
        await record.until(lambda: all(key in record.waits for key in keys))
        took, gone = time.monotonic() - began, record.reclaimed - before
        if gone:
            self._show(
                self.reservation,
                f"{name} got its {_RESERVED} CPUs back in {took:.1f} s: others used {borrowed:.3g}, "
                f"{gone} pods made room",
            )
        await record.until(lambda: all(key in record.done for key in keys))
        await self.submitter.change_queue(name, {"guarantee": {"resource": {"cpu": None}}})
        record.add_line(f"{name} is done and its reservation ends: others may use the {_RESERVED} CPUs again")

    async def _submit_oversized(self) -> None:
        record, group = self.record, _OVERSIZED
        await self.clock.until(group.minute)
        await self.submitter.submit(group)
        record.add_line(f"{group.key} asks for {group.pods} pods of {group.cpu} CPUs, all or nothing")
        await record.until(lambda: bool(record.reason(group.key)))
        self._show(self.oversized, f"{group.name} waits: {record.reason(group.key)}")

    async def _close(self) -> None:
        record, name = self.record, _LATE.queue
        await self.clock.until(_LATE.minute)
        await self.submitter.change_queue(name, {"state": "Closed"})
        began = self.clock.minute
        await record.until(lambda: record.queues[name].status.state in ("Closing", "Closed"))
        state, left = record.queues[name].status.state, _work(record.queues[name])
        refusal = await self.submitter.offer(_LATE)
        if not isinstance(refusal, Refused) or state != "Closing":
            return  # it had nothing to drain, or took what it should not
        record.add_line(f"{_LATE.key} is refused: {refusal.message}")
        await record.until(lambda: record.queues[name].status.state == "Closed")
        self._show(
            self.closing,
            f"{name}: {state} at {clock_time(began)} with {left} groups, Closed at "
            f"{clock_time(self.clock.minute)}; late work was refused",
        )

    def _show(self, step: Step, outcome: str) -> None:
        step.outcome = outcome
        self.record.add_line(outcome)


def _is_settled(record: Record) -> bool:
    """Whether many together ask for all there is, and nearly all that they deserve is theirs."""
    asking = list(_asking(record))
    deserved, total = _deserved(asking), cpus(record.queues[ROOT].status.deserved)
    return (
        len(asking) >= _EVERYBODY
        and deserved >= SETTLED * total
        and _in_use_as_deserved(asking) >= SETTLED * deserved
    )


def _asking(record: Record) -> Iterator[Queue]:
    return (queue for queue in record.leaves() if _work(queue))


def _work(queue: Queue) -> int:
    status = queue.status
    return status.pending + status.inqueue + status.running + status.unknown


def _free(record: Record) -> float:
    """CPUs that are neither used nor reserved."""
    queues = record.tree().queues
    cpu = {name: queue.resources[CPU] for name, queue in queues.items()}
    held = [max(one.used, one.guarantee or 0) for name, one in cpu.items() if not queues[name].children]
    return (cpu[ROOT].deserved - sum(held)) / units_in_one(CPU)


def _in_use_as_deserved(queues: list[Queue]) -> float:
    return sum(min(cpus(queue.status.used), cpus(queue.status.deserved)) for queue in queues)


def _deserved(queues: list[Queue]) -> float:
    return sum(cpus(queue.status.deserved) for queue in queues)
