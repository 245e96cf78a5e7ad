"""A small stand-in for the job controller: it makes the pods of jobs, and says how jobs have ended."""

import asyncio
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from maar.core.model.job import Job
from maar.core.model.pod import Pod
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.listing import read_pages
from maar.kube.paths import resource_path_of
from maar.kube.write import create, patch_status

Fields = dict[str, Any]
ENDED = ("Succeeded", "Failed")


class JobStandIn:
    """Plays the controller on a cluster, in a thread of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    async def _run(self) -> None:
        async with ApiServer(await load(self._kubeconfig, None), retry_timeout_s=0.1) as server:
            while not self._stop.is_set():
                try:
                    pods = await _all(server, Pod)
                    for job in await _all(server, Job):
                        await _look(server, job, pods)
                except (ApiError, UnansweredError):
                    pass  # it is being restarted
                await asyncio.sleep(0.1)


async def _all(server: ApiServer, kind: type[Job | Pod]) -> list[Fields]:
    found: list[Fields] = []

    def take(items: list[msgspec.Raw]) -> None:
        found.extend(msgspec.json.decode(item) for item in items)

    await read_pages(server, resource_path_of(kind).all(), {}, take)
    return found


async def _look(server: ApiServer, job: Fields, all_pods: list[Fields]) -> None:
    meta, spec, [task] = job["metadata"], job["spec"], job["spec"]["tasks"]
    name, namespace = meta["name"], meta["namespace"]
    mine = [one for one in all_pods if one["metadata"].get("labels", {}).get("volcano.sh/job-name") == name]
    if job.get("status", {}).get("state", {}).get("phase") in ("Completed", "Failed"):
        return
    names = {one["metadata"]["name"] for one in mine}
    for index in range(task["replicas"]):
        if (pod := f"{name}-{task['name']}-{index}") not in names:
            value = _pod(pod, index, job)
            await create(server, resource_path_of(Pod), f"{namespace}/{pod}", value)
    phases = [one["status"].get("phase") for one in mine]
    if len(phases) == task["replicas"] and all(phase in ENDED for phase in phases):
        phase = "Completed" if phases.count("Succeeded") >= spec["minAvailable"] else "Failed"
        state = {"phase": phase}
    else:
        waits = "Running" if "Running" in phases else "Pending"
        state = {"phase": waits, "message": "" if waits == "Running" else "the stand-in makes it wait"}
    place = resource_path_of(Job)
    await patch_status(server, place, f"{namespace}/{name}", {"state": state})


def _pod(name: str, index: int, job: Fields) -> Fields:
    meta, [task] = job["metadata"], job["spec"]["tasks"]
    spec: Fields = dict(task["template"]["spec"])
    extra = [{"name": "VC_TASK_INDEX", "value": str(index)}]
    if "svc" in job["spec"].get("plugins", {}):
        hosts = [f"{meta['name']}-{task['name']}-{one}.{meta['name']}" for one in range(task["replicas"])]
        extra.append({"name": f"VC_{task['name'].upper()}_HOSTS", "value": ",".join(hosts)})
        spec |= {"hostname": name, "subdomain": meta["name"]}
    spec["containers"] = [{**one, "env": [*one.get("env", []), *extra]} for one in spec["containers"]]
    labels = {"job-name": meta["name"], "task-spec": task["name"], "task-index": str(index)}
    owner = {"apiVersion": Job.api_version, "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": {f"volcano.sh/{label}": value for label, value in labels.items()},
            "annotations": {"scheduling.volcano.sh/queue-name": job["spec"].get("queue", "default")},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {**spec, "schedulerName": "volcano"},
    }
