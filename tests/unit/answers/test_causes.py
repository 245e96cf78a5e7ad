"""What is said of a group that waits names the true cause, and a change that starts it."""

from typing import Any, Final

import pytest

from maar.core.answers.explain.subject import find_subject
from maar.core.answers.future import Present
from maar.core.answers.starts.ask import planned_starts
from maar.core.model.pod import QUEUE_GATE
from properties.cluster_manifests import NOW, Document, node, priority_class, queue
from properties.clusters import as_object
from unit.answers.test_explanation import OLD, changes, explained, group, nodes, text

TAINT: Final = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


JOB_OWNER: Final = {
    "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "controller": True, "uid": "5f3c", "name": "w",
}  # fmt: skip


def gpu_node(*taints: Document) -> Document:
    """A node with GPUs, which keeps out what does not tolerate it."""
    one = node("gpu", {"cpu": 8000, "memory": 8 << 30, "pods": 110, "nvidia.com/gpu": 4}, {})
    one["spec"]["taints"] = list(taints)
    return one


def because(documents: list[Document], name: str) -> str:
    """What the planned start of a group depends on."""
    present = Present(tuple(map(as_object, documents)), now=NOW.timestamp())
    return planned_starts(present, groups=[f"team/{name}"])[f"team/{name}"].because


# --- taints


def test_a_taint_is_named_as_the_cause_and_its_toleration_as_the_change() -> None:
    cluster = [*nodes(1), gpu_node(TAINT), queue("a", {}, OLD)]
    cluster += group("w", "a", request={"nvidia.com/gpu": 1})
    found = explained(cluster, "w")
    assert (found.reason, found.cure) == ("NoNodeFits", "other nodes come")
    assert "it starts with a toleration of taint nvidia.com/gpu=present:NoSchedule" in found.message
    assert "large enough" not in found.message
    assert changes(cluster, "w") == ["let its 1 pod tolerate nvidia.com/gpu=present:NoSchedule"]


def test_all_taints_of_a_node_have_to_be_tolerated() -> None:
    other = {"key": "team", "value": "vision", "effect": "NoExecute"}
    cluster = [*nodes(1), gpu_node(TAINT, other), queue("a", {}, OLD)]
    cluster += group("w", "a", 2, request={"nvidia.com/gpu": 1})
    named = "nvidia.com/gpu=present:NoSchedule and team=vision:NoExecute"
    assert f"a toleration of taints {named}" in explained(cluster, "w").message
    assert changes(cluster, "w") == [f"let its 2 pods tolerate {named}"]


def test_no_toleration_of_what_a_failing_node_has_is_offered() -> None:
    failing = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
    cluster = [*nodes(1), gpu_node(failing), queue("a", {}, OLD)]
    cluster += group("w", "a", request={"nvidia.com/gpu": 1})
    assert "toleration of" not in explained(cluster, "w").message
    assert changes(cluster, "w") == []


def test_what_no_node_is_large_enough_for_is_not_blamed_on_a_taint() -> None:
    cluster = [*nodes(1), gpu_node(TAINT), queue("a", {}, OLD)]
    cluster += group("w", "a", request={"nvidia.com/gpu": 8})
    found = explained(cluster, "w")
    assert found.cure == "never on this cluster"
    assert "no node is large enough for" in found.message


@pytest.mark.parametrize(
    "taints", [[], [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]]
)
def test_a_node_that_is_unschedulable_is_named_and_offered_once(taints: list[Document]) -> None:
    large = [node(f"large{number}", {"cpu": 16000, "pods": 110}, {}) for number in range(2)]
    for one in large:
        one["spec"].update(unschedulable=True, taints=taints)
    cluster = [*nodes(1), *large, queue("a", {}, OLD), *group("w", "a", request={"cpu": 12000})]
    found = explained(cluster, "w")
    assert (found.reason, found.cure) == ("NoNodeFits", "other nodes come")
    assert "only 2 nodes that cannot be used now would take the pod" in found.message
    assert "toleration" not in found.message
    assert changes(cluster, "w") == ["let node large0 be scheduled on again (kubectl uncordon large0)"]


# --- a resource that no node has


@pytest.mark.parametrize("capability", [{}, {"capability": {"cpu": 4}}], ids=["no capability", "capability"])
def test_no_queue_is_blamed_for_what_no_node_has(capability: Document) -> None:
    wanted = {"amd.com/gpu": 1, "cpu": 1000}
    one, *pods = group("w", "a", request={"amd.com/gpu": 1}, min_resources=wanted)
    one["status"]["phase"] = "Pending"
    found = explained([*nodes(2), queue("a", capability, OLD), one, *pods], "w")
    assert found.message.startswith("it needs amd.com/gpu 1 and no node has any: never on this cluster")
    assert "queue" not in found.message


# --- a capability


def test_an_answer_about_a_capability_does_not_contradict_itself() -> None:
    cluster = [*nodes(2), queue("a", {"capability": {"cpu": 2}}, OLD), queue("b", {}, OLD)]
    cluster += [*group("g", "a", 2, on=["n0"] * 2), *group("o", "b", on=["n1"]), *group("w", "a")]
    assert "it starts when work there finishes" in explained(cluster, "w").message
    assert changes(cluster, "w") == [
        "raise the capability of queue a to cpu 3 (from cpu 2)",
        "delete pod group team/g, or wait until it ends (2 pods on nodes, queue a)",
    ]
    assert because(cluster, "w").startswith("It waits for 2 pods whose ends are unknown: team/g-0, team/g-1.")


def test_nor_does_one_about_a_declared_request_which_is_lent_more_once_others_end() -> None:
    cluster = [*nodes(1), queue("a", {"request": {"cpu": 1}}, OLD), queue("b", {}, OLD)]
    cluster += [*group("o", "b", 3, on=["n0"] * 3), *group("w", "a", 2, 2)]
    assert any(one.startswith("delete pod group team/o") for one in changes(cluster, "w"))
    assert because(cluster, "w").startswith("It waits for 3 pods whose ends are unknown: team/o-0, team/o-1")


# --- priority


@pytest.mark.parametrize("on", [[], ["n0"] * 2], ids=["comes first", "runs"])
def test_a_higher_priority_that_is_the_cause_is_named(on: list[str]) -> None:
    classes = [priority_class("high", 100), priority_class("higher", 200)]
    cluster = [*nodes(1), queue("a", {}, OLD), *classes]
    cluster += [*group("hi", "a", 2, 2, on=on, priority_class="high"), *group("w", "a", 2, 2, age=2000)]
    found = changes(cluster, "w")
    state = "2 pods on nodes" if on else "it waits"
    assert (
        f"delete pod group team/hi, or wait until it ends ({state}, queue a, priority 100 above 0)" in found
    )
    assert any(one.startswith("give it priority class high") for one in found)


# --- numbers after a raised minimum


@pytest.mark.parametrize(("least", "on"), [(17, 12), (13, 8)])
def test_the_numbers_of_a_raised_minimum_are_those_of_the_whole_group(least: int, on: int) -> None:
    cluster = [*nodes(1, 12), queue("a", {}, OLD), *group("w", "a", least, on=["n0"] * on)]
    found = explained(cluster, "w")
    assert found.message.startswith(
        f"its pods that start together need cpu {least} and the cluster has cpu 12: never on this cluster"
    )


# --- nodes that are alike


def test_nodes_that_differ_in_a_label_that_nothing_names_are_one_change() -> None:
    kinds = [node(f"n{zone}", {"cpu": 4000, "pods": 110}, {"zone": zone}) for zone in "ab"]
    cluster = [*kinds, queue("a", {}, OLD), *group("r", "a", 2, 4, on=["na", "nb"]), *group("w", "a", 1, 4)]
    assert [one for one in changes(cluster, "w") if "node like" in one] == ["add 1 node like na (cpu=4)"]
    cluster += group("s", "a", selector={"zone": "b"}, age=10)
    assert len([one for one in changes(cluster, "w") if "node like" in one]) == len(kinds)


# --- another job


def job(name: str, **annotations: str) -> Document:
    """A job of one pod."""
    task: dict[str, Any] = {"name": "main", "replicas": 1, "template": {"spec": {"containers": []}}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team", "annotations": annotations},
        "spec": {"minAvailable": 1, "tasks": [task]},
    }


def test_a_job_that_comes_after_another_names_it() -> None:
    after = {"maar.sh/after": "first"}
    first = {**job("first"), "status": {"state": {"phase": "Running"}}}
    found = find_subject([as_object(one) for one in (first, job("second", **after))], "job", "team/second")
    assert found is not None
    assert found.why_no_group == "it comes after job first, which is Running"
    alone = find_subject([as_object(job("second", **after))], "job", "team/second")
    assert alone is not None
    assert alone.why_no_group == "it comes after job first, and there is no such job"


def test_a_job_whose_pod_group_cannot_be_made_says_why() -> None:
    message = "PodGroup team/first-u cannot be created: exceeded quota"
    one = {**job("first"), "status": {"state": {"phase": "Pending", "message": message}}}
    found = find_subject([as_object(one)], "job", "team/first")
    assert found is not None
    assert found.why_no_group == message


# --- quotas


def quota(hard: Document, used: Document, **spec: object) -> Document:
    """A ResourceQuota of the namespace of the groups."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "team"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used},
    }


def part_of(documents: list[Document], pods: int) -> list[Document]:
    """A group with the first of its pods only: the others could not be created."""
    return documents[: 1 + pods]


@pytest.mark.parametrize("min_resources", [None, {"cpu": 8000}], ids=["alike", "minResources"])
def test_a_quota_that_refuses_pods_of_a_gang_is_named(min_resources: dict[str, int] | None) -> None:
    small = quota(
        {"requests.cpu": "20", "limits.cpu": "1", "pods": "50"}, {"requests.cpu": "19", "pods": "3"}
    )
    gang = part_of(group("w", "a", 8, min_resources=min_resources), 3)
    found = explained([*nodes(4), queue("a", {}, OLD), small, *gang], "w")
    assert found.reason == "ExceededQuota"
    assert found.message == (
        "3 of the 8 pods that start together exist, and ResourceQuota team/small has no room for the others: "
        "cpu 5 wanted, 1 left; it starts when the quota is raised or less of it is used"
    )


@pytest.mark.parametrize(("hard", "is_never"), [("8", False), ("7", True)])
@pytest.mark.parametrize("min_resources", [None, {"cpu": 8000}], ids=["alike", "minResources"])
def test_a_quota_that_is_smaller_than_the_gang_has_no_cure_but_a_larger_one(
    hard: str,
    is_never: bool,  # noqa: FBT001
    min_resources: dict[str, int] | None,
) -> None:
    small = quota({"requests.cpu": hard}, {"requests.cpu": hard})
    gang = part_of(group("w", "a", 8, min_resources=min_resources), 3)
    found = explained([*nodes(4), queue("a", {}, OLD), small, *gang], "w")
    assert found.cure == ("never on this cluster" if is_never else "somebody acts")
    assert found.message.endswith("never on this cluster, unless the quota is raised") == is_never
    assert ("less of it is used" in found.message) != is_never


def test_a_group_whose_pods_a_quota_refuses_has_no_planned_start() -> None:
    none = part_of(group("w", "a", 8, min_resources={"cpu": 8000}), 0)
    none[0]["metadata"]["ownerReferences"] = [JOB_OWNER]
    full = quota({"count/pods": "2"}, {"count/pods": "2"})
    assert because([*nodes(4), queue("a", {}, OLD), full, *none], "w").startswith(
        "Its pods cannot be created"
    )


def test_a_quota_is_told_on_a_group_without_any_pods() -> None:
    none = part_of(group("w", "a", 8, min_resources={"cpu": 8000}), 0)
    cluster = [*nodes(4), queue("a", {}, OLD), *none]
    assert "waits for its pods: none of them has been created" in text(explained(cluster, "w"))
    found = explained([*cluster, quota({"count/pods": "2"}, {"count/pods": "2"})], "w")
    assert found.reason == "ExceededQuota"
    assert "pods 8 wanted, 0 left" in found.message
    assert "nothing left to run" not in text(found)


@pytest.mark.parametrize(
    "other",
    [
        quota({"requests.cpu": "40", "pods": "50"}, {"requests.cpu": "3", "pods": "3"}),
        quota({"requests.cpu": "4"}, {"requests.cpu": "3"}, scopes=["BestEffort"]),
        quota({"limits.cpu": "4", "count/jobs.batch": "0"}, {"limits.cpu": "4"}),
    ],
    ids=["roomy", "of other pods", "of something else"],
)
def test_a_quota_that_refuses_nothing_is_not_blamed(other: Document) -> None:
    gang = part_of(group("w", "a", 8), 3)
    assert explained([*nodes(4), queue("a", {}, OLD), other, *gang], "w").reason == "NotEnoughTasks"


# --- names


def test_a_pod_group_is_named_by_its_job() -> None:
    named = JOB_OWNER
    cluster = [*nodes(1), queue("a", {"dequeueStrategy": "fifo"}, OLD)]
    first = group("first-5f3c", "a", 1, 9, age=9000)
    first[0]["metadata"]["ownerReferences"] = [{**named, "name": "first"}]
    found = explained([*cluster, *first, *group("w", "a")], "w")
    assert "5f3c" not in text(found)
    assert "team/first comes first" in found.message


# --- the scheduling gate of queues


def test_a_pod_with_the_gate_of_its_queue_waits_for_room_there_and_not_for_people() -> None:
    cluster = [*nodes(1), queue("a", {"capability": {"cpu": "2"}}, OLD)]
    cluster += group("r", "a", cpu=2, on=["n0"])
    waits = group("w", "a", cpu=2)
    for one in waits:
        if one["kind"] == "Pod":
            one["spec"]["schedulingGates"] = [{"name": QUEUE_GATE}]
    cluster += waits
    found = explained(cluster, "w")
    assert (found.reason, found.cure) == ("SchedulingGated", "others finish")
    assert "Maar removes it when the queue has room" in found.message
    assert "does not start when others end" not in because(cluster, "w")
    assert changes(cluster, "w") == [
        "delete pod group team/r, or wait until it ends (1 pod on nodes, queue a)"
    ]
