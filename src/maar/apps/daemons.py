"""The parts of Maar that run beside a cluster, each in a process of its own."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path

from maar.apps.controllers import ControllerRunner, controllers
from maar.apps.scheduler import Scheduler
from maar.core.engine import Engine
from maar.core.policy.configuration import Configuration
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load

Ready = Callable[[], None]


async def schedule(
    kubeconfig: Path | None, context: str | None, configuration: Configuration, name: str, ready: Ready
) -> None:
    """Run the scheduler until SIGINT or SIGTERM; `ready` is called after the first decision."""
    async with ApiServer(await load(kubeconfig, context)) as api:
        scheduler = Scheduler(api, Engine(configuration, name))
        await _until_told(scheduler.run(), scheduler.first_decision, ready)


async def control(kubeconfig: Path | None, context: str | None, name: str, ready: Ready) -> None:
    """Run the controllers until SIGINT or SIGTERM; `ready` is called after the first round."""
    async with ApiServer(await load(kubeconfig, context)) as api:
        runner = ControllerRunner(api, controllers(name))
        await _until_told(runner.run(), runner.first_round, ready)


async def _until_told(work: Coroutine[None, None, None], begun: asyncio.Event, ready: Ready) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    working, told, started = (
        asyncio.create_task(work),
        asyncio.create_task(stop.wait()),
        asyncio.create_task(begun.wait()),
    )
    await asyncio.wait((working, told, started), return_when=asyncio.FIRST_COMPLETED)
    if started.done():
        ready()
    await asyncio.wait((working, told), return_when=asyncio.FIRST_COMPLETED)
    for task in (working, told, started):
        task.cancel()
    await asyncio.wait((working, told, started))
    if not working.cancelled():
        working.result()
