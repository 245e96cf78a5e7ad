"""Snapshots of a running scheduler: taken between decision and writes, whatever else is going on."""

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from maar.apps.snapshots.files import read
from maar.apps.snapshots.plan import plans_from
from maar.apps.snapshots.recording import RecordingEngine
from maar.apps.snapshots.taking import Snapshots
from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.kinds import from_document
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.writes import Bind, Evict
from maar.core.policy.configuration import DEFAULT
from support.until import until

NOW = datetime(2026, 11, 16, 4, 0, 0, 123456, tzinfo=UTC)
NODE = """
metadata: {name: n1}
status: {allocatable: {cpu: 8, pods: 9}, conditions: [{type: Ready, status: "True"}]}
"""
GROUP = "{metadata: {name: g, namespace: ns}, spec: {minMember: 1}}"
POD = """
metadata: {name: p%s, namespace: ns, annotations: {scheduling.k8s.io/group-name: g}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 2}}}]}
"""

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def scheduler(snapshots: Snapshots) -> Engine:
    """One with a group of four pods to place."""
    engine = RecordingEngine(snapshots=snapshots)
    pods = [from_document(Pod, yaml.safe_load(POD % number)) for number in range(4)]
    node, group = from_document(Node, yaml.safe_load(NODE)), from_document(PodGroup, yaml.safe_load(GROUP))
    engine.feed([Upserted(object=node), Upserted(object=group), *(Upserted(object=pod) for pod in pods)])
    return engine


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def cycle(engine: Engine, now: datetime = NOW) -> list[str]:
    """Decide, and assume what was decided, as the scheduler does."""
    plan = await asyncio.to_thread(engine.decide, now.timestamp())
    for one in plan.binds:
        engine.assume(one)
    return [one.pod for one in plan.binds]


async def test_a_snapshot_holds_what_was_decided_on_and_what_was_decided(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    engine = scheduler(snapshots)
    engine.assume(Bind(pod="ns/p0", node="n1"))
    engine.assume(Evict(pod="ns/p1", action="preempt", beneficiary="ns/other"))
    taking = asyncio.create_task(snapshots.take())
    await asyncio.sleep(0)
    assert await cycle(engine) == ["ns/p2", "ns/p3"]
    found = read(await taking)
    assert found is not None
    snapshot, objects = found
    pods = {one.metadata.name: one for one in objects if isinstance(one, Pod)}
    assert pods["p0"].spec.node_name == "n1"  # assumed before
    assert pods["p1"].is_terminating
    assert pods["p2"].spec.node_name == ""  # assumed only after the decision
    assert snapshot.time == NOW
    (plan,) = plans_from(snapshot, objects, DEFAULT, snapshot.time)
    assert [one.pod for one in plan.binds] == ["ns/p2", "ns/p3"]


async def test_who_asks_during_a_decision_gets_that_one_or_the_next(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    engine = scheduler(snapshots)
    deciding = asyncio.create_task(cycle(engine))
    await asyncio.sleep(0)
    taking = asyncio.create_task(snapshots.take())
    await deciding
    later = NOW.replace(second=5)
    await cycle(engine, later)
    found = read(await taking)
    assert found is not None
    plan = found[0].plan
    assert plan is not None
    binds = [f"ns/p{number}" for number in range(4)]
    assert (found[0].time, plan["binds"]) in ((NOW, dict.fromkeys(binds, "n1")), (later, {}))


async def test_two_signals_make_one_snapshot_and_the_log_says_where(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "maar")
    snapshots = Snapshots(tmp_path)
    engine = scheduler(snapshots)
    snapshots.ask()
    snapshots.ask()
    await asyncio.sleep(0)
    await cycle(engine)
    await until("the log says something", lambda: bool(caplog.messages))
    (file,) = files(tmp_path)
    assert caplog.messages == [f"snapshot written to {file}"]


async def test_a_snapshot_that_cannot_be_had_is_explained_and_deciding_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost, impatient = Snapshots(tmp_path / "missing"), Snapshots(tmp_path, timeout_s=0.01)
    lost.ask()
    await asyncio.sleep(0)
    assert await cycle(scheduler(lost))
    await until("the log says something", lambda: bool(caplog.messages))
    assert "cannot be written into" in caplog.messages[0]
    impatient.ask()
    await until("the log says more", lambda: len(caplog.messages) > 1)
    assert "if another process leads, signal that one" in caplog.messages[1]
    assert await cycle(scheduler(impatient))  # nobody is waiting any more
    assert files(tmp_path) == []
