"""`maar scheduler` beside a real cluster: one leads and others stand by, and its configuration may change."""

import json
import re
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from maar.kube.lease import STANDARD
from support.control_plane import ControlPlane
from support.load_daemons import Daemons
from support.manifests import Json
from support.needs_kubernetes import needs_kubernetes
from support.until import wait_until

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  template:
    metadata: {annotations: {scheduling.volcano.sh/queue-name: one-by-one}}
    spec:
      schedulerName: volcano
      restartPolicy: Never
      nodeSelector: {kubernetes.io/hostname: small}
      containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]
"""
QUEUE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: one-by-one}
spec: {dequeueStrategy: fifo}
"""
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
CONFIGURATION = "maar-system/maar-scheduler"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {scheduling.k8s.io/group-name: %s}}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, resources: {requests: {cpu: 100m}}}]
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: %s}
spec: {minMember: 1, queue: default}
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    needs_kubernetes()
    with ControlPlane(tmp_path_factory.mktemp("plane"), controllers=True) as running:
        running.kubectl("apply", "-f", str(CRDS))
        running.kubectl("wait", "--for=condition=Established", "crd", "--all")
        running.make_nodes(["n1"])
        yield running


@pytest.fixture
def daemons(plane: ControlPlane, tmp_path: Path) -> Iterator[Daemons]:
    with Daemons(tmp_path) as running:
        plane.kubectl("delete", "namespace", "maar-system", "--ignore-not-found")
        yield running


def is_bound(plane: ControlPlane, pod: str) -> bool:
    return bool(plane.kubectl("get", "pod", pod, "-o", "jsonpath={.spec.nodeName}").stdout)


def has_logged(daemons: Daemons, name: str, words: str) -> bool:
    return words in daemons.log(name).read_text()


def submit(plane: ControlPlane, name: str) -> None:
    plane.kubectl("apply", "-f", "-", stdin=POD % (name, name, name))


def test_who_ends_hands_over_at_once_and_the_other_knows_everything(
    plane: ControlPlane, daemons: Daemons
) -> None:
    plane.kubectl("create", "namespace", "maar-system")
    daemons.run("first", "scheduler", plane.kubeconfig)
    wait_until("the first leads", lambda: daemons.has_logged("first", "at work"))
    daemons.run("second", "scheduler", plane.kubeconfig)
    wait_until("the second stands by", lambda: daemons.has_logged("second", "standing by"))
    assert not daemons.has_logged("second", "at work")
    holder = plane.kubectl(
        "get", "lease", "-n", "maar-system", "maar-scheduler", "-o", "jsonpath={.spec.holderIdentity}"
    ).stdout
    assert f"leads, as {holder}" in daemons.log("first").read_text()

    daemons.stop("first", signal.SIGTERM)
    left = plane.kubectl(
        "get", "lease", "-n", "maar-system", "maar-scheduler", "-o", "jsonpath={.spec.holderIdentity}"
    ).stdout
    assert left != holder, "it waits until the lease is over"
    wait_until("the second leads", lambda: daemons.has_logged("second", "at work"))
    submit(plane, "after")
    wait_until("it schedules", lambda: is_bound(plane, "after"))


def test_daemons_that_got_no_processor_go_on_with_their_own_leases(
    plane: ControlPlane, daemons: Daemons
) -> None:
    plane.kubectl("create", "namespace", "maar-system")
    parts = ("scheduler", "controllers")
    for part in parts:
        daemons.run(part, part, plane.kubeconfig)
    for part in parts:
        wait_until(f"{part}: at work", partial(daemons.has_logged, part, "at work"))
    for part in parts:
        daemons.signal(part, signal.SIGSTOP)
    time.sleep(STANDARD.duration_s + 1)
    submit(plane, "meanwhile")
    for part in parts:
        daemons.signal(part, signal.SIGCONT)
    wait_until("it is scheduled", lambda: is_bound(plane, "meanwhile"))
    for part in parts:
        wait_until(f"{part}: it goes on", partial(has_logged, daemons, part, "this process goes on"))
    daemons.check()


def test_a_namespace_that_is_not_there_for_the_lease_is_told(plane: ControlPlane, daemons: Daemons) -> None:
    daemons.run("alone", "scheduler", plane.kubeconfig, "--lease", "nowhere/maar-scheduler")
    wait_until("it says so", lambda: 'namespaces "nowhere" not found' in daemons.log("alone").read_text())
    daemons.stop("alone", signal.SIGTERM)


def test_a_changed_configuration_is_taken_and_a_bad_one_refused(
    plane: ControlPlane, daemons: Daemons
) -> None:
    plane.kubectl("create", "namespace", "maar-system")
    configure(plane, 'actions: "enqueue, allocate"')
    daemons.run("one", "scheduler", plane.kubeconfig, "--config-map", CONFIGURATION)
    wait_until("it works", lambda: daemons.has_logged("one", "at work"))

    configure(plane, 'actions: "enqueue, allocate, backfill"')
    wait_until("it is taken", lambda: "configuration taken over" in daemons.log("one").read_text())
    configure(plane, 'actions: "enqueue, fly"')
    wait_until("it is refused", lambda: "fly" in refusal(plane))
    assert "the configuration from before stays" in refusal(plane)
    submit(plane, "under-the-old-one")
    wait_until("it goes on", lambda: is_bound(plane, "under-the-old-one"))
    daemons.stop("one", signal.SIGTERM)

    daemons.run("one", "scheduler", plane.kubeconfig, "--config-map", CONFIGURATION)
    assert daemons.ended("one") == 1  # there is none from before to go by
    assert re.search(r"ConfigMap maar-system/maar-scheduler: actions.*fly", daemons.log("one").read_text())


def test_ten_jobs_of_one_apply_run_in_the_order_of_their_names(plane: ControlPlane, daemons: Daemons) -> None:
    """With Kubernetes' own job controller: groups are made for their pods, and named after random uids."""
    plane.kubectl("create", "namespace", "maar-system")
    plane.make_nodes(["small"], {"cpu": "1", "memory": "4Gi", "pods": "110"})
    for part in ("scheduler", "controllers"):
        daemons.run(part, part, plane.kubeconfig)
        wait_until(f"{part}: at work", partial(daemons.has_logged, part, "at work"))
    names = [f"f-{number}" for number in range(1, 11)]
    plane.kubectl("apply", "-f", "-", stdin=QUEUE)
    plane.kubectl(
        "cordon", "small"
    )  # the job controller makes pods side by side: the second may be the first
    plane.kubectl("apply", "-f", "-", stdin="---".join(JOB % name for name in names))
    groups = ("get", "podgroups", "-o", 'jsonpath={.items[?(@.spec.queue=="one-by-one")].metadata.name}')
    wait_until("all have come", lambda: len(plane.kubectl(*groups).stdout.split()) == len(names))
    plane.kubectl("uncordon", "small")
    ran: list[str] = []
    while len(ran) < len(names):
        wait_until("the next one is bound", lambda: any(bound_pods(plane)))
        (pod,) = bound_pods(plane)
        ran.append(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"])
        finished = ("patch", "pod", pod["metadata"]["name"], "--subresource=status")
        plane.kubectl(*finished, "-p", '{"status":{"phase":"Succeeded"}}')
    assert ran == names


def bound_pods(plane: ControlPlane) -> list[Json]:
    """The pods of the small node that have not finished."""
    here = "spec.nodeName=small,status.phase=Pending"
    return list(
        json.loads(plane.kubectl("get", "pods", f"--field-selector={here}", "-o", "json").stdout)["items"]
    )


def configure(plane: ControlPlane, text: str) -> None:
    namespace, _, name = CONFIGURATION.partition("/")
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"maar-scheduler.conf": text},
    }
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(document))


def refusal(plane: ControlPlane) -> str:
    return plane.kubectl(
        "get", "events", "-n", "maar-system", "--field-selector", "reason=ConfigurationRefused",
        "-o", "jsonpath={.items[*].message}",
    ).stdout  # fmt: skip
