"""A leader that sleeps past its lease and wakes up under load writes nothing more (laws S1 and S3)."""

import asyncio
import json
import random
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from support.control_plane import ControlPlane
from support.kubeconfigs import changed, with_token
from support.load import Gang, make, prepare
from support.load_churn import Churn, Habits, reservations
from support.load_daemons import Daemons
from support.load_history import KEEPING, binds, breaches, history, now
from support.needs_kubernetes import needs_kubernetes
from support.until import until

NODES = [f"node-{number}" for number in range(20)]
NODE_CPU = 16
SIZE = {"cpu": str(NODE_CPU), "memory": "128Gi", "pods": "110"}
TAKEOVER_S = 15.0
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- level: Metadata
  users: ["system:serviceaccount:maar-system:first", "system:serviceaccount:maar-system:second"]
- {level: None}
"""


class Written(NamedTuple):
    """A write that the API server has carried out, and when it was asked for."""

    who: str
    at: datetime
    what: str


def test_a_leader_that_was_stopped_past_its_lease_writes_nothing_more(tmp_path: Path) -> None:
    needs_kubernetes()
    policy, log = tmp_path / "audit-policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    flags = {**KEEPING, "audit-policy-file": str(policy), "audit-log-path": str(log)}
    with (
        ControlPlane(tmp_path, controllers=True, api_server_flags=flags) as plane,
        Daemons(tmp_path) as daemons,
    ):
        prepare(plane)
        plane.make_nodes(NODES, SIZE)
        kubeconfigs = {name: account(plane, name) for name in ("first", "second")}
        asyncio.run(stop_and_resume(plane, flags, daemons, kubeconfigs, log))
        daemons.check()


def account(plane: ControlPlane, name: str) -> Path:
    """A kubeconfig of somebody who may do everything, told from others by the API server."""
    inside = ("--namespace", "maar-system")
    plane.kubectl("create", "serviceaccount", name, *inside)
    who = f"--serviceaccount=maar-system:{name}"
    plane.kubectl("create", "clusterrolebinding", name, "--clusterrole=cluster-admin", who)
    token = plane.kubectl("create", "token", name, *inside).stdout.strip()
    return changed(plane.kubeconfig, plane.folder / f"kubeconfig-{name}", with_token(token))


async def stop_and_resume(
    plane: ControlPlane, flags: dict[str, str], daemons: Daemons, kubeconfigs: dict[str, Path], log: Path
) -> None:
    capacity_cpu = NODE_CPU * len(NODES)
    async with ApiServer(await load(plane.kubeconfig)) as server:
        await make(server, reservations(capacity_cpu))
        since = await now(server)
        habits = Habits(("guests", "research", "production"), crowding=0.3, pause_s=0.2)
        churn = Churn(server, habits, capacity_cpu, random.Random(1))
        async with churn.watching():
            daemons.run("first", "scheduler", kubeconfigs["first"])
            await daemons.until_at_work("first")
            daemons.run("second", "scheduler", kubeconfigs["second"])
            await until("the second stands by", lambda: daemons.has_logged("second", "standing by"))
            churn.begin()
            await burst_until_half_bound(churn)
            daemons.signal("first", signal.SIGSTOP)
            stopped = datetime.now(UTC)
            await daemons.until_at_work("second")
            await burst_until_half_bound(churn)
            resumed = datetime.now(UTC)
            daemons.signal("first", signal.SIGCONT)
            code = await asyncio.to_thread(daemons.ended, "first")
            await churn.calm_down()
        changes = await history(plane, flags, server, since)
    written = read(log)
    late = [one for one in written if one.who == "first" and one.at > resumed]
    taken_over = min(one.at for one in written if one.who == "second" and "bind" in one.what)
    wait_s = (taken_over - stopped).total_seconds()
    sys.stdout.write(
        f"first bind of the standby {wait_s:.1f} s after the stop; {binds(changes)} binds in all; "
        f"after it was resumed the old leader wrote {late}\n"
    )
    assert code == 1
    assert any(one.who == "first" and one.at < stopped for one in written)
    assert breaches(changes, dict.fromkeys(NODES, NODE_CPU), churn.gangs.values()) == []
    assert len(late) <= 1, "one request may have been on its way when it was stopped"
    assert wait_s < TAKEOVER_S


async def burst_until_half_bound(churn: Churn) -> None:
    """Have much to bind at once, and give the moment when it is being done."""
    gangs = [Gang(f"burst-{churn.made}-{number}", "production", pods=8) for number in range(10)]
    for gang in gangs:
        churn.submit(gang)
    await until("some of it is bound", lambda: any(map(churn.is_bound, gangs)))


def read(log: Path) -> list[Written]:
    """What the API server has carried out for the two."""
    found = list[Written]()
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        who = event["user"]["username"].rpartition(":")[2]
        if event["responseStatus"]["code"] < 300:
            at = datetime.fromisoformat(event["requestReceivedTimestamp"])
            found.append(Written(who, at, f"{event['verb']} {event['requestURI']}"))
    return found
