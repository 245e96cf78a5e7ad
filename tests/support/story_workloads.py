"""What stories of workloads and operators are told with: templates, and objects without their operators."""

import json
from typing import Final

from support.story import Document, Story

# KWOK's own stages end every pod of a Job at once; with these a pod runs until a test ends it.
UNTIL_ENDED: Final = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-runs}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
      - {key: .status.podIP, operator: DoesNotExist}
  next:
    statusTemplate: |
      phase: Running
      podIP: 10.0.0.1
      startTime: {{ Now | Quote }}
      conditions:
        - {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
      containerStatuses:
      {{ range .spec.containers }}
        - name: {{ .name | Quote }}
          image: {{ .image | Quote }}
          ready: true
          restartCount: 0
          state: {running: {startedAt: {{ Now | Quote }}}}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-goes}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: Exists}
  next: {delete: true}
"""


def template(name: str, cpu: str, *, restart: str = "Always") -> Document:
    """The template of a workload's pods."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    spec = {
        "schedulerName": "volcano",
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    return {"metadata": {"labels": {"group": name}}, "spec": spec}


def job(name: str, **spec: object) -> Document:
    """A Job of Kubernetes."""
    spec = {"template": template(name, "1", restart="Never"), **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def workload(kind: str, name: str, replicas: int, cpu: str = "1", **annotations: str) -> Document:
    """A Deployment or a StatefulSet."""
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"group": name}},
        "template": template(name, cpu),
    }
    if kind == "StatefulSet":
        spec |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def orphaned(document: Document) -> Document:
    """Without an owner: the operators are not here, and what nobody owns is collected."""
    metadata = {name: value for name, value in document["metadata"].items() if name != "ownerReferences"}
    return {**document, "metadata": metadata}


def labelled(document: Document, name: str) -> Document:
    """A pod that stories find by its group."""
    made = orphaned(document)
    made["metadata"]["labels"] = {**made["metadata"]["labels"], "group": name}
    made["spec"] = {**made["spec"], "terminationGracePeriodSeconds": 0}
    return made


def reported(story: Story, pod: str) -> str:
    """The reason that a pod gives for not being scheduled."""
    conditions = story.get("pod", pod).get("status", {}).get("conditions", [])
    return "".join(one.get("reason", "") for one in conditions if one["type"] == "PodScheduled")


def end_pod(story: Story, pod: str, phase: str, **status: str) -> None:
    """Let a pod end as a kubelet does."""
    patch = json.dumps({"status": {"phase": phase, **status}})
    story.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", patch)


def failed_scheduling(story: Story) -> list[str]:
    """The pods that were told why they wait, and what."""
    about = ("--field-selector", "involvedObject.kind=Pod,reason=FailedScheduling")
    found = json.loads(story.kubectl("get", "events", "-A", "-o", "json", *about).stdout)["items"]
    return [f"{one['involvedObject']['name']}: {one['message']}" for one in found]
