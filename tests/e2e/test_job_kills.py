"""The controllers are killed in the middle of their work on jobs, again and again."""

import asyncio
import os
import random
import sys
from pathlib import Path

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from support.control_plane import ControlPlane
from support.job_load import JobLoad, made_twice
from support.load import prepare
from support.load_daemons import Daemons
from support.load_history import KEEPING, history, now
from support.needs_kubernetes import needs_kubernetes
from support.story_workloads import UNTIL_ENDED

KILLS = int(os.environ.get("MAAR_KILLS", "10"))
SEED = int(os.environ.get("MAAR_SEED", random.randrange(1 << 30)))
PEOPLE = 6
NODES = [f"node-{number}" for number in range(4)]


def test_kill_9_at_random_moments_loses_no_retry_and_no_command(tmp_path: Path) -> None:
    needs_kubernetes()
    flags = dict(KEEPING)
    stages = tmp_path / "stages.yaml"
    stages.write_text(UNTIL_ENDED, encoding="utf-8")
    with (
        ControlPlane(
            tmp_path, controllers=True, kwok=True, kwok_stages=stages, api_server_flags=flags
        ) as plane,
        Daemons(tmp_path) as daemons,
    ):
        prepare(plane)
        plane.make_nodes(NODES, {"cpu": "16", "memory": "128Gi", "pods": "110"})
        asyncio.run(kill_again_and_again(plane, flags, daemons))


async def kill_again_and_again(plane: ControlPlane, flags: dict[str, str], daemons: Daemons) -> None:
    rng, in_the_middle = random.Random(SEED), 0
    async with ApiServer(await load(plane.kubeconfig)) as server:
        since = await now(server)
        people = JobLoad(server, random.Random(SEED))
        daemons.run("scheduler", "scheduler", plane.kubeconfig, "--no-leader-elect")
        daemons.run("controllers", "controllers", plane.kubeconfig, "--no-leader-elect")
        async with people.watching():
            async with asyncio.TaskGroup() as group:
                for _ in range(PEOPLE):
                    group.create_task(people.one_after_another())
                await daemons.until_at_work("controllers")
                for _ in range(KILLS):
                    await asyncio.sleep(rng.uniform(0, 1))
                    daemons.kill("controllers")
                    in_the_middle += bool(people.unsettled())
                    daemons.run("controllers", "controllers", plane.kubeconfig, "--no-leader-elect")
                    if rng.random() < 0.8:  # the others die before they have decided anything
                        await daemons.until_at_work("controllers")
                people.is_over = True
            await people.until_at_rest()
            miscounted = people.miscounted()
        changes = await history(plane, flags, server, since)
    sys.stdout.write(
        f"MAAR_SEED={SEED}: {KILLS} kills, of which {in_the_middle} while a job changed its phase; "
        f"{len(people.lives)} jobs, {dict(people.done)}\n"
    )
    assert miscounted == [], f"seed {SEED}"
    assert made_twice(changes) == [], f"seed {SEED}"
