"""The demo: an organisation and an hour of its work on a cluster that runs already."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from maar.apps.demo.clock import MINUTE_S, Clock
from maar.apps.demo.frame import Frame, Summary, frame_of, summary_of
from maar.apps.demo.hour import HOUR, Group, Json
from maar.apps.demo.record import Record
from maar.apps.demo.steps import DemoSteps
from maar.apps.demo.submitter import Submitter
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.watch import Trouble, Watch

_WATCHED: Final = (Queue, PodGroup, Pod)
_FRAME_S: Final = 0.25
_MARGIN_S: Final = 75.0  # beyond the time that the hour takes, for a busy machine


async def run_demo(
    kubeconfig: Path,
    organisation: Iterable[Json],
    groups: Iterable[Group],
    speed: float,
    show: Callable[[Frame], None],
) -> Summary:
    """Run the simulated hour on a cluster; `show` gets a frame several times a second."""
    clock = Clock(speed)
    record = Record(clock)
    async with ApiServer(await load(kubeconfig), warn=record.add_line) as server:
        submitter = Submitter(server, clock, record)
        steps = DemoSteps(submitter)
        await submitter.found(organisation)

        def report(trouble: Trouble) -> None:
            record.add_line(f"the watch of {trouble.kind}: {trouble.problem}")

        watches = [Watch(server, kind, record.on_events, report) for kind in _WATCHED]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(watch.run()) for watch in watches]
            for watch in watches:
                await watch.synced()
            parts = (clock.run(record.is_behind), submitter.play(groups), _frames(record, steps, show))
            running += [tasks.create_task(part) for part in parts]
            ends = [tasks.create_task(end) for end in (clock.until(HOUR), steps.run())]
            await asyncio.wait(ends, timeout=HOUR * MINUTE_S / speed + _MARGIN_S)
            for task in (*ends, *running):
                task.cancel()
        return summary_of(record, steps)


async def _frames(record: Record, steps: DemoSteps, show: Callable[[Frame], None]) -> None:
    while True:
        record.sum_up_moves()
        show(frame_of(record, steps))
        await asyncio.sleep(_FRAME_S)
