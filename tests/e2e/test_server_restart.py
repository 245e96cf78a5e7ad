"""The API server is killed and restarted under load: nothing is lost, and work goes on (law S3)."""

import asyncio
import random
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from support.control_plane import ControlPlane
from support.load import make, prepare
from support.load_churn import Churn, Habits, reservations
from support.load_daemons import Daemons
from support.load_history import KEEPING, binds, breaches, history, now
from support.needs_kubernetes import needs_kubernetes
from support.until import until

NODES = [f"node-{number}" for number in range(10)]
NODE_CPU = 16
SIZE = {"cpu": str(NODE_CPU), "memory": "128Gi", "pods": "110"}


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM], ids=lambda by: by.name)
def test_a_restart_of_the_api_server_loses_nothing(tmp_path: Path, by: signal.Signals) -> None:
    needs_kubernetes()
    flags = dict(KEEPING)
    with (
        ControlPlane(tmp_path, controllers=True, api_server_flags=flags) as plane,
        Daemons(tmp_path) as daemons,
    ):
        prepare(plane)
        plane.make_nodes(NODES, SIZE)
        asyncio.run(restart_under_load(plane, flags, daemons, by))
        daemons.check()


async def restart_under_load(
    plane: ControlPlane, flags: dict[str, str], daemons: Daemons, by: signal.Signals
) -> None:
    capacity_cpu = NODE_CPU * len(NODES)
    habits = Habits(("guests", "research", "production"), crowding=0.6)  # there is room for all of it
    async with ApiServer(await load(plane.kubeconfig)) as server:
        await make(server, reservations(capacity_cpu))
        since = await now(server)
        churn = Churn(server, habits, capacity_cpu, random.Random(1))
        async with churn.watching():
            daemons.run("scheduler", "scheduler", plane.kubeconfig, "--no-leader-elect")
            churn.begin()
            await until("the cluster is half full", lambda: churn.bound_cpu > capacity_cpu // 3)
            plane.stop_api_server(by)
            await asyncio.sleep(1)  # whoever writes meets the closed door, and waits before the next try
            await asyncio.to_thread(plane.start_api_server)
            ready = datetime.now(UTC)
            await until("a pod that was made after the restart is bound", lambda: churn.has_bound(ready))
            await churn.calm_down()
        changes = await history(plane, flags, server, since)
    sys.stdout.write(f"{by.name}: {binds(changes)} binds in all\n")
    assert breaches(changes, dict.fromkeys(NODES, NODE_CPU), churn.gangs.values()) == []
