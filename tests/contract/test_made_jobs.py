"""Cron jobs and job flows on API servers: jobs are made once, in their order, and removed."""

from datetime import UTC, datetime
from typing import Final

import pytest

from maar.apps.controllers import ControllerRunner
from maar.apps.time_zones import zone
from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.cron_jobs import CronJobs
from maar.core.controllers.job_flows import JobFlows, JobTemplates
from maar.core.model.cron_job import SCHEDULED_ANNOTATION, CronJob
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import EVENTS, resource_path_of
from maar.kube.write import patch
from support.faults import Proxy, Say
from support.manifests import Json, body, make, there
from support.running_controllers import running
from support.until import until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

JOBS, CRON_JOBS = resource_path_of(Job), resource_path_of(CronJob)
FLOWS, TEMPLATES = resource_path_of(JobFlow), resource_path_of(JobTemplate)
TASK: Final = {
    "name": "t",
    "replicas": 1,
    "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
}


def controllers_of(api: ApiServer) -> ControllerRunner:
    made_jobs = (CronJobs(zone), JobFlows(), JobTemplates())
    return ControllerRunner(api, made_jobs, cluster=ClusterView(workloads=()))


async def jobs(api: ApiServer, namespace: str) -> dict[str, Json]:
    found = body(Done(await api.request("GET", JOBS.all(namespace))))
    return {one["metadata"]["name"]: one for one in found["items"]}


async def reasons(api: ApiServer, namespace: str, name: str) -> set[str]:
    selected = {"fieldSelector": f"involvedObject.name={name}"}
    found = body(Done(await api.request("GET", EVENTS.all(namespace), selected)))
    return {one["reason"] for one in found["items"]}


async def end(api: ApiServer, job: str, phase: str) -> None:
    state = {"phase": phase, "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    assert isinstance(await patch(api, JOBS, job, {"status": {"state": state}}, subresource="status"), Done)


async def make_cron_job(api: ApiServer, namespace: str, **fields: object) -> str:
    """A cron job whose last time was New Year some years ago: the latest New Year was missed."""
    spec = {"schedule": "@yearly", "jobTemplate": {"spec": {"tasks": [TASK]}}, "suspend": True, **fields}
    header = {"apiVersion": CronJob.api_version, "kind": "CronJob"}
    await make(api, CRON_JOBS, namespace, {**header, "metadata": {"name": "c"}, "spec": spec})
    last = {"status": {"lastScheduleTime": "2020-01-01T00:00:00Z"}}
    assert isinstance(await patch(api, CRON_JOBS, f"{namespace}/c", last, subresource="status"), Done)
    assert isinstance(await patch(api, CRON_JOBS, f"{namespace}/c", {"spec": {"suspend": False}}), Done)
    new_year = datetime(datetime.now(UTC).year, 1, 1, tzinfo=UTC)
    return f"c-{int(new_year.timestamp()) // 60}"


async def test_the_latest_missed_time_is_started_once_whoever_looks(api: ApiServer, namespace: str) -> None:
    name = await make_cron_job(api, namespace, successfulJobsHistoryLimit=0)

    async def is_recorded() -> bool:
        status = (await there(api, CRON_JOBS, f"{namespace}/c"))["status"]
        return [one["name"] for one in status.get("active", [])] == [name]

    async with running(controllers_of(api)), running(controllers_of(api)):
        await until_async("the job is made and recorded", is_recorded)
    made = (await jobs(api, namespace))[name]
    year = datetime.now(UTC).year
    assert made["metadata"]["annotations"][SCHEDULED_ANNOTATION] == f"{year}-01-01T00:00:00Z"
    assert made["metadata"]["ownerReferences"][0]["controller"]
    await end(api, f"{namespace}/{name}", "Completed")

    async def is_removed() -> bool:
        status = (await there(api, CRON_JOBS, f"{namespace}/c"))["status"]
        return "lastSuccessfulTime" in status and not await jobs(api, namespace)

    async def is_reported() -> bool:
        wanted = {"SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"}
        return wanted <= await reasons(api, namespace, "c")

    async with running(controllers_of(api)):
        await until_async("it ended well and is removed", is_removed)
        await until_async("all of it is told", is_reported)
    async with running(controllers_of(api)):
        assert await jobs(api, namespace) == {}


async def test_a_job_that_is_refused_is_told_to_its_cron_job_and_made_in_the_end(
    api: ApiServer, namespace: str, faults: tuple[Proxy, ApiServer]
) -> None:
    passing, through = faults
    message = '{"kind": "Status", "code": 403, "reason": "Forbidden", "message": "jobs is forbidden: full"}'
    passing.plan(Say(403, message), method="POST", part="/jobs")

    async def is_reported() -> bool:
        return {"FailedCreate", "SuccessfulCreate"} <= await reasons(api, namespace, "c")

    async with running(controllers_of(through)):
        await make_cron_job(api, namespace)
        await until_async("it is refused, and made", is_reported)


async def make_flow(api: ApiServer, namespace: str, kind: str, name: str, spec: Json) -> None:
    place = FLOWS if kind == "JobFlow" else TEMPLATES
    document = {"apiVersion": place.api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    await make(api, place, namespace, document)


async def test_a_flow_makes_jobs_in_order_from_patched_templates(api: ApiServer, namespace: str) -> None:
    change = {"spec": {"tasks": [{"name": "t", "replicas": 3}]}}
    flows = [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}, "patch": change}]
    spec = {"flows": flows, "jobRetainPolicy": "delete"}

    async def phase() -> str:
        status = (await there(api, FLOWS, f"{namespace}/f")).get("status", {})
        return str(status.get("state", {}).get("phase"))

    async with running(controllers_of(api)):
        await make_flow(api, namespace, "JobFlow", "f", spec)

        async def waits_for_template() -> bool:
            return "FailedCreate" in await reasons(api, namespace, "f")

        await until_async("it says what is missing", waits_for_template)
        for name in ("a", "b"):
            await make_flow(api, namespace, "JobTemplate", name, {"tasks": [TASK]})

        async def only_the_first() -> bool:
            return (await jobs(api, namespace)).keys() == {"f-a"} and await phase() == "Pending"

        await until_async("the first job is made", only_the_first)
        await end(api, f"{namespace}/f-a", "Completed")

        async def both() -> bool:
            return (await jobs(api, namespace)).keys() == {"f-a", "f-b"}

        async def is_listed() -> bool:
            status = (await there(api, TEMPLATES, f"{namespace}/b")).get("status", {})
            return bool(status.get("jobDependsOnList") == ["f-b"])

        await until_async("the second job is made", both)
        await until_async("its template lists it", is_listed)
        assert (await jobs(api, namespace))["f-b"]["spec"]["tasks"][0]["replicas"] == 3
        await end(api, f"{namespace}/f-b", "Completed")

        async def is_done() -> bool:
            return await phase() == "Succeed" and not await jobs(api, namespace)

        await until_async("all is done and cleaned up", is_done)
