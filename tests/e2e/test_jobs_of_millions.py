"""Jobs that ask for millions of pods: refused unless an administrator allows them, and then others go on."""

import json
from pathlib import Path
from typing import Any, Final

from support.api_connection import ApiConnection
from support.maar_up import MaarUp
from support.until import wait_until

MILLIONS: Final = 2_000_000
NODES: Final = ("--nodes", "1x8cpu,32Gi")
JOBS: Final = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
BATCH_JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
REFUSED: Final = f"asks for {MILLIONS} pods, must be <= 100000"


def template(**spec: object) -> dict[str, Any]:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1m"}}}
    return {"spec": {"containers": [container], "restartPolicy": "Never", **spec}}


def job(name: str, replicas: int, **spec: object) -> dict[str, Any]:
    """A job that starts with its first pod; they end at once."""
    pods = {**template(**spec), "metadata": {"annotations": {"maar.sh/run-for": "0s"}}}
    tasks = [{"name": "t", "replicas": replicas, "template": pods}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "tasks": tasks},
    }


def batch_job(parallelism: int) -> dict[str, Any]:
    spec = {"parallelism": parallelism, "completions": parallelism, "template": template(nodeName="none")}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "large"}, "spec": spec}


def phase(up: ApiConnection, name: str) -> str:
    status = json.loads(up.request("GET", f"{JOBS}/{name}").body).get("status", {})
    return str(status.get("state", {}).get("phase", ""))


def test_jobs_of_millions_of_pods_are_refused(tmp_path: Path) -> None:
    with MaarUp(tmp_path, *NODES) as up:
        api = ApiConnection(up.kubeconfig)
        for path, document in ((JOBS, job("large", MILLIONS)), (BATCH_JOBS, batch_job(MILLIONS))):
            answer = api.request("POST", path, document)
            assert answer.status == 403, answer.body
            assert REFUSED in answer.body.decode()
        assert api.request("POST", BATCH_JOBS, batch_job(2)).status == 201
        more = {"spec": {"parallelism": MILLIONS}}
        assert api.request("PATCH", f"{BATCH_JOBS}/large", more).status == 403
        api.close()


def test_jobs_of_millions_of_pods_do_not_keep_the_controllers_from_others(tmp_path: Path) -> None:
    with MaarUp(tmp_path, *NODES, "--max-job-pods", str(MILLIONS)) as up:
        api = ApiConnection(up.kubeconfig)
        elsewhere = {"nodeSelector": {"there": "is-none"}}
        assert api.request("POST", JOBS, job("large", MILLIONS, **elsewhere)).status == 201
        assert api.request("POST", BATCH_JOBS, batch_job(MILLIONS)).status == 201
        first = "/api/v1/namespaces/default/pods?limit=1"
        wait_until(
            "the large jobs get pods",
            lambda: bool(json.loads(api.request("GET", first).body)["items"]),
        )
        assert api.request("POST", JOBS, job("small", 2)).status == 201
        wait_until("the small job is done", lambda: phase(api, "small") == "Completed")
        api.close()
