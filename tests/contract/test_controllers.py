"""The controllers on API servers: whatever happens while they write, they come to what should be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from maar.apps.controllers import ControllerRunner
from maar.core.controllers.queue_state import QueueStates
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import place_of
from maar.kube.write import patch
from support.faults import Hold, Proxy
from support.manifests import make, there, unique
from support.until import until, until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

QUEUES = place_of(Queue)
HEADER = {"apiVersion": QUEUES.api_version, "kind": "Queue"}


@asynccontextmanager
async def running(runner: ControllerRunner) -> AsyncIterator[None]:
    task = asyncio.create_task(runner.run())
    try:
        await runner.first_round.wait()
        yield
    finally:
        runner.stop()
        await task


async def test_what_changes_while_a_write_is_under_way_is_looked_at_when_it_is_answered(
    api: ApiServer, faults: tuple[Proxy, ApiServer]
) -> None:
    (passing, through), name, released = faults, unique("queue"), asyncio.Event()
    runner, status = ControllerRunner(through, [QueueStates()]), f"/queues/{name}/status"
    async with running(runner):
        passing.plan(Hold(released), method="PATCH", part=status)
        await make(api, QUEUES, "", {**HEADER, "metadata": {"name": name}, "spec": {"weight": 1}})
        await until("its state is being written", lambda: passing.count("PATCH", status) == 1)
        assert isinstance(await patch(api, QUEUES, name, {"spec": {"state": "Closed"}}), Done)
        await until("it is heard of", lambda: runner.queues[name].spec.state == "Closed")
        await asyncio.sleep(0.5)  # several rounds
        assert passing.count("PATCH", status) == 1, "one write to an object at a time"
        released.set()

        async def is_closed() -> bool:
            return bool((await there(api, QUEUES, name))["status"]["state"] == "Closed")

        await until_async("it is closed", is_closed)


async def test_a_state_that_a_client_of_volcano_wrote_stands_until_it_can_delete_the_queue(
    api: ApiServer,
) -> None:
    name = unique("queue")
    path, status = f"{QUEUES.one(name)}/status", b'{"status": {"state": "Closed"}}'

    async def state() -> str:
        return str((await there(api, QUEUES, name)).get("status", {}).get("state"))

    async def is_open() -> bool:
        return await state() == "Open"

    async with running(ControllerRunner(api, [QueueStates()])):
        await make(api, QUEUES, "", {**HEADER, "metadata": {"name": name}, "spec": {"weight": 1}})
        await until_async("it is open", is_open)
        writer = {"fieldManager": "volcano-client"}
        await api.request("PATCH", path, writer, status, "application/merge-patch+json")
        for _ in range(20):
            await asyncio.sleep(0.1)
            assert await state() == "Closed"
        await until_async("the state follows the spec again", is_open)
