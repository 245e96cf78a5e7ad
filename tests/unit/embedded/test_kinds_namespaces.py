"""Namespaces: what is there from the start, what stays, and how others go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.failures import ApiError
from maar.embedded.kinds.catalogue import prepare
from support.embedded import Document, Town, opened


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path) as made:
        yield made


def test_some_namespaces_are_there_from_the_start_and_are_made_once(town: Town) -> None:
    expected = ["default", "kube-node-lease", "kube-public", "kube-system", "maar-system"]
    assert town.names("namespaces") == expected
    before = town.store.revision
    prepare(town.cluster)
    assert town.store.revision == before


def test_a_namespace_is_active_and_has_its_name_as_a_label(town: Town) -> None:
    body: Document = {"metadata": {"generateName": "team-"}, "status": {"phase": "Terminating"}}
    made = town.cluster.create("namespaces", "", body)
    name = town.names("namespaces")[-1]
    assert name.startswith("team-")
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
    assert town.get("namespaces", name)["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(town: Town, name: str) -> None:
    with pytest.raises(ApiError) as raised:
        town.cluster.delete("namespaces", "", name)
    assert (raised.value.code, raised.value.message) == (
        403,
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )


def test_a_deleted_namespace_is_terminating_until_it_is_finalized(town: Town) -> None:
    town.make("namespaces", "team", "")
    value, gone = town.cluster.delete("namespaces", "", "team")
    assert not gone
    assert value["status"] == {"phase": "Terminating"}
    town.edit("namespaces", "team", spec={"finalizers": []})  # not the way to do it
    assert town.get("namespaces", "team")["spec"]["finalizers"] == ["kubernetes"]
    town.edit("namespaces", "team", "finalize", spec={"finalizers": []})
    assert "team" not in town.names("namespaces")


def test_a_namespace_that_is_active_can_be_finalized_and_then_goes_at_once(town: Town) -> None:
    town.make("namespaces", "team", "")
    town.edit("namespaces", "team", "finalize", spec={"finalizers": []})
    assert town.cluster.delete("namespaces", "", "team")[1]
