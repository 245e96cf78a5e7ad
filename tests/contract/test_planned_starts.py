"""Planned starts on API servers: in the status of groups while they wait, and gone once they run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from maar.apps.daemons.planned_starts import PlannedStarts
from maar.apps.scheduler.scheduler import Scheduler
from maar.core.engine import Engine
from maar.core.model.pod import GROUP_ANNOTATION
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.kube.api_server import ApiServer
from maar.kube.paths import PODS, ResourcePath
from maar.kube.write import delete
from support.manifests import NODES, Json, make, node, there, unique
from support.until import until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

GROUPS = ResourcePath("scheduling.volcano.sh/v1beta1", "podgroups", namespaced=True)
OURS = "starting"  # a scheduler name that nobody else has


@asynccontextmanager
async def running(api: ApiServer) -> AsyncIterator[None]:
    """A scheduler, and beside it what writes planned starts."""
    engine = Engine(scheduler_name=OURS)
    scheduler = Scheduler(api, engine)
    deciding = asyncio.create_task(scheduler.run())
    writing = asyncio.create_task(PlannedStarts(api, engine, scheduler, 0.5).run())
    try:
        yield
    finally:
        writing.cancel()
        scheduler.stop()
        await deciding


async def test_a_group_that_waits_has_its_planned_start(api: ApiServer, namespace: str) -> None:
    place, first, second = unique("place"), unique("first"), unique("second")
    await make(api, NODES, "", {**node(place), "metadata": {"name": place, "labels": {"place": place}}})
    await submit(api, namespace, first, place)

    async def is_bound() -> bool:
        return bool((await there(api, PODS, f"{namespace}/{first}"))["spec"].get("nodeName"))

    async def is_planned() -> bool:
        return "plannedStart" in (await there(api, GROUPS, f"{namespace}/{second}")).get("status", {})

    async def is_started() -> bool:
        status = (await there(api, GROUPS, f"{namespace}/{second}")).get("status", {})
        return status.get("phase") == "Running" and "plannedStart" not in status

    async with running(api):
        await until_async("the first runs", is_bound)
        bound = datetime.now(UTC)
        await submit(api, namespace, second, place)
        await until_async("the second has a planned start", is_planned)
        group = await there(api, GROUPS, f"{namespace}/{second}")
        planned = group["status"]["plannedStart"]
        start = datetime.fromisoformat(planned["time"])
        assert planned["certainty"] in ("exact", "bound")  # other tests may have pods on the same server
        assert bound < start - timedelta(hours=1) < datetime.now(UTC) + timedelta(seconds=1)
        assert "plannedStart" not in (await there(api, GROUPS, f"{namespace}/{first}"))["status"]
        await delete(api, PODS, f"{namespace}/{first}")
        await until_async("the second runs, and nothing is planned any more", is_started)


async def submit(api: ApiServer, namespace: str, name: str, place: str) -> None:
    """A group with one pod that fills the node for an hour."""
    await make(api, GROUPS, namespace, group(name))
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "8"}}}
    notes = {GROUP_ANNOTATION: name, EXPECTED_RUN_TIME: "1h"}
    spec = {
        "schedulerName": OURS,
        "nodeSelector": {"place": place},
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": notes}, "spec": spec}
    await make(api, PODS, namespace, pod)


def group(name: str) -> Json:
    """A group of one pod."""
    header = {"apiVersion": GROUPS.api_version, "kind": "PodGroup", "metadata": {"name": name}}
    return {**header, "spec": {"minMember": 1, "queue": "default"}}
