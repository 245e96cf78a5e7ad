"""Nothing that the embedded server has acknowledged is ever lost."""

import asyncio
import json
import random
import shutil
import signal
from pathlib import Path

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import ResourcePath
from maar.kube.write import create
from support.maar_up import MaarUp

CONFIG_MAPS = ResourcePath("v1", "configmaps", namespaced=True)
WRITES = 1_000
CONNECTIONS = 32


async def write_until_killed(up: MaarUp, kill_after: int, prefix: str) -> list[str]:
    """Write with many connections, kill the server on the way, and give the keys that were acknowledged."""
    acknowledged: list[str] = []
    numbers = iter(range(WRITES))
    async with ApiServer(await load(up.kubeconfig), retry_timeout_s=0) as api:

        async def worker() -> None:
            for number in numbers:
                key = f"default/{prefix}-{number}"
                document = {"metadata": {"name": f"{prefix}-{number}"}, "data": {"text": "x" * 2_000}}
                if not isinstance(await create(api, CONFIG_MAPS, key, document), Done):
                    return
                acknowledged.append(key)
                if len(acknowledged) == kill_after:
                    up.stop(signal.SIGKILL)

        await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))
    return acknowledged


async def missing(up: MaarUp, keys: list[str]) -> set[str]:
    async with ApiServer(await load(up.kubeconfig)) as api:
        found = json.loads(await api.request("GET", CONFIG_MAPS.all("default")))
    return set(keys) - {f"default/{one['metadata']['name']}" for one in found["items"]}


def test_kill_9_in_the_middle_of_writes_loses_none_that_was_acknowledged(tmp_path: Path) -> None:
    rng = random.Random(seed := random.randrange(1 << 30))
    kept: list[str] = []
    with MaarUp(tmp_path, "--nodes", "none") as up:
        for attempt in range(3):
            kept += asyncio.run(write_until_killed(up, rng.randrange(50, WRITES - 50), f"c{attempt}"))
            up.start()
            assert asyncio.run(missing(up, kept)) == set(), f"seed {seed}"
        assert len(kept) > 100


def test_a_copy_of_the_data_folder_taken_under_load_opens_with_all_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "copy"

    async def write_and_copy(up: MaarUp) -> list[str]:
        before: list[str] = []
        enough = asyncio.Event()
        async with ApiServer(await load(up.kubeconfig)) as api:

            async def write(number: int) -> None:
                key = f"default/c-{number}"
                document = {"metadata": {"name": f"c-{number}"}, "data": {"text": "x" * 2_000}}
                assert isinstance(await create(api, CONFIG_MAPS, key, document), Done)
                before.append(key)
                if len(before) == WRITES // 3:
                    enough.set()

            writing = [asyncio.create_task(write(number)) for number in range(WRITES)]
            await enough.wait()
            acknowledged = list(before)
            await asyncio.to_thread(shutil.copytree, up.folder / "data", copy / "data")
            await asyncio.gather(*writing)
        return acknowledged

    (tmp_path / "live").mkdir()
    with MaarUp(tmp_path / "live", alone=True) as up:
        acknowledged = asyncio.run(write_and_copy(up))
    with MaarUp(copy, alone=True) as opened:
        assert asyncio.run(missing(opened, acknowledged)) == set()
