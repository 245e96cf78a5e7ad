"""The control plane that tests run on is complete, and of the versions that it is pinned to."""

import json
from pathlib import Path

import pytest

from support.control_plane import ControlPlane
from support.needs_kubernetes import needs_kubernetes
from support.programs import KUBERNETES

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "greet"},
    "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    },
}


@pytest.fixture
def plane(tmp_path: Path) -> ControlPlane:
    needs_kubernetes()
    return ControlPlane(tmp_path, controllers=True, scheduler=True, kwok=True)


def test_a_job_gets_its_pod_which_is_scheduled_and_runs_to_its_end(plane: ControlPlane) -> None:
    with plane:
        versions = json.loads(plane.kubectl("version", "-o", "json").stdout)
        assert (
            versions["clientVersion"]["gitVersion"]
            == versions["serverVersion"]["gitVersion"]
            == f"v{KUBERNETES}"
        )
        plane.make_nodes(["n1"])
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(JOB))
        plane.kubectl("wait", "job/greet", "--for=condition=complete")
        assert plane.kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").stdout == "n1"
