"""The life of a queue on a real cluster: kubectl, with Maar's scheduler and controllers beside it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.control_plane import ControlPlane
from support.needs_kubernetes import needs_kubernetes
from support.processes import Group
from support.until import wait_until

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
MAAR = str(Path(sys.executable).with_name("maar"))
VCCTL = str(Path(sys.executable).with_name("vcctl"))

QUEUE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: %s}
spec: {weight: 1, state: Closed, parent: root}
"""
GANG = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: %(name)s}
spec: {minMember: 2, queue: %(queue)s}
---
apiVersion: v1
kind: Pod
metadata: {name: %(name)s-0, annotations: {scheduling.k8s.io/group-name: %(name)s}}
spec: &spec
  schedulerName: volcano
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, resources: {requests: {cpu: 1}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: %(name)s-1, annotations: {scheduling.k8s.io/group-name: %(name)s}}
spec:
  schedulerName: volcano
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, resources: {requests: {cpu: 1}}}]
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane with nodes, and Maar's scheduler and controllers as processes beside it."""
    needs_kubernetes()
    folder = tmp_path_factory.mktemp("plane")
    logs = tmp_path_factory.mktemp("maar")
    with ControlPlane(folder, controllers=True) as running, Group(logs) as maar:
        running.kubectl("apply", "-f", str(CRDS))
        running.kubectl("wait", "--for=condition=Established", "crd", "--all")
        running.make_nodes(["n1", "n2"])
        running.kubectl("create", "namespace", "maar-system")
        for part in ("scheduler", "controllers"):
            maar.start(part, [MAAR, part], {**running.environment})
        wait_until("the scheduler is at work", lambda: "at work" in maar.log("scheduler").read_text())
        wait_until("the controllers are at work", lambda: "at work" in maar.log("controllers").read_text())
        yield running
        maar.check()


def state(plane: ControlPlane, name: str) -> str:
    return plane.kubectl("get", "queue", name, "-o", "jsonpath={.status.state}").stdout


def wait_for(plane: ControlPlane, what: str, condition: str) -> None:
    plane.kubectl("wait", f"--for={condition}", what)


def test_root_and_default_are_there(plane: ControlPlane) -> None:
    wait_until("both are open", lambda: (state(plane, "root"), state(plane, "default")) == ("Open", "Open"))


def test_a_queue_is_made_closed_opened_filled_closed_drained_and_deleted(plane: ControlPlane) -> None:
    plane.kubectl("apply", "-f", "-", stdin=QUEUE % "life")
    wait_for(plane, "queue/life", "jsonpath={.status.state}=Closed")
    plane.kubectl("patch", "queue", "life", "--type=merge", "-p", '{"spec":{"state":"Open"}}')
    wait_for(plane, "queue/life", "jsonpath={.status.state}=Open")
    plane.kubectl("apply", "-f", "-", stdin=GANG % {"name": "work", "queue": "life"})
    wait_for(plane, "pod/work-0", "jsonpath={.spec.nodeName}")
    wait_for(plane, "pod/work-1", "jsonpath={.spec.nodeName}")
    wait_for(plane, "pg/work", "jsonpath={.status.phase}=Running")
    wait_until(
        "two CPUs are used",
        lambda: plane.kubectl("get", "queue", "life", "-o", "jsonpath={.status.used.cpu}").stdout == "2",
    )
    plane.kubectl("patch", "queue", "life", "--type=merge", "-p", '{"spec":{"state":"Closed"}}')
    wait_for(plane, "queue/life", "jsonpath={.status.state}=Closing")
    plane.kubectl("delete", "pod/work-0", "pod/work-1", "pg/work", "--force")
    wait_for(plane, "queue/life", "jsonpath={.status.state}=Closed")
    described = plane.kubectl("describe", "queue", "life").stdout
    for word in ("QueueClosed", "QueueOpen", "QueueClosing"):
        assert word in described
    plane.kubectl("delete", "queue", "life")


def test_the_same_with_vcctl(plane: ControlPlane) -> None:
    def vcctl(*arguments: str) -> str:
        environment = {**plane.environment}
        done = subprocess.run(
            [VCCTL, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    vcctl("queue", "create", "-n", "lifetime", "-w", "3", "-S", "Closed")
    wait_until("it is closed", lambda: state(plane, "lifetime") == "Closed")
    vcctl("queue", "operate", "-n", "lifetime", "-a", "open")
    wait_until("it is open", lambda: state(plane, "lifetime") == "Open")
    assert "lifetime" in vcctl("queue", "list")
    vcctl("queue", "operate", "-n", "lifetime", "-a", "update", "-w", "5")
    weight = plane.kubectl("get", "queue", "lifetime", "-o", "jsonpath={.spec.weight}").stdout
    assert weight == "5"
    vcctl("queue", "operate", "-n", "lifetime", "-a", "close")
    wait_until("it is closed", lambda: state(plane, "lifetime") == "Closed")
    vcctl("queue", "delete", "-n", "lifetime")
    wait_until("it is gone", lambda: plane.kubectl("get", "queue", "lifetime", check=False).returncode != 0)


def test_a_bare_pod_gets_its_group_and_its_node(plane: ControlPlane) -> None:
    bare = """
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, resources: {requests: {cpu: 1}}}]
"""
    plane.kubectl("apply", "-f", "-", stdin=bare)
    wait_for(plane, "pod/bare", "jsonpath={.spec.nodeName}")
    plane.kubectl("delete", "pod", "bare", "--force")
    wait_until(
        "the group of the bare pod is gone",
        lambda: "podgroup-" not in plane.kubectl("get", "pg", "-o", "name").stdout,
    )


def test_quotas_follow_what_a_queue_is_allocated_as_nodes_come_and_go(plane: ControlPlane) -> None:
    plane.kubectl(
        "apply", "-f", "-",
        stdin="""
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: declared}
spec: {weight: 1, request: {cpu: 1000}}
---
apiVersion: v1
kind: Namespace
metadata: {name: light, annotations: {scheduling.volcano.sh/queue-name: declared}}
---
apiVersion: v1
kind: Namespace
metadata: {name: heavy, annotations: {scheduling.volcano.sh/queue-name: declared}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: weight, namespace: heavy}
spec: {hard: {volcano.sh/namespace.weight: 3}}
""",
    )  # fmt: skip

    def limits() -> tuple[int, int]:
        found = [
            plane.kubectl(
                "get",
                "quota",
                "maar-queue",
                "-n",
                name,
                "-o",
                r"jsonpath={.spec.hard.requests\.cpu}",
                check=False,
            ).stdout
            for name in ("light", "heavy")
        ]
        return (int(found[0] or 0), int(found[1] or 0)) if all(one.isdecimal() for one in found) else (0, 0)

    def allocated() -> int:
        text = plane.kubectl("get", "queue", "declared", "-o", "jsonpath={.status.allocated.cpu}").stdout
        return int(text) if text.isdecimal() else 0

    def follows() -> bool:
        light, heavy = limits()
        return allocated() > 0 and light + heavy == allocated() and abs(heavy - 3 * light) <= 3

    wait_until("limits follow the queue", follows)
    before = limits()
    plane.make_nodes(["n3"])
    wait_until("limits grow with the pods", lambda: sum(limits()) > sum(before) and follows())
    plane.kubectl("delete", "node", "n3")
    wait_until("limits are as before", lambda: limits() == before)
    plane.kubectl("delete", "quota", "maar-queue", "-n", "light")
    wait_until("limits are as before", lambda: limits() == before)
    plane.kubectl(
        "patch", "queue", "declared", "--type=json", "-p", '[{"op":"remove","path":"/spec/request"}]'
    )
    wait_until(
        "one quota is left",
        lambda: plane.kubectl("get", "quota", "-A", "-o", "name").stdout.split() == ["resourcequota/weight"],
    )
    plane.kubectl("delete", "ns", "light", "heavy")
    plane.kubectl("delete", "queue", "declared")


def test_a_pod_that_waits_says_whether_another_node_would_help(plane: ControlPlane) -> None:
    capped = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: capped}
spec: {weight: 1, capability: {cpu: 1}}
"""
    plane.kubectl("apply", "-f", "-", stdin=capped + "---" + GANG % {"name": "held", "queue": "capped"})
    huge = (GANG % {"name": "huge", "queue": "default"}).replace("cpu: 1}", "cpu: 500}")
    plane.kubectl("apply", "-f", "-", stdin=huge)

    def reason(pod: str) -> str:
        path = 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason}'
        return plane.kubectl("get", "pod", pod, "-o", path).stdout

    wait_until("no node is large enough", lambda: reason("huge-0") == "Unschedulable")
    wait_until("the queue is at its capability", lambda: reason("held-0") == "QueueAtCapability")
    plane.kubectl("delete", "pods", "--all", "--force")
    plane.kubectl("delete", "pg", "--all")
    plane.kubectl("delete", "queue", "capped")


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_pods_of_a_set_share_a_group_that_goes_with_them(plane: ControlPlane, kind: str) -> None:
    name = f"of-{kind.lower()}"
    template = """
    metadata: {{labels: {{app: {}}}}}
    spec:
      schedulerName: volcano
      restartPolicy: {}
      terminationGracePeriodSeconds: 0
      containers: [{{name: main, image: busybox, resources: {{requests: {{cpu: 1}}}}}}]
""".format(name, "Never" if kind == "Job" else "Always")
    counts = (
        "parallelism: 2\n  completions: 2"
        if kind == "Job"
        else f"replicas: 2\n  selector: {{matchLabels: {{app: {name}}}}}"
    )
    more = "\n  serviceName: x\n  podManagementPolicy: Parallel" if kind == "StatefulSet" else ""
    plane.kubectl(
        "apply", "-f", "-",
        stdin=f"""
apiVersion: {"batch/v1" if kind == "Job" else "apps/v1"}
kind: {kind}
metadata: {{name: {name}, annotations: {{scheduling.volcano.sh/group-min-member: "2"}}}}
spec:
  {counts}{more}
  template:{template}""",
    )  # fmt: skip

    def bound() -> int:
        label = f"app={name}"
        return len(
            plane.kubectl(
                "get", "pods", "-l", label, "-o", "jsonpath={.items[*].spec.nodeName}"
            ).stdout.split()
        )

    def groups() -> list[str]:
        return plane.kubectl("get", "pg", "-o", "jsonpath={.items[*].spec.minMember}").stdout.split()

    wait_until("two are bound", lambda: bound() == 2)
    assert groups() == ["2"]
    plane.kubectl("delete", kind, name)
    plane.kubectl("delete", "pods", "-l", f"app={name}", "--force")
    wait_until("no group is left", lambda: groups() == [])
