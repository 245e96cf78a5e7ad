"""Disruption budgets: how many pods there should be, how many are healthy, how many may go."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.metadata import LabelSelector
from maar.embedded.calls import Call, Deletion
from maar.embedded.controllers.budgets import BudgetPods, Pod, pod_of
from maar.embedded.kinds.budgets import PLURAL
from maar.embedded.kinds.pods import evict
from support.embedded import Document, Town, opened

WEB = {"app": "web"}
COUNTS = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path) as made:
        made.settle()
        yield made


def pods(town: Town, number: int, ready: int, owner: Document | None = None, first: int = 0) -> None:
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
        town.pod(f"p{place}", meta=meta, nodeName="n")
        town.run(f"p{place}", ready=place - first < ready)


def budget(town: Town, **spec: object) -> None:
    town.make(PLURAL, "web", spec={"selector": {"matchLabels": WEB}, **spec})


def counts(town: Town) -> tuple[int, ...]:
    status = town.get(PLURAL, "web")["status"]
    return tuple(status[name] for name in COUNTS)


def replica_set(town: Town, replicas: int) -> Document:
    template = {"metadata": {"labels": WEB}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": WEB}, "template": template}
    return town.make("replicasets.apps", "web", spec=spec)


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
    town: Town, spec: Document, expected: tuple[int, ...], first: str
) -> None:
    if first == "budget":
        budget(town, **spec)
        town.settle()
    pods(town, 5, ready=4)
    town.pod("other")
    if first == "pods":
        budget(town, **spec)
    town.settle()
    assert counts(town) == expected


def test_the_status_says_whether_a_pod_may_go(town: Town) -> None:
    budget(town, minAvailable=1)
    pods(town, 2, ready=2)
    town.settle()
    status = town.get(PLURAL, "web")["status"]
    assert status["observedGeneration"] == 1
    assert status["conditions"] == [
        {
            "type": "DisruptionAllowed",
            "status": "True",
            "reason": "SufficientPods",
            "message": "",
            "observedGeneration": 1,
            "lastTransitionTime": town.cluster.now(),
        }
    ]
    town.run("p0", ready=False)
    town.settle()
    [condition] = town.get(PLURAL, "web")["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")


def test_what_owners_want_counts_and_not_how_many_pods_there_are(town: Town) -> None:
    pods(town, 3, ready=3, owner=replica_set(town, 10))
    budget(town, maxUnavailable="50%")
    town.settle()
    assert counts(town) == (10, 3, 5, 0)
    town.edit("replicasets.apps", "web", spec={"replicas": 4})
    town.settle()
    assert counts(town) == (4, 3, 2, 1)


def test_a_job_wants_as_many_as_run_beside_each_other(town: Town) -> None:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    job = town.make("jobs.batch", "j", spec={"parallelism": 6, "template": {"spec": spec}})
    pods(town, 4, ready=4, owner=job)
    budget(town, minAvailable="50%")
    town.settle()
    assert counts(town) == (6, 4, 3, 1)


def test_an_owner_that_is_no_object_here_wants_what_is_there(town: Town) -> None:
    owner: Document = {
        "apiVersion": "example.com/v1",
        "kind": "Training",
        "metadata": {"name": "t", "uid": "u"},
    }
    pods(town, 3, ready=3, owner=owner)
    pods(town, 1, ready=1, first=3)
    town.edit("pods", "p0", "status", status={"phase": "Succeeded", "conditions": []})
    budget(town, maxUnavailable=1)
    town.settle()
    assert counts(town) == (3, 3, 2, 1)  # a finished pod is missed by nobody


def test_pods_that_come_change_and_go_are_counted(town: Town) -> None:
    budget(town, minAvailable=1)
    pods(town, 3, ready=3)
    town.settle()
    assert counts(town) == (3, 3, 1, 2)
    town.cluster.delete("pods", "default", "p0", Deletion(grace=0))
    town.cluster.delete("pods", "default", "p1", Deletion(grace=30))
    town.settle()
    assert counts(town) == (2, 1, 1, 0)
    town.edit("pods", "p2", metadata={"labels": {"app": "another"}})
    town.settle()
    assert counts(town) == (1, 0, 1, 0)


def test_a_budget_that_is_about_other_pods_now_counts_those(town: Town) -> None:
    pods(town, 2, ready=2)
    budget(town, minAvailable=1)
    town.settle()
    town.edit(PLURAL, "web", spec={"selector": {"matchLabels": {"app": "another"}}})
    town.settle()
    assert counts(town) == (0, 0, 1, 0)
    assert town.get(PLURAL, "web")["status"]["observedGeneration"] == 2


def test_an_evicted_pod_counts_as_gone_until_it_is_clear_that_it_stays(town: Town) -> None:
    pods(town, 3, ready=3)
    budget(town, minAvailable=1)
    town.settle()

    def evicted(value: Document) -> Document:  # somebody has recorded an eviction and then died
        recorded = {"disruptionsAllowed": 1, "disruptedPods": {"p0": town.cluster.now()}}
        return {**value, "status": {**value["status"], **recorded}}

    town.cluster.rewrite(PLURAL, "default", "web", evicted)
    town.settle()
    assert counts(town) == (3, 2, 1, 1)
    assert list(town.get(PLURAL, "web")["status"]["disruptedPods"]) == ["p0"]
    town.clock.now += 130
    town.settle(restart=True)
    assert counts(town) == (3, 3, 1, 2)
    assert "disruptedPods" not in town.get(PLURAL, "web")["status"]


def test_an_eviction_under_way_is_forgotten_with_its_pod(town: Town) -> None:
    pods(town, 3, ready=3)
    budget(town, minAvailable=1)
    town.settle()
    evict(town.cluster, "default", "p0", {"metadata": {"name": "p0"}}, Call())
    town.settle()
    assert counts(town) == (3, 2, 1, 1)
    assert "disruptedPods" not in town.get(PLURAL, "web")["status"]


def test_nothing_is_written_when_nothing_has_changed(town: Town) -> None:
    pods(town, 2, ready=2)
    budget(town, minAvailable=1)
    town.settle()
    before = town.store.revision
    town.settle(restart=True)
    assert town.store.revision == before


def test_a_deleted_budget_is_forgotten(town: Town) -> None:
    budget(town, minAvailable=1)
    town.settle()
    town.cluster.delete(PLURAL, "default", "web")
    pods(town, 1, ready=1)
    town.settle()
    assert town.names(PLURAL) == []


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
