"""Disruption budgets: how many pods there should be, how many are healthy, how many may go."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.metadata import LabelSelector
from maar.embedded.calls import Call, Deletion
from maar.embedded.controllers.view import BudgetPods, Pod, pod_of
from maar.embedded.kinds.budgets import PLURAL
from maar.embedded.kinds.pods import evict
from support.embedded import Document, EmbeddedCluster, opened

WEB = {"app": "web"}
COUNTS = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        made.settle()
        yield made


def pods(
    embedded: EmbeddedCluster, number: int, ready: int, owner: Document | None = None, first: int = 0
) -> None:
    meta: Document = {"labels": WEB}
    if owner is not None:
        meta["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    for place in range(first, first + number):
        embedded.pod(f"p{place}", meta=meta, nodeName="n")
        embedded.run(f"p{place}", ready=place - first < ready)


def budget(embedded: EmbeddedCluster, **spec: object) -> None:
    embedded.make(PLURAL, "web", spec={"selector": {"matchLabels": WEB}, **spec})


def counts(embedded: EmbeddedCluster) -> tuple[int, ...]:
    status = embedded.get(PLURAL, "web")["status"]
    return tuple(status[name] for name in COUNTS)


def replica_set(embedded: EmbeddedCluster, replicas: int) -> Document:
    template = {"metadata": {"labels": WEB}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": WEB}, "template": template}
    return embedded.make("replicasets.apps", "web", spec=spec)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (5, 4, 2, 2)),
        ({"minAvailable": 5}, (5, 4, 5, 0)),
        ({"minAvailable": "50%"}, (5, 4, 3, 1)),
        ({"minAvailable": "100%"}, (5, 4, 5, 0)),
        ({"maxUnavailable": 1}, (5, 4, 4, 0)),
        ({"maxUnavailable": 3}, (5, 4, 2, 2)),
        ({"maxUnavailable": 9}, (5, 4, 0, 4)),
        ({"maxUnavailable": "30%"}, (5, 4, 3, 1)),
        ({"maxUnavailable": "0%"}, (5, 4, 5, 0)),
    ],
)
@pytest.mark.parametrize("first", ["pods", "budget"])
def test_pods_without_an_owner_stand_for_themselves(
    embedded: EmbeddedCluster, spec: Document, expected: tuple[int, ...], first: str
) -> None:
    if first == "budget":
        budget(embedded, **spec)
        embedded.settle()
    pods(embedded, 5, ready=4)
    embedded.pod("other")
    if first == "pods":
        budget(embedded, **spec)
    embedded.settle()
    assert counts(embedded) == expected


def test_the_status_says_whether_a_pod_may_go(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=1)
    pods(embedded, 2, ready=2)
    embedded.settle()
    status = embedded.get(PLURAL, "web")["status"]
    assert status["observedGeneration"] == 1
    assert status["conditions"] == [
        {
            "type": "DisruptionAllowed",
            "status": "True",
            "reason": "SufficientPods",
            "message": "",
            "observedGeneration": 1,
            "lastTransitionTime": embedded.cluster.now(),
        }
    ]
    embedded.run("p0", ready=False)
    embedded.settle()
    [condition] = embedded.get(PLURAL, "web")["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")


def test_what_owners_want_counts_and_not_how_many_pods_there_are(embedded: EmbeddedCluster) -> None:
    pods(embedded, 3, ready=3, owner=replica_set(embedded, 10))
    budget(embedded, maxUnavailable="50%")
    embedded.settle()
    assert counts(embedded) == (10, 3, 5, 0)
    embedded.edit("replicasets.apps", "web", spec={"replicas": 4})
    embedded.settle()
    assert counts(embedded) == (4, 3, 2, 1)


def test_a_job_wants_as_many_as_run_beside_each_other(embedded: EmbeddedCluster) -> None:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    job = embedded.make("jobs.batch", "j", spec={"parallelism": 6, "template": {"spec": spec}})
    pods(embedded, 4, ready=4, owner=job)
    budget(embedded, minAvailable="50%")
    embedded.settle()
    assert counts(embedded) == (6, 4, 3, 1)


def test_an_owner_that_is_no_object_here_wants_what_is_there(embedded: EmbeddedCluster) -> None:
    owner: Document = {
        "apiVersion": "example.com/v1",
        "kind": "Training",
        "metadata": {"name": "t", "uid": "u"},
    }
    pods(embedded, 3, ready=3, owner=owner)
    pods(embedded, 1, ready=1, first=3)
    embedded.edit("pods", "p0", "status", status={"phase": "Succeeded", "conditions": []})
    budget(embedded, maxUnavailable=1)
    embedded.settle()
    assert counts(embedded) == (3, 3, 2, 1)  # a finished pod is missed by nobody


def test_pods_that_come_change_and_go_are_counted(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=1)
    pods(embedded, 3, ready=3)
    embedded.settle()
    assert counts(embedded) == (3, 3, 1, 2)
    embedded.cluster.delete("pods", "default", "p0", Deletion(grace=0))
    embedded.cluster.delete("pods", "default", "p1", Deletion(grace=30))
    embedded.settle()
    assert counts(embedded) == (2, 1, 1, 0)
    embedded.edit("pods", "p2", metadata={"labels": {"app": "another"}})
    embedded.settle()
    assert counts(embedded) == (1, 0, 1, 0)


def test_a_budget_that_is_about_other_pods_now_counts_those(embedded: EmbeddedCluster) -> None:
    pods(embedded, 2, ready=2)
    budget(embedded, minAvailable=1)
    embedded.settle()
    embedded.edit(PLURAL, "web", spec={"selector": {"matchLabels": {"app": "another"}}})
    embedded.settle()
    assert counts(embedded) == (0, 0, 1, 0)
    assert embedded.get(PLURAL, "web")["status"]["observedGeneration"] == 2


def test_an_evicted_pod_counts_as_gone_until_it_is_clear_that_it_stays(embedded: EmbeddedCluster) -> None:
    pods(embedded, 3, ready=3)
    budget(embedded, minAvailable=1)
    embedded.settle()

    def evicted(value: Document) -> Document:  # somebody has recorded an eviction and then died
        recorded = {"disruptionsAllowed": 1, "disruptedPods": {"p0": embedded.cluster.now()}}
        return {**value, "status": {**value["status"], **recorded}}

    embedded.cluster.rewrite(PLURAL, "default", "web", evicted)
    embedded.settle()
    assert counts(embedded) == (3, 2, 1, 1)
    assert list(embedded.get(PLURAL, "web")["status"]["disruptedPods"]) == ["p0"]
    embedded.clock.now += 130
    embedded.settle(restart=True)
    assert counts(embedded) == (3, 3, 1, 2)
    assert "disruptedPods" not in embedded.get(PLURAL, "web")["status"]


def test_an_eviction_under_way_is_forgotten_with_its_pod(embedded: EmbeddedCluster) -> None:
    pods(embedded, 3, ready=3)
    budget(embedded, minAvailable=1)
    embedded.settle()
    evict(embedded.cluster, "default", "p0", {"metadata": {"name": "p0"}}, Call())
    embedded.settle()
    assert counts(embedded) == (3, 2, 1, 1)
    assert "disruptedPods" not in embedded.get(PLURAL, "web")["status"]


def test_nothing_is_written_when_nothing_has_changed(embedded: EmbeddedCluster) -> None:
    pods(embedded, 2, ready=2)
    budget(embedded, minAvailable=1)
    embedded.settle()
    before = embedded.store.revision
    embedded.settle(restart=True)
    assert embedded.store.revision == before


def test_a_deleted_budget_is_forgotten(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=1)
    embedded.settle()
    embedded.cluster.delete(PLURAL, "default", "web")
    pods(embedded, 1, ready=1)
    embedded.settle()
    assert embedded.names(PLURAL) == []


@st.composite
def states(draw: st.DrawFn) -> Pod | None:
    """A pod in some state, or none."""
    if draw(st.integers(0, 4)) == 0:
        return None
    meta: Document = {"labels": {"app": draw(st.sampled_from(["web", "another"]))}}
    if draw(st.booleans()):
        meta["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    if owner := draw(st.sampled_from(["", "a", "b"])):
        meta["ownerReferences"] = [{"uid": owner, "controller": True}]
    ready = [{"type": "Ready", "status": draw(st.sampled_from(["True", "False"]))}]
    status = {"phase": draw(st.sampled_from(["Running", "Succeeded"])), "conditions": ready}
    return pod_of(json.dumps({"metadata": meta, "status": status}).encode())


@given(changes=st.lists(st.tuples(st.sampled_from("abcd"), states()), max_size=30))
def test_a_tally_kept_change_by_change_is_that_of_a_recount(changes: list[tuple[str, Pod | None]]) -> None:
    kept, anew = (BudgetPods(LabelSelector(match_labels=WEB)) for _ in range(2))
    for name, pod in changes:
        kept.take(name, pod)
    for name, pod in dict(changes).items():
        anew.take(name, pod)
    assert (kept.pods, kept.healthy) == (anew.pods, anew.healthy)
    assert (dict(kept.of_controller), dict(kept.unfinished)) == (
        dict(anew.of_controller),
        dict(anew.unfinished),
    )
    assert kept.healthy == sum(pod.is_ready and not pod.is_terminating for pod in kept.pods.values())
