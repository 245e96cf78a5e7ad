"""Pods of jobs on a real kube-apiserver with admission on, beside a bare loop that creates the same pods.

Also, in memory: what a change of one job costs among 1,000 and among 10,000 others.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import aiohttp
import msgspec
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.jobs.controller import Jobs
from maar.core.controllers.jobs.pod_documents import PodMaker
from maar.core.controllers.work_queue import WorkQueue
from maar.core.job_plugins.plugin import SshKey
from maar.core.job_plugins.registry import JobPlugins
from maar.core.model.events import Upserted
from maar.core.model.job import Job
from maar.core.model.kinds import from_document, from_json
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import EVENTS, PODS, resource_path_of
from maar.kube.write import create, get, patch
from support.control_plane import ControlPlane, find_binaries
from support.load_counting import added, counting, session
from support.load_daemons import Daemons
from support.webhooks_process import webhooks_beside

NAMESPACE: Final = "default"
JOBS: Final = resource_path_of(Job)
GROUPS: Final = resource_path_of(PodGroup)
AT_ONCE: Final = 32  # as many as the controllers write at a time
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
CHANGES: Final = 200


def main() -> None:
    """Print what pods of jobs cost."""
    flags = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flags.add_argument("--jobs", type=int, default=20)
    flags.add_argument("--pods", type=int, default=500, help="of each job")
    asked = flags.parse_args()
    one_change()
    if find_binaries() is None:
        print("  skipped: there is no control plane; make kubernetes builds one")
        return
    uvloop.run(measure(asked.jobs, asked.pods))


def one_change() -> None:
    """What a change of one job costs among few and among many others."""
    few, many = (change_us(live=1_000, finished=number) for number in (0, 10_000))
    ratio = f"{many / few:.2f}x"
    words = f"of 1,000: {few:.0f} us, {ratio}, target at most 1.5x"
    show("a change of one job of 10 pods, of 11,000", f"{many:>9.0f} us", words)


def change_us(live: int, finished: int) -> float:
    """The median time from an event of a pod to the writes for its job."""
    work = WorkQueue(ClusterView(), (Jobs(JobPlugins.of(), lambda: SshKey("", "")),))
    jobs = [read(manifest(f"live-{number}", 10), f"u{number}", "Running") for number in range(live)]
    over = [read(manifest(f"over-{number}", 10), f"o{number}", "Completed") for number in range(finished)]
    work.feed(work.cluster.changes(Upserted(object=one) for one in [*jobs, *over]))
    for one in jobs:
        pods = pods_of(one)
        work.feed(work.cluster.changes(Upserted(object=from_document(Pod, running(pod))) for pod in pods))
    list(work.reconcile(NOW))
    spent: list[float] = []
    for number in range(CHANGES):
        one = jobs[number * len(jobs) // CHANGES]
        pod = running(pods_of(one)[0])
        pod["status"]["phase"] = "Succeeded"
        changed = from_document(Pod, pod)
        started = perf_counter()
        work.feed(work.cluster.changes([Upserted(object=changed)]))
        list(work.reconcile(NOW))
        spent.append(perf_counter() - started)
    return statistics.median(spent) * 1e6


async def measure(jobs: int, pods: int) -> None:
    """Both ways, each on a control plane of its own; the bare loop before and after."""
    print(f"  {jobs} jobs of {pods} pods, {AT_ONCE} requests at a time, webhooks on", flush=True)
    before = await bare_rate(jobs, pods)
    rate, gang_s, failed = await maar_rate(jobs, pods)
    after = await bare_rate(jobs, pods)
    reference = 2 / (1 / before + 1 / after)
    show("bare loop of creates", f"{reference:>9.0f} pods/s", f"({before:.0f} before, {after:.0f} after)")
    show("maar controllers", f"{rate:>9.0f} pods/s", f"failed creates: {failed}, target 0")
    show("maar / bare", f"{rate / reference:>9.2f}", "target at least 0.70")
    words = f"target 2 s where the bare loop can: {pods / reference:.1f} s"
    show(f"a gang of {pods}, from its admission", f"{gang_s:>9.1f} s", words)


def show(name: str, figure: str, words: str) -> None:
    """Print a line."""
    print(f"  {name:<46}{figure:<18} {words}", flush=True)


@asynccontextmanager
async def fresh() -> AsyncIterator[tuple[ControlPlane, Path, ApiServer, aiohttp.ClientSession]]:
    """A control plane with webhooks for one of them alone."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "hooks").mkdir()
        with webhooks_beside(folder / "hooks") as hooks:
            plane = hooks.plane
            credentials = await load(plane.kubeconfig)
            async with ApiServer(credentials) as server, session(credentials, AT_ONCE) as client:
                yield plane, folder, server, client


async def bare_rate(jobs: int, pods: int) -> float:
    """As fast as a program creates the same pods that looks at nothing."""
    async with fresh() as (plane, folder, server, client):
        with Daemons(folder) as daemons:
            daemons.run("controllers", "controllers", plane.kubeconfig)
            await daemons.until_at_work("controllers")
            await submit(server, jobs, pods)
            made = [await stored(server, f"job-{number}") for number in range(jobs)]
            documents = [msgspec.json.encode(pod) for one in made for pod in pods_of(one)]
        waiting = iter(documents)

        async def worker() -> None:
            for body in waiting:
                async with client.post(PODS.all(NAMESPACE), data=body) as answer:
                    answer.raise_for_status()
                    await answer.read()

        async with counting(client, PODS.all(NAMESPACE), {}, added) as seen:
            started = perf_counter()
            await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
            await seen.reaches(len(documents))
            return len(documents) / (perf_counter() - started)


async def maar_rate(jobs: int, pods: int) -> tuple[float, float, int]:
    """Pods a second of the controllers from the admission of all groups; then one more gang alone."""
    async with fresh() as (plane, folder, server, client):
        with Daemons(folder) as daemons:
            daemons.run("controllers", "controllers", plane.kubeconfig)
            await daemons.until_at_work("controllers")
            keys = await submit(server, jobs, pods)
            async with counting(client, PODS.all(NAMESPACE), {}, added) as seen:
                started = perf_counter()
                await asyncio.gather(*(admit(server, key) for key in keys))
                await seen.reaches(jobs * pods)
                rate = jobs * pods / (perf_counter() - started)
                (key,) = await submit(server, 1, pods, first=jobs)
                started = perf_counter()
                await admit(server, key)
                await seen.reaches((jobs + 1) * pods)
                gang_s = perf_counter() - started
            async with client.get(
                EVENTS.all(NAMESPACE), params={"fieldSelector": "reason=FailedCreate"}
            ) as answer:
                failed = len(msgspec.json.decode(await answer.read())["items"])
            return rate, gang_s, failed


async def submit(server: ApiServer, jobs: int, pods: int, first: int = 0) -> list[str]:
    """Submit jobs, and wait for their groups; give their keys."""
    names = [f"job-{number}" for number in range(first, first + jobs)]
    for name in names:
        await create(server, JOBS, f"{NAMESPACE}/{name}", manifest(name, pods))
    made = [await stored(server, name) for name in names]

    async def is_there(key: str) -> bool:
        return isinstance(await get(server, GROUPS, key), Done)

    keys = [f"{NAMESPACE}/{one.metadata.name}-{one.metadata.uid}" for one in made]
    for key in keys:
        while not await is_there(key):  # noqa: ASYNC110  it is another process
            await asyncio.sleep(0.05)
    return keys


async def admit(server: ApiServer, key: str) -> None:
    """Let a group in, as the scheduler does."""
    await patch(server, GROUPS, key, {"status": {"phase": "Inqueue"}})


async def stored(server: ApiServer, name: str) -> Job:
    """A job as the server has it."""
    answer = await get(server, JOBS, f"{NAMESPACE}/{name}")
    if not isinstance(answer, Done):
        raise LookupError(f"job {name} was not stored: {answer}")  # noqa: TRY004
    return from_json(Job, answer.body)


def manifest(name: str, pods: int) -> dict[str, Any]:
    """A job of one task, with the plugins that people use most."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": Job.api_version,
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": pods,
            "plugins": {"svc": [], "env": []},
            "tasks": [{"name": "worker", "replicas": pods, "minAvailable": pods, "template": template}],
        },
    }


def read(document: dict[str, Any], uid: str, phase: str) -> Job:
    """A job that has come so far."""
    metadata = {**document["metadata"], "uid": uid, "generation": 1}
    status = {"state": {"phase": phase}, "pluginsGeneration": 1, "running": 10}
    return from_document(Job, {**document, "metadata": metadata, "status": status})


def pods_of(job: Job) -> list[dict[str, Any]]:
    """The pods of a job, as the controller makes them."""
    maker = PodMaker(job, JobPlugins.of().change_pod)
    return [maker.document(task, index) for task in job.spec.tasks for index in range(task.replicas)]


def running(pod: dict[str, Any]) -> dict[str, Any]:
    """A pod that runs."""
    return {**pod, "status": {"phase": "Running"}}


if __name__ == "__main__":
    main()
