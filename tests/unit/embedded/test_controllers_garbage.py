"""Garbage collection, as it goes on and as it is taken up again after a restart."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion, Propagation
from support.embedded import Document, Town, opened

Settle = Callable[[Town], None]


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path) as made:
        made.settle()
        yield made


@pytest.fixture(params=["running on", "started anew"])
def settle(request: pytest.FixtureRequest) -> Settle:
    """Let the controllers work: those that saw everything happen, or new ones that only see what is there."""
    return lambda town: town.settle(restart=request.param == "started anew")


def made(
    town: Town, name: str, *owners: Document, meta: Document | None = None, blocking: bool = False
) -> Document:
    """A config map that belongs to others."""
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **({"blockOwnerDeletion": True} if blocking else {}),
        }
        for owner in owners
    ]
    return town.make("configmaps", name, "default", {"ownerReferences": references, **(meta or {})})


def delete(town: Town, name: str, propagation: Propagation = "Background") -> None:
    town.cluster.delete("configmaps", "default", name, Deletion(propagation=propagation))


def left(town: Town) -> set[str]:
    return set(town.names("configmaps", "default")) - {"kube-root-ca.crt"}


def owners(town: Town, name: str) -> list[str]:
    references = town.get("configmaps", name)["metadata"].get("ownerReferences", [])
    return [reference["name"] for reference in references]


def test_what_belongs_to_a_deleted_object_goes_and_what_belongs_to_that(town: Town, settle: Settle) -> None:
    child = made(town, "child", made(town, "parent"))
    made(town, "grandchild", child)
    made(town, "stranger")
    settle(town)
    assert left(town) == {"parent", "child", "grandchild", "stranger"}
    delete(town, "parent")
    settle(town)
    assert left(town) == {"stranger"}


def test_hundreds_of_dependents_go(town: Town, settle: Settle) -> None:
    parent = made(town, "parent")
    for number in range(300):
        made(town, f"child-{number}", parent)
    delete(town, "parent")
    settle(town)
    assert left(town) == set()


def test_an_object_whose_owner_was_never_there_goes(town: Town, settle: Settle) -> None:
    parent = made(town, "parent")
    delete(town, "parent")
    made(town, "late", parent)
    settle(town)
    assert left(town) == set()


def test_an_owner_of_the_same_name_is_not_the_same_owner(town: Town, settle: Settle) -> None:
    made(town, "child", made(town, "parent"))
    delete(town, "parent")
    made(town, "parent")
    settle(town)
    assert left(town) == {"parent"}


def test_one_owner_of_two_is_enough_and_the_lost_one_is_forgotten(town: Town, settle: Settle) -> None:
    made(town, "child", made(town, "father"), made(town, "mother"))
    delete(town, "father")
    settle(town)
    assert owners(town, "child") == ["mother"]


def test_owners_of_a_kind_that_is_not_served_count_as_there(town: Town, settle: Settle) -> None:
    foreign: Document = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "uid": "u"},
    }
    made(town, "child", foreign)
    settle(town)
    assert left(town) == {"child"}


def test_an_object_of_the_cluster_may_own_one_of_a_namespace(town: Town, settle: Settle) -> None:
    node = town.make("nodes", "n", "")
    made(town, "child", node)
    settle(town)
    assert left(town) == {"child"}
    town.cluster.delete("nodes", "", "n")
    settle(town)
    assert left(town) == set()


def test_an_object_of_another_namespace_owns_nothing_here(town: Town, settle: Settle) -> None:
    elsewhere = town.make("configmaps", "parent", "kube-system")
    made(town, "child", elsewhere)
    settle(town)
    assert left(town) == set()


def test_orphans_stay_and_forget_their_owner(town: Town, settle: Settle) -> None:
    parent = made(town, "parent")
    for number in range(120):  # more than are let go at once
        made(town, f"child-{number}", parent)
    delete(town, "parent", "Orphan")
    assert "parent" in left(town)
    settle(town)
    assert left(town) == {f"child-{number}" for number in range(120)}
    assert owners(town, "child-0") == []


def test_in_the_foreground_an_owner_waits_for_those_who_block_it(town: Town, settle: Settle) -> None:
    parent = made(town, "parent")
    made(town, "child", parent, blocking=True, meta={"finalizers": ["maar.sh/wait"]})
    delete(town, "parent", "Foreground")
    settle(town)
    assert left(town) == {"parent", "child"}
    assert "deletionTimestamp" in town.get("configmaps", "child")["metadata"]
    town.edit("configmaps", "child", metadata={"finalizers": []})
    settle(town)
    assert left(town) == set()


def test_in_the_foreground_an_owner_does_not_wait_for_others(town: Town, settle: Settle) -> None:
    parent = made(town, "parent")
    made(town, "child", parent, meta={"finalizers": ["maar.sh/wait"]})
    delete(town, "parent", "Foreground")
    settle(town)
    assert left(town) == {"child"}
    assert "deletionTimestamp" in town.get("configmaps", "child")["metadata"]


def test_in_the_foreground_the_youngest_go_first(town: Town, settle: Settle) -> None:
    child = made(town, "child", parent := made(town, "parent"), blocking=True)
    made(town, "grandchild", child, blocking=True, meta={"finalizers": ["maar.sh/wait"]})
    delete(town, str(parent["metadata"]["name"]), "Foreground")
    settle(town)
    assert left(town) == {"parent", "child", "grandchild"}
    town.edit("configmaps", "grandchild", metadata={"finalizers": []})
    settle(town)
    assert left(town) == set()


def test_a_blocking_object_with_another_owner_lets_this_one_go(town: Town, settle: Settle) -> None:
    made(town, "child", made(town, "father"), made(town, "mother"), blocking=True)
    delete(town, "father", "Foreground")
    settle(town)
    assert left(town) == {"mother", "child"}
    assert owners(town, "child") == ["mother"]


def test_a_circle_of_owners_does_not_wait_for_itself(town: Town, settle: Settle) -> None:
    first = made(town, "first")
    third = made(town, "third", made(town, "second", first, blocking=True), blocking=True)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "third", "uid": third["metadata"]["uid"]}
    town.edit(
        "configmaps", "first", metadata={"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}
    )
    settle(town)
    delete(town, "first", "Foreground")
    settle(town)
    assert left(town) == set()


def test_a_circle_that_is_deleted_as_a_whole_waits_but_does_not_spin(town: Town, settle: Settle) -> None:
    first = made(town, "first")
    second = made(town, "second", first, blocking=True)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": second["metadata"]["uid"]}
    town.edit(
        "configmaps", "first", metadata={"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}
    )
    delete(town, "first", "Foreground")
    delete(town, "second", "Foreground")
    settle(town)
    assert left(town) == {"first", "second"}


def test_pods_of_a_deleted_set_end_with_their_grace(town: Town, settle: Settle) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    owner = town.make("replicasets.apps", "web", spec=spec)
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    town.pod("p", meta={"ownerReferences": [reference]}, nodeName="n", terminationGracePeriodSeconds=30)
    town.cluster.delete("replicasets.apps", "default", "web", Deletion(propagation="Foreground"))
    settle(town)
    assert town.get("pods", "p")["metadata"]["deletionGracePeriodSeconds"] == 30
    assert town.names("replicasets.apps") == ["web"]
    town.cluster.delete("pods", "default", "p", Deletion(grace=0))
    settle(town)
    assert town.names("replicasets.apps") == []
