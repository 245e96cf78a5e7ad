"""The scheduler is killed in the middle of its work, again and again: laws S1 and S3."""

import asyncio
import os
import random
import sys
from pathlib import Path

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from support.control_plane import ControlPlane
from support.load import make, prepare
from support.load_churn import Churn, Habits, reservations
from support.load_daemons import Daemons
from support.load_history import KEEPING, binds, breaches, history, now
from support.needs_kubernetes import needs_kubernetes

KILLS = int(os.environ.get("MAAR_KILLS", "10"))
SEED = int(os.environ.get("MAAR_SEED", random.randrange(1 << 30)))
NODES = [f"node-{number}" for number in range(10)]
NODE_CPU = 16
SIZE = {"cpu": str(NODE_CPU), "memory": "128Gi", "pods": "110"}


def test_kill_9_at_random_moments_under_load(tmp_path: Path) -> None:
    needs_kubernetes()
    flags = dict(KEEPING)
    with (
        ControlPlane(tmp_path, controllers=True, api_server_flags=flags) as plane,
        Daemons(tmp_path) as daemons,
    ):
        prepare(plane)
        plane.make_nodes(NODES, SIZE)
        asyncio.run(kill_again_and_again(plane, flags, daemons))


async def kill_again_and_again(plane: ControlPlane, flags: dict[str, str], daemons: Daemons) -> None:
    rng, capacity_cpu = random.Random(SEED), NODE_CPU * len(NODES)
    async with ApiServer(await load(plane.kubeconfig)) as server:
        await make(server, reservations(capacity_cpu))
        since = await now(server)
        churn = Churn(server, Habits(("guests", "research", "production")), capacity_cpu, random.Random(SEED))
        in_the_middle = 0
        async with churn.watching():
            daemons.run("scheduler", "scheduler", plane.kubeconfig, "--no-leader-elect")
            await churn.fill()
            churn.begin()
            for _ in range(KILLS):
                await asyncio.sleep(rng.uniform(0, 1))
                daemons.kill("scheduler")
                in_the_middle += bool(churn.half_bound())
                daemons.run("scheduler", "scheduler", plane.kubeconfig, "--no-leader-elect")
                if rng.random() < 0.8:  # the others die before they have decided anything
                    await daemons.until_at_work("scheduler")
            await churn.calm_down()
        changes = await history(plane, flags, server, since)
    sys.stdout.write(
        f"MAAR_SEED={SEED}: {KILLS} kills, of which {in_the_middle} left a gang half bound for a while; "
        f"{churn.made} gangs, {binds(changes)} binds, {churn.evicted} evictions\n"
    )
    assert breaches(changes, dict.fromkeys(NODES, NODE_CPU), churn.gangs.values()) == [], f"seed {SEED}"
    assert churn.evicted > 0, "reservations were to be taken back meanwhile"
