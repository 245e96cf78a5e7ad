"""Garbage collection, as it goes on and as it is taken up again after a restart."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion, Propagation
from support.embedded import Document, EmbeddedCluster, opened

Settle = Callable[[EmbeddedCluster], None]


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        made.settle()
        yield made


@pytest.fixture(params=["running on", "started anew"])
def settle(request: pytest.FixtureRequest) -> Settle:
    """Let the controllers work: those that saw everything happen, or new ones that only see what is there."""
    return lambda embedded: embedded.settle(restart=request.param == "started anew")


def made(
    embedded: EmbeddedCluster,
    name: str,
    *owners: Document,
    meta: Document | None = None,
    blocking: bool = False,
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
    return embedded.make("configmaps", name, "default", {"ownerReferences": references, **(meta or {})})


def delete(embedded: EmbeddedCluster, name: str, propagation: Propagation = "Background") -> None:
    embedded.cluster.delete("configmaps", "default", name, Deletion(propagation=propagation))


def left(embedded: EmbeddedCluster) -> set[str]:
    return set(embedded.names("configmaps", "default")) - {"kube-root-ca.crt"}


def owners(embedded: EmbeddedCluster, name: str) -> list[str]:
    references = embedded.get("configmaps", name)["metadata"].get("ownerReferences", [])
    return [reference["name"] for reference in references]


def test_what_belongs_to_a_deleted_object_goes_and_what_belongs_to_that(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    child = made(embedded, "child", made(embedded, "parent"))
    made(embedded, "grandchild", child)
    made(embedded, "stranger")
    settle(embedded)
    assert left(embedded) == {"parent", "child", "grandchild", "stranger"}
    delete(embedded, "parent")
    settle(embedded)
    assert left(embedded) == {"stranger"}


def test_hundreds_of_dependents_go(embedded: EmbeddedCluster, settle: Settle) -> None:
    parent = made(embedded, "parent")
    for number in range(300):
        made(embedded, f"child-{number}", parent)
    delete(embedded, "parent")
    settle(embedded)
    assert left(embedded) == set()


def test_an_object_whose_owner_was_never_there_goes(embedded: EmbeddedCluster, settle: Settle) -> None:
    parent = made(embedded, "parent")
    delete(embedded, "parent")
    made(embedded, "late", parent)
    settle(embedded)
    assert left(embedded) == set()


def test_an_owner_of_the_same_name_is_not_the_same_owner(embedded: EmbeddedCluster, settle: Settle) -> None:
    made(embedded, "child", made(embedded, "parent"))
    delete(embedded, "parent")
    made(embedded, "parent")
    settle(embedded)
    assert left(embedded) == {"parent"}


def test_one_owner_of_two_is_enough_and_the_lost_one_is_forgotten(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    made(embedded, "child", made(embedded, "father"), made(embedded, "mother"))
    delete(embedded, "father")
    settle(embedded)
    assert owners(embedded, "child") == ["mother"]


def test_owners_of_a_kind_that_is_not_served_count_as_there(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    foreign: Document = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "uid": "u"},
    }
    made(embedded, "child", foreign)
    settle(embedded)
    assert left(embedded) == {"child"}


def test_an_object_of_the_cluster_may_own_one_of_a_namespace(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    node = embedded.make("nodes", "n", "")
    made(embedded, "child", node)
    settle(embedded)
    assert left(embedded) == {"child"}
    embedded.cluster.delete("nodes", "", "n")
    settle(embedded)
    assert left(embedded) == set()


def test_an_object_of_another_namespace_owns_nothing_here(embedded: EmbeddedCluster, settle: Settle) -> None:
    elsewhere = embedded.make("configmaps", "parent", "kube-system")
    made(embedded, "child", elsewhere)
    settle(embedded)
    assert left(embedded) == set()


def test_orphans_stay_and_forget_their_owner(embedded: EmbeddedCluster, settle: Settle) -> None:
    parent = made(embedded, "parent")
    for number in range(120):  # more than are let go at once
        made(embedded, f"child-{number}", parent)
    delete(embedded, "parent", "Orphan")
    assert "parent" in left(embedded)
    settle(embedded)
    assert left(embedded) == {f"child-{number}" for number in range(120)}
    assert owners(embedded, "child-0") == []


def test_in_the_foreground_an_owner_waits_for_those_who_block_it(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    parent = made(embedded, "parent")
    made(embedded, "child", parent, blocking=True, meta={"finalizers": ["maar.sh/wait"]})
    delete(embedded, "parent", "Foreground")
    settle(embedded)
    assert left(embedded) == {"parent", "child"}
    assert "deletionTimestamp" in embedded.get("configmaps", "child")["metadata"]
    embedded.edit("configmaps", "child", metadata={"finalizers": []})
    settle(embedded)
    assert left(embedded) == set()


def test_in_the_foreground_an_owner_does_not_wait_for_others(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    parent = made(embedded, "parent")
    made(embedded, "child", parent, meta={"finalizers": ["maar.sh/wait"]})
    delete(embedded, "parent", "Foreground")
    settle(embedded)
    assert left(embedded) == {"child"}
    assert "deletionTimestamp" in embedded.get("configmaps", "child")["metadata"]


def test_in_the_foreground_the_youngest_go_first(embedded: EmbeddedCluster, settle: Settle) -> None:
    child = made(embedded, "child", parent := made(embedded, "parent"), blocking=True)
    made(embedded, "grandchild", child, blocking=True, meta={"finalizers": ["maar.sh/wait"]})
    delete(embedded, str(parent["metadata"]["name"]), "Foreground")
    settle(embedded)
    assert left(embedded) == {"parent", "child", "grandchild"}
    embedded.edit("configmaps", "grandchild", metadata={"finalizers": []})
    settle(embedded)
    assert left(embedded) == set()


def test_a_blocking_object_with_another_owner_lets_this_one_go(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    made(embedded, "child", made(embedded, "father"), made(embedded, "mother"), blocking=True)
    delete(embedded, "father", "Foreground")
    settle(embedded)
    assert left(embedded) == {"mother", "child"}
    assert owners(embedded, "child") == ["mother"]


def test_a_circle_of_owners_does_not_wait_for_itself(embedded: EmbeddedCluster, settle: Settle) -> None:
    first = made(embedded, "first")
    third = made(embedded, "third", made(embedded, "second", first, blocking=True), blocking=True)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "third", "uid": third["metadata"]["uid"]}
    embedded.edit(
        "configmaps", "first", metadata={"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}
    )
    settle(embedded)
    delete(embedded, "first", "Foreground")
    settle(embedded)
    assert left(embedded) == set()


def test_a_circle_that_is_deleted_as_a_whole_waits_but_does_not_spin(
    embedded: EmbeddedCluster, settle: Settle
) -> None:
    first = made(embedded, "first")
    second = made(embedded, "second", first, blocking=True)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": second["metadata"]["uid"]}
    embedded.edit(
        "configmaps", "first", metadata={"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}
    )
    delete(embedded, "first", "Foreground")
    delete(embedded, "second", "Foreground")
    settle(embedded)
    assert left(embedded) == {"first", "second"}


def test_pods_of_a_deleted_set_end_with_their_grace(embedded: EmbeddedCluster, settle: Settle) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    owner = embedded.make("replicasets.apps", "web", spec=spec)
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    embedded.pod("p", meta={"ownerReferences": [reference]}, nodeName="n", terminationGracePeriodSeconds=30)
    embedded.cluster.delete("replicasets.apps", "default", "web", Deletion(propagation="Foreground"))
    settle(embedded)
    assert embedded.get("pods", "p")["metadata"]["deletionGracePeriodSeconds"] == 30
    assert embedded.names("replicasets.apps") == ["web"]
    embedded.cluster.delete("pods", "default", "p", Deletion(grace=0))
    settle(embedded)
    assert embedded.names("replicasets.apps") == []
