"""The objects of job plugins follow a job that is scaled."""

import asyncio
from functools import partial

import pytest

from maar.apps.controllers import _GATHER_S, ControllerRunner, controllers
from maar.core.controllers.cluster_view import ClusterView
from maar.core.model.job import Job
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import resource_path_of
from maar.kube.write import get, patch
from support.faults import Proxy
from support.manifests import CONFIG_MAPS, Json, body, make
from support.running_controllers import running
from support.until import until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

JOBS = resource_path_of(Job)
_SEEN_WITHIN_S = 0.1  # after which clients of Volcano look at the ConfigMap of a job that they scaled


def tasks(replicas: int) -> list[Json]:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    return [{"name": "w", "replicas": replicas, "minAvailable": 1, "template": {"spec": spec}}]


async def has_hosts(api: ApiServer, key: str, count: int) -> bool:
    found = await get(api, CONFIG_MAPS, f"{key}-svc")
    return isinstance(found, Done) and len(body(found)["data"]["w.host"].split()) == count


async def test_the_hosts_of_a_job_follow_its_scale_before_anything_else_is_written(
    api: ApiServer, namespace: str, faults: tuple[Proxy, ApiServer]
) -> None:
    passing, through = faults
    key = f"{namespace}/sized"
    header = {"apiVersion": JOBS.api_version, "kind": "Job", "metadata": {"name": "sized"}}
    spec = {"schedulerName": "nobody", "queue": "default", "minAvailable": 1, "plugins": {"svc": []}}
    await make(api, JOBS, namespace, {**header, "spec": {**spec, "tasks": tasks(1)}})
    async with running(ControllerRunner(through, controllers(), cluster=ClusterView(workloads=()))):
        await until_async("its host is listed", partial(has_hosts, api, key, 1))
        for count in (3, 1):
            await asyncio.sleep(1.0)  # until nothing of what came before is being written
            before = len(passing.asked)
            assert isinstance(await patch(api, JOBS, key, {"spec": {"tasks": tasks(count)}}), Done)
            await until_async("they follow", partial(has_hosts, api, key, count))
            written = [one for one in passing.asked[before:] if not one.startswith("GET")]
            change = next(place for place, one in enumerate(written) if one.startswith("PATCH"))
            assert written[change].endswith("/configmaps/sized-svc"), "nothing is written before it"
            assert change <= 3, "but for attempts to create the Service, the NetworkPolicy and the ConfigMap"


async def test_the_controllers_gather_for_a_part_of_the_time_in_which_clients_see_a_scaled_job() -> None:
    assert 5 * _GATHER_S <= _SEEN_WITHIN_S
