"""Planned starts on API servers: in the status of groups while they wait, and gone once they run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from maar.apps.daemons.planned_starts import PlannedStarts
from maar.apps.scheduler.scheduler import WATCHED, Scheduler
from maar.core.answers.future import Present
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.starts.published import as_published, published_starts
from maar.core.engine import Engine
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError
from maar.core.model.pod import GROUP_ANNOTATION
from maar.core.model.pod_group import PlannedStartStatus, PodGroup
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.kube.api_server import ApiServer
from maar.kube.listing import objects
from maar.kube.paths import PODS, ResourcePath, resource_path_of
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


async def test_pods_that_are_not_made_yet_are_known_by_their_job(api: ApiServer, namespace: str) -> None:
    """What is in the status is what `maar explain` works out from the same server."""
    place, first, second, third = (unique(name) for name in ("place", "first", "second", "third"))
    await make(api, NODES, "", {**node(place), "metadata": {"name": place, "labels": {"place": place}}})
    await submit(api, namespace, first, place)
    waiting = [await begin(api, namespace, name, place) for name in (second, third)]

    async def planned() -> dict[str, PlannedStartStatus]:
        return published_starts(await objects(api, PodGroup, _fail, namespace=namespace))

    async def are_planned() -> bool:
        found = await planned()
        return [key in found and found[key].time is not None for key in waiting] == [True, True]

    async with running(api):
        await until_async("both have planned starts", are_planned)
        present = Present(tuple([one for kind in (*WATCHED, Job) for one in await objects(api, kind, _fail)]))
        present = replace(present, now=datetime.now(UTC).timestamp(), scheduler_name=OURS)
        known, starts = await planned(), planned_starts(present, groups=waiting)
        seconds = {key: one.time.timestamp() for key, one in known.items() if one.time is not None}
        assert seconds[waiting[1]] - seconds[waiting[0]] >= 3600  # the second runs as long as its pods say
        assert {key: one.time for key, one in as_published(starts, known, present.now).items()} == seconds
        assert {key: one.certainty for key, one in starts.items()} == {
            key: one.certainty for key, one in known.items()
        }


async def begin(api: ApiServer, namespace: str, name: str, place: str) -> str:
    """A job of a pod that fills the node, which is not made yet, and its group, which is not admitted."""
    template = {"metadata": {"annotations": {EXPECTED_RUN_TIME: "1h"}}, "spec": pod_spec(place)}
    spec = {"schedulerName": OURS, "minAvailable": 1, "queue": "default"}
    spec["tasks"] = [{"name": "main", "replicas": 1, "template": template}]
    job = {"apiVersion": Job.api_version, "kind": "Job", "metadata": {"name": name}, "spec": spec}
    made = await make(api, resource_path_of(Job), namespace, job)
    owner = {"apiVersion": Job.api_version, "kind": "Job", "controller": True}
    owner |= {"name": name, "uid": made["metadata"]["uid"]}
    waits = group(f"{name}-{made['metadata']['uid']}")
    waits["metadata"]["ownerReferences"] = [owner]
    waits["spec"]["minResources"] = {"cpu": "8"}
    await make(api, GROUPS, namespace, waits)
    return f"{namespace}/{waits['metadata']['name']}"


def _fail(error: BadObjectError) -> None:
    raise error


async def submit(api: ApiServer, namespace: str, name: str, place: str) -> None:
    """A group with one pod that fills the node for an hour."""
    await make(api, GROUPS, namespace, group(name))
    notes = {GROUP_ANNOTATION: name, EXPECTED_RUN_TIME: "1h"}
    metadata = {"name": name, "annotations": notes}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(place)}
    await make(api, PODS, namespace, pod)


def pod_spec(place: str) -> Json:
    """A pod that fills the node."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "8"}}}
    return {
        "schedulerName": OURS,
        "nodeSelector": {"place": place},
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }


def group(name: str) -> Json:
    """A group of one pod."""
    header = {"apiVersion": GROUPS.api_version, "kind": "PodGroup", "metadata": {"name": name}}
    return {**header, "spec": {"minMember": 1, "queue": "default"}}
