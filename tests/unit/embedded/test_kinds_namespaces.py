"""Namespaces: what is there from the start, what stays, and how others go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.assembly import prepare
from maar.embedded.failures import ApiError
from support.embedded import Document, EmbeddedCluster, opened


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        yield made


def test_some_namespaces_are_there_from_the_start_and_are_made_once(embedded: EmbeddedCluster) -> None:
    expected = ["default", "kube-node-lease", "kube-public", "kube-system", "maar-system"]
    assert embedded.names("namespaces") == expected
    before = embedded.store.revision
    prepare(embedded.cluster)
    assert embedded.store.revision == before


def test_a_namespace_is_active_and_has_its_name_as_a_label(embedded: EmbeddedCluster) -> None:
    body: Document = {"metadata": {"generateName": "team-"}, "status": {"phase": "Terminating"}}
    made = embedded.cluster.create("namespaces", "", body)
    name = embedded.names("namespaces")[-1]
    assert name.startswith("team-")
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
    assert embedded.get("namespaces", name)["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(embedded: EmbeddedCluster, name: str) -> None:
    with pytest.raises(ApiError) as raised:
        embedded.cluster.delete("namespaces", "", name)
    assert (raised.value.code, raised.value.message) == (
        403,
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )


def test_a_deleted_namespace_is_terminating_until_it_is_finalized(embedded: EmbeddedCluster) -> None:
    embedded.make("namespaces", "team", "")
    value, gone = embedded.cluster.delete("namespaces", "", "team")
    assert not gone
    assert value["status"] == {"phase": "Terminating"}
    embedded.edit("namespaces", "team", spec={"finalizers": []})  # not the way to do it
    assert embedded.get("namespaces", "team")["spec"]["finalizers"] == ["kubernetes"]
    embedded.edit("namespaces", "team", "finalize", spec={"finalizers": []})
    assert "team" not in embedded.names("namespaces")


def test_a_namespace_that_is_active_can_be_finalized_and_then_goes_at_once(embedded: EmbeddedCluster) -> None:
    embedded.make("namespaces", "team", "")
    embedded.edit("namespaces", "team", "finalize", spec={"finalizers": []})
    assert embedded.cluster.delete("namespaces", "", "team")[1]
