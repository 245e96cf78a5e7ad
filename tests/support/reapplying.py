"""A job, a pod group and a queue that are applied again after a change, with the real kubectl."""

import json
import subprocess
from typing import Any, Protocol

_WORK = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: %(name)s}
spec: {weight: %(replicas)s}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: %(name)s}
spec: {queue: %(name)s, minMember: %(replicas)s}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %(name)s}
spec:
  queue: %(name)s
  tasks:
  - replicas: %(replicas)s
    template:
      spec:
        hostNetwork: true
        restartPolicy: Never
        containers: [{name: main, image: busybox, resources: {requests: {cpu: 1}}}]
"""


class Kubectl(Protocol):
    """The real kubectl on a cluster."""

    def __call__(
        self, *arguments: str, stdin: str = "", check: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command."""


def reapply(kubectl: Kubectl, name: str, *flags: str) -> list[tuple[Any, ...]]:
    """Apply work that grows and shrinks; give what became of the job's minima and retries each time."""
    seen = []
    for replicas in (3, 5, 2, 2):
        kubectl("apply", *flags, "-f", "-", stdin=_WORK % {"name": name, "replicas": replicas})
        spec = json.loads(kubectl("get", "vcjob", name, "-o", "json").stdout)["spec"]
        task = spec["tasks"][0]
        seen.append((task["replicas"], task["minAvailable"], spec["minAvailable"], task["maxRetry"]))
    kubectl("replace", "-f", "-", stdin=_WORK % {"name": name, "replicas": 4})
    return seen


GROWN_AND_SHRUNK = [(3, 3, 3, 3), (5, 5, 5, 3), (2, 2, 2, 3), (2, 2, 2, 3)]


def switch_to_server_side(kubectl: Kubectl, name: str, **of_task: int) -> str:
    """Apply a job client-side and then, unchanged, server-side; what kubectl says against it."""
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "minAvailable": 1,
            "queue": "default",
            "tasks": [
                {
                    "name": "t",
                    "replicas": 2,
                    **of_task,
                    "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}},
                }
            ],
        },
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(job))
    reported = kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(job), check=False).stderr
    if reported:
        kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(job))
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(job))
    spec = json.loads(kubectl("get", "vcjob", name, "-o", "json").stdout)["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["minAvailable"]) == (1, 2)
    scaled = json.dumps([{"op": "replace", "path": "/spec/tasks/0/replicas", "value": 1}])
    if not of_task:  # a minimum that nobody set does not stand in the way
        kubectl("patch", "vcjob", name, "--type=json", "-p", scaled)
    kubectl("delete", "vcjob", name)
    return reported


CONFLICT = 'conflict with "kubectl-client-side-apply" using batch.volcano.sh/v1alpha1: .spec.tasks'
