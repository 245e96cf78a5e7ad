"""Which group or pod is placed first and evicted first: age, then numbers and names in natural order."""

from itertools import pairwise
from typing import Any

import pytest

from maar.core.model.kinds import from_document, kind_of
from maar.core.model.metadata import Metadata, Object
from maar.core.model.names import natural
from maar.core.tables.numbers import is_lead, number_of
from support.planning import plan

Json = dict[str, Any]

NOON = "2026-01-01T12:00:00Z"
LATER = "2026-01-01T12:00:01Z"


@pytest.mark.parametrize(
    "names",
    [
        ["f-1", "f-2", "f-9", "f-10", "f-11", "f-100"],
        ["f-01", "f-02", "f-10"],
        ["a", "a-1", "a-1-b", "a-2", "a.2", "b"],
        ["p1", "p2", "p10", "pa"],
        ["x-2-9", "x-2-10", "x-10-1"],
    ],
)
def test_names_are_ordered_as_a_person_reads_them(names: list[str]) -> None:
    assert all(natural(one) < natural(other) for one, other in pairwise(names))


@pytest.mark.parametrize(
    ("name", "marks", "number"),
    [
        ("fits-worker-2", {}, 2),
        ("raycluster-head-7xsz6", {}, 0),
        ("raycluster-workers-worker-24689", {}, 0),  # one random suffix in 850 is all digits
        ("wf-one-2843838068", {}, 0),  # Argo's hash
        ("web-7", {"apps.kubernetes.io/pod-index": "7"}, 7),
        ("train-3-x2k6b", {"batch.kubernetes.io/job-completion-index": "3"}, 3),
        ("job-worker-12", {"volcano.sh/task-index": "5"}, 5),
        ("pi-worker-1", {"training.kubeflow.org/replica-index": "1"}, 1),
        ("app-1f-exec-12345", {"spark-exec-id": "12345"}, 12345),
        ("a-9999", {}, 9999),
        ("a-10000", {}, 0),
        ("7", {}, 7),
        ("a7", {}, 0),
        ("a-3", {"volcano.sh/task-index": "many"}, 3),
        ("a-3", {"volcano.sh/task-index": "9" * 40}, 3),
        ("a-3", {"volcano.sh/task-index": "-1"}, 3),
    ],
)
def test_the_number_of_a_pod_is_its_index_or_its_last_segment(
    name: str, marks: dict[str, str], number: int
) -> None:
    assert number_of(Metadata(name=name, labels=marks)) == number
    assert number_of(Metadata(name=name, annotations=marks)) == number


def test_an_annotation_wins_over_a_label() -> None:
    index = "volcano.sh/task-index"
    assert number_of(Metadata(name="a", labels={index: "1"}, annotations={index: "2"})) == 2


def test_the_jobs_of_a_job_set_come_one_after_the_other() -> None:
    def number(job: str, within: str) -> int:
        marks = {
            "jobset.sigs.k8s.io/job-index": "0",
            "jobset.sigs.k8s.io/job-global-index": job,
            "batch.kubernetes.io/job-completion-index": within,
        }
        return number_of(Metadata(name="js-rj-0-0-x2k6b", labels=marks))

    assert number("0", "0") < number("0", "1") < number("0", "99999") < number("1", "0") < number("2", "0")


@pytest.mark.parametrize(
    ("label", "leads"),
    [
        (("ray.io/node-type", "head"), True),
        (("ray.io/node-type", "worker"), False),
        (("spark-role", "driver"), True),
        (("spark-role", "executor"), False),
        (("training.kubeflow.org/job-role", "master"), True),
        (("training.kubeflow.org/job-role", "launcher"), True),
        (("training.kubeflow.org/job-role", "worker"), False),
    ],
)
def test_the_pod_that_the_others_depend_on_is_known_by_its_role(
    label: tuple[str, str], *, leads: bool
) -> None:
    assert is_lead(Metadata(name="a", labels=dict([label]))) is leads


# --- decisions


def typed(document: Json) -> Object:
    kind = kind_of(document["apiVersion"], document["kind"])
    assert kind is not None
    return from_document(kind, document)


def node(cpu: int) -> Json:
    ready = {
        "allocatable": {"cpu": str(cpu), "pods": "99"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": ready}


def queue(name: str, **spec: object) -> Json:
    version = "scheduling.volcano.sh/v1beta1"
    metadata = {"name": name, "creationTimestamp": NOON}
    return {"apiVersion": version, "kind": "Queue", "metadata": metadata, "spec": spec}


def group(name: str, queue: str = "default", least: int = 1, owner: str = "", phase: str = "Inqueue") -> Json:
    references = [{"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": "u", "controller": True}]
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": "default",
            "creationTimestamp": NOON,
            "ownerReferences": references if owner else [],
        },
        "spec": {"minMember": least, "queue": queue, "minResources": {"cpu": str(least)}},
        "status": {"phase": phase},
    }


def pod(name: str, group: str, on: str = "", created: str = NOON, role: str = "") -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec: Json = {"schedulerName": "volcano", "containers": [container]}
    if on:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "creationTimestamp": created,
            "labels": {"ray.io/node-type": role} if role else {},
            "annotations": {"scheduling.k8s.io/group-name": group},
        },
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }


def first_cycle(*documents: Json, configuration: object = None) -> Json:
    cycle: Any = plan([typed(one) for one in documents], configuration)["cycles"]
    found: Json = cycle[0]
    return found


def evicted(*documents: Json) -> list[str]:
    return [one["pod"].partition("/")[2] for one in first_cycle(*documents)["evictions"]]


def bound(*documents: Json, configuration: object = None) -> list[str]:
    binds: dict[str, str] = first_cycle(*documents, configuration=configuration)["binds"]
    return [key.partition("/")[2] for key in binds]


@pytest.mark.parametrize("least", [1, 4])
def test_a_ray_head_outlives_its_workers(least: int) -> None:
    """Nine pods of one second, the head's random suffix ends in the largest digit."""
    suffixes = ["b2k4x", "c6mz5", "d8lk2", "f4xq6", "g2zw4", "h7qx2", "j5rr4", "k9kx2"]
    workers = [pod(f"rc-a-worker-{one}", "ray", "n", role="worker") for one in suffixes]
    head = pod("rc-head-7xsz9", "ray", "n", role="head")
    wanted = 9 - max(least, 5)
    waiting = [group("new", "a", wanted), *(pod(f"new-{one}", "new") for one in range(wanted))]
    victims = evicted(node(9), queue("a"), queue("b"), group("ray", "b", least), head, *workers, *waiting)
    assert len(victims) == wanted
    assert "rc-head-7xsz9" not in victims


def test_of_equal_pods_the_youngest_goes_first() -> None:
    old = [pod(f"web-x2k6b-{one}", "web", "n", NOON) for one in ("bbbbb", "zzzzz")]
    young = [pod(f"web-x2k6b-{one}", "web", "n", LATER) for one in ("ccccc", "ddddd")]
    waiting = [group("new", "a", 2), pod("new-0", "new"), pod("new-1", "new")]
    victims = evicted(node(4), queue("a"), queue("b"), group("web", "b"), *old, *young, *waiting)
    assert victims == ["web-x2k6b-ddddd", "web-x2k6b-ccccc"]


TEN = [f"f-{one}" for one in range(1, 11)]


@pytest.mark.parametrize("strategy", ["traverse", "fifo"])
@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
def test_groups_of_one_second_run_in_the_order_of_their_names(strategy: str, phase: str) -> None:
    work = [one for name in reversed(TEN) for one in (group(name, phase=phase), pod(f"{name}-0", name))]
    default = queue("default", dequeueStrategy=strategy)
    assert bound(node(3), default, *work) == ["f-1-0", "f-2-0", "f-3-0"]


def test_groups_that_maar_made_run_in_the_order_of_their_owners() -> None:
    """Their own names are the uids of Jobs, which are random."""
    work = [
        one
        for index, name in enumerate(TEN)
        for one in (group(f"podgroup-{9 - index}", owner=name), pod(f"{name}-x2k6b", f"podgroup-{9 - index}"))
    ]
    assert bound(node(3), queue("default"), *work) == ["f-1-x2k6b", "f-2-x2k6b", "f-3-x2k6b"]


@pytest.mark.parametrize(
    ("since", "first"),
    [
        ("2026-01-01T11:59:59Z", "podgroup-2"),  # made a second after its owner, which was there before
        ("2026-01-01T12:00:09Z", "podgroup-1"),  # after it was made: nobody wrote that
        ("2026-01-01T08:00:00Z", "podgroup-1"),  # an old owner that has been scaled up now
        ("2026-01-01T11:59:59", "podgroup-1"),
        ("yesterday", "podgroup-1"),
    ],
)
def test_a_group_is_as_old_as_the_owner_that_it_was_made_for(since: str, first: str) -> None:
    groups = [group("podgroup-1", owner="f-1"), group("podgroup-2", owner="f-2")]
    groups[1]["metadata"]["annotations"] = {"maar.sh/owner-since": since}
    pods = [pod(f"{name}-x", name) for name in ("podgroup-1", "podgroup-2")]
    assert bound(node(1), queue("default"), *groups, *pods) == [f"{first}-x"]


def test_groups_of_one_second_are_let_in_in_the_order_of_their_names() -> None:
    outcomes = first_cycle(node(3), queue("default"), *(group(name, phase="Pending") for name in TEN))
    let_in = [key for key, one in outcomes["podGroups"].items() if one["phase"] == "Inqueue"]
    assert let_in == ["default/f-1", "default/f-2", "default/f-3"]


def test_of_groups_of_one_second_the_last_pays_first() -> None:
    running = [one for name in TEN for one in (group(name, "b"), pod(f"{name}-0", name, "n"))]
    waiting = [group("new", "a", 2), pod("new-0", "new"), pod("new-1", "new")]
    assert evicted(node(10), queue("a"), queue("b"), *running, *waiting) == ["f-10-0", "f-9-0"]


def test_queues_of_one_second_take_turns_in_the_order_of_their_names() -> None:
    queues = [queue(name) for name in reversed(TEN)]
    work = [one for name in TEN for one in (group(name, name), pod(f"{name}-0", name))]
    assert bound(node(3), *queues, *work) == ["f-1-0", "f-2-0", "f-3-0"]


def test_namespaces_of_one_age_take_turns_in_the_order_of_their_names() -> None:
    work = [one for name in TEN for one in (group(name), pod(f"{name}-0", name))]
    for one in work:
        one["metadata"]["namespace"] = one["metadata"]["name"].removesuffix("-0")
    assert bound(node(3), queue("default"), *work) == ["f-1-0", "f-2-0", "f-3-0"]
