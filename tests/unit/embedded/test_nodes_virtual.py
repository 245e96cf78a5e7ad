"""Virtual nodes: pods run for as long as they say and end as they say, in no time at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion
from maar.embedded.cluster import Cluster
from maar.embedded.nodes.virtual import VirtualNodes
from support.node_cluster import Clock, embedded, pass_time, place, pod, seen, settle

RUN_FOR, EXIT_CODE, STOP_AFTER = "maar.sh/run-for", "maar.sh/exit-code", "maar.sh/stop-after"
DAY = 24 * 3600.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(tmp_path: Path, clock: Clock) -> Iterator[Cluster]:
    with embedded(tmp_path, "2x8cpu,32Gi,zone=a", clock=clock) as made:
        yield made


@pytest.fixture
def nodes(cluster: Cluster, clock: Clock) -> VirtualNodes:
    made = VirtualNodes(cluster, clock)
    for _ in made.read_pods():
        pass
    settle(made)
    return made


def conditions(cluster: Cluster, name: str) -> dict[str, str]:
    return {one["type"]: one["status"] for one in seen(cluster, name)["conditions"]}


def test_a_bound_pod_runs_at_once(cluster: Cluster, nodes: VirtualNodes) -> None:
    place(cluster, pod("a"))
    settle(nodes)
    status = seen(cluster, "a")
    assert status["phase"] == "Running"
    assert status["startTime"] == "2027-01-15T08:00:00Z"
    assert status["podIP"].startswith("10.")
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["qosClass"] == "Burstable"
    node = cluster.read("nodes", "", "node-1")
    assert node is not None
    assert {"type": "InternalIP", "address": status["hostIP"]} in node["status"]["addresses"]  # type: ignore[index]  # JSON
    [container] = status["containerStatuses"]
    assert container["state"] == {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
    assert (container["name"], container["ready"], container["restartCount"]) == ("main", True, 0)
    assert conditions(cluster, "a") == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }


@pytest.mark.parametrize(
    ("code", "phase", "reason"), [("0", "Succeeded", "Completed"), ("3", "Failed", "Error")]
)
@pytest.mark.parametrize("policy", ["Never", "Always"])
def test_a_pod_runs_as_long_as_it_says_and_ends_as_it_says(
    cluster: Cluster, nodes: VirtualNodes, clock: Clock, code: str, phase: str, reason: str, policy: str
) -> None:
    place(cluster, pod("a", {RUN_FOR: "1h1m30s", EXIT_CODE: code}, restartPolicy=policy))
    pass_time(clock, nodes, 3689)
    assert seen(cluster, "a")["phase"] == "Running"
    pass_time(clock, nodes, 1)
    status = seen(cluster, "a")
    assert status["phase"] == phase
    assert status["containerStatuses"][0]["state"]["terminated"] == {
        "exitCode": int(code),
        "reason": reason,
        "startedAt": "2027-01-15T08:00:00Z",
        "finishedAt": "2027-01-15T09:01:30Z",
    }
    assert conditions(cluster, "a")["Ready"] == "False"
    assert conditions(cluster, "a")["Initialized"] == "True"


def test_a_pod_that_does_not_say_how_long_runs_until_it_is_deleted(
    cluster: Cluster, nodes: VirtualNodes, clock: Clock
) -> None:
    place(cluster, pod("a", restartPolicy="Always"))
    pass_time(clock, nodes, 400 * DAY)
    assert seen(cluster, "a")["phase"] == "Running"
    cluster.delete("pods", "default", "a")
    settle(nodes)
    assert cluster.read("pods", "default", "a") is None


def test_a_failing_pod_is_restarted_on_failure_after_longer_and_longer_waits(
    cluster: Cluster, nodes: VirtualNodes, clock: Clock
) -> None:
    place(cluster, pod("a", {RUN_FOR: "5s", EXIT_CODE: "1"}, restartPolicy="OnFailure"))
    pass_time(clock, nodes, 5)
    [container] = seen(cluster, "a")["containerStatuses"]
    assert (container["restartCount"], "running" in container["state"]) == (1, True)
    assert container["lastState"]["terminated"]["exitCode"] == 1
    pass_time(clock, nodes, 5)
    [container] = seen(cluster, "a")["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert seen(cluster, "a")["phase"] == "Running"
    assert conditions(cluster, "a")["Ready"] == "False"
    pass_time(clock, nodes, 10)
    assert seen(cluster, "a")["containerStatuses"][0]["restartCount"] == 2
    pass_time(clock, nodes, DAY)
    # 5 s of run and at most 300 s of waiting each
    assert DAY / 305 < seen(cluster, "a")["containerStatuses"][0]["restartCount"] < DAY / 305 + 6


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (RUN_FOR, "soon", "annotation maar.sh/run-for: 'soon' is not a duration: write 30s, 1h30m or 500ms"),
        (RUN_FOR, "-5s", "annotation maar.sh/run-for: '-5s' is not a duration: write 30s, 1h30m or 500ms"),
        (EXIT_CODE, "-1", 'annotation maar.sh/exit-code: \'-1\' is not an exit code: write "0" or "1"'),
        (EXIT_CODE, "256", "annotation maar.sh/exit-code: 256 is above 255: write less"),
        (STOP_AFTER, "5", "annotation maar.sh/stop-after: '5' is not a duration: write 30s, 1h30m or 500ms"),
    ],
)
def test_a_bad_annotation_fails_the_pod_and_says_why(
    cluster: Cluster, nodes: VirtualNodes, annotation: str, value: str, message: str
) -> None:
    place(cluster, pod("a", {annotation: value}))
    settle(nodes)
    status = seen(cluster, "a")
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "BadAnnotation", message)
    [event] = cluster.all("events", "default")
    assert (event["reason"], event["message"]) == ("BadAnnotation", message)


def test_a_deleted_pod_stops_as_slowly_as_it_says_but_within_its_grace(
    cluster: Cluster, nodes: VirtualNodes, clock: Clock
) -> None:
    place(cluster, pod("slow", {STOP_AFTER: "5s"}))
    place(cluster, pod("stubborn", {STOP_AFTER: "1h"}, terminationGracePeriodSeconds=20))
    settle(nodes)
    for name in ("slow", "stubborn"):
        cluster.delete("pods", "default", name)
    pass_time(clock, nodes, 4)
    assert seen(cluster, "slow")["phase"] == "Running"
    pass_time(clock, nodes, 1)
    assert cluster.read("pods", "default", "slow") is None
    pass_time(clock, nodes, 14)
    assert seen(cluster, "stubborn")["phase"] == "Running"
    pass_time(clock, nodes, 1)
    assert cluster.read("pods", "default", "stubborn") is None


def test_a_stopping_pod_that_is_deleted_again_at_once_goes_at_once(
    cluster: Cluster, nodes: VirtualNodes
) -> None:
    place(cluster, pod("a", {STOP_AFTER: "10s"}))
    settle(nodes)
    cluster.delete("pods", "default", "a")
    settle(nodes)
    cluster.delete("pods", "default", "a", Deletion(grace=0))
    settle(nodes)
    assert cluster.read("pods", "default", "a") is None
    place(cluster, pod("a", cpu="8"))  # its room is free, and its name
    settle(nodes)
    assert seen(cluster, "a")["phase"] == "Running"


def test_a_pod_that_finalizers_keep_has_stopped_and_holds_nothing(
    cluster: Cluster, nodes: VirtualNodes
) -> None:
    kept = pod("kept", cpu="8")
    kept["metadata"]["finalizers"] = ["example.com/wait"]
    place(cluster, kept)
    settle(nodes)
    cluster.delete("pods", "default", "kept")
    settle(nodes)
    assert seen(cluster, "kept")["phase"] == "Failed"
    assert seen(cluster, "kept")["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    place(cluster, pod("next", cpu="8"))
    settle(nodes)
    assert seen(cluster, "next")["phase"] == "Running"


def test_what_does_not_fit_is_refused_as_a_kubelet_does(
    cluster: Cluster, nodes: VirtualNodes, clock: Clock
) -> None:
    place(cluster, pod("first", {RUN_FOR: "10s"}, cpu="6"))
    place(cluster, pod("second", cpu="2500m"))
    settle(nodes)
    status = seen(cluster, "second")
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 2500, used: 6000, capacity: 8000"
    )
    pass_time(clock, nodes, 10)
    place(cluster, pod("third", cpu="8"))
    settle(nodes)
    assert seen(cluster, "third")["phase"] == "Running"


def test_a_resource_that_the_node_does_not_have_is_refused(cluster: Cluster, nodes: VirtualNodes) -> None:
    resources = {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}
    place(cluster, pod("a", containers=[{"name": "main", "image": "x", "resources": resources}]))
    settle(nodes)
    assert seen(cluster, "a")["reason"] == "OutOfnvidia.com/gpu"


def test_a_pod_bound_to_no_node_fails_and_can_be_deleted(cluster: Cluster, nodes: VirtualNodes) -> None:
    place(cluster, pod("a"), "nowhere")
    place(cluster, pod("b"), "node-2")
    settle(nodes)
    assert seen(cluster, "a")["reason"] == "NodeNotFound"
    assert seen(cluster, "b")["phase"] == "Running"
    cluster.delete("nodes", "", "node-2")
    settle(nodes)
    status = seen(cluster, "b")
    assert (status["phase"], status["reason"]) == ("Failed", "NodeNotFound")
    assert "terminated" in status["containerStatuses"][0]["state"]
    cluster.delete("pods", "default", "b")
    settle(nodes)
    assert cluster.read("pods", "default", "b") is None


def test_a_pod_ends_when_its_deadline_is_over(cluster: Cluster, nodes: VirtualNodes, clock: Clock) -> None:
    place(cluster, pod("a", {RUN_FOR: "1h"}, activeDeadlineSeconds=60))
    pass_time(clock, nodes, 60)
    status = seen(cluster, "a")
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_an_annotation_can_be_changed_while_the_pod_runs(
    cluster: Cluster, nodes: VirtualNodes, clock: Clock
) -> None:
    place(cluster, pod("a"))
    pass_time(clock, nodes, 100)

    def shorten(value: dict[str, object]) -> dict[str, object]:
        value["metadata"]["annotations"] = {RUN_FOR: "110s"}  # type: ignore[index]  # JSON
        return value

    cluster.change("pods", "default", "a", shorten)
    pass_time(clock, nodes, 9)
    assert seen(cluster, "a")["phase"] == "Running"
    pass_time(clock, nodes, 1)
    assert seen(cluster, "a")["phase"] == "Succeeded"
