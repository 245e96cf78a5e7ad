"""Namespaces are furnished when they come and emptied before they go."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion
from maar.embedded.controllers.runner import Runner, all_controllers
from support.embedded import EmbeddedCluster, opened


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        made.make("namespaces", "team", "")
        made.settle()
        yield made


def conditions(embedded: EmbeddedCluster) -> dict[str, tuple[str, str]]:
    found = embedded.get("namespaces", "team")["status"]["conditions"]
    return {one["type"]: (one["status"], one["message"]) for one in found}


def test_every_namespace_has_an_account_and_knows_whom_to_trust(tmp_path: Path) -> None:
    with opened(tmp_path) as embedded:
        embedded.rounds = Runner(embedded.cluster, all_controllers("a certificate"))
        embedded.settle()
        for namespace in embedded.names("namespaces"):
            assert embedded.get("serviceaccounts", "default", namespace)
            assert embedded.get("configmaps", "kube-root-ca.crt", namespace)["data"] == {
                "ca.crt": "a certificate"
            }


def test_what_every_namespace_has_comes_back(embedded: EmbeddedCluster) -> None:
    embedded.cluster.delete("serviceaccounts", "team", "default")
    embedded.cluster.delete("configmaps", "team", "kube-root-ca.crt")
    embedded.settle()
    assert embedded.names("serviceaccounts", "team") == ["default"]
    assert embedded.names("configmaps", "team") == ["kube-root-ca.crt"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_deleted_namespace_goes_with_all_that_is_in_it(embedded: EmbeddedCluster, restart: bool) -> None:  # noqa: FBT001  a case
    for number in range(150):  # more than are read at once
        embedded.pod(f"p{number}", "team")
    embedded.make("podgroups.scheduling.volcano.sh", "g", "team", spec={"minMember": 1})
    embedded.make("configmaps", "c", "team")
    embedded.make("configmaps", "c", "default")
    embedded.cluster.delete("namespaces", "", "team")
    embedded.settle(restart=restart)
    assert "team" not in embedded.names("namespaces")
    assert not any(embedded.names(plural, "team") for plural in embedded.cluster.served)
    assert "c" in embedded.names("configmaps", "default")


def test_a_namespace_waits_for_its_pods_before_it_loses_anything_else(embedded: EmbeddedCluster) -> None:
    embedded.pod("p", "team", nodeName="n", terminationGracePeriodSeconds=30)
    embedded.make("secrets", "s", "team")
    embedded.cluster.delete("namespaces", "", "team")
    embedded.settle()
    assert embedded.get("pods", "p", "team")["metadata"]["deletionGracePeriodSeconds"] == 30
    assert embedded.names("secrets", "team") == ["s"]
    assert conditions(embedded) == {
        "NamespaceContentRemaining": ("True", "Some resources are remaining: pods has 1 resource instances"),
        "NamespaceFinalizersRemaining": ("False", "All content-preserving finalizers finished"),
    }
    embedded.cluster.delete("pods", "team", "p", Deletion(grace=0))
    embedded.settle()
    assert "team" not in embedded.names("namespaces")


def test_a_namespace_says_whose_finalizers_it_waits_for(embedded: EmbeddedCluster) -> None:
    embedded.make("configmaps", "c", "team", {"finalizers": ["maar.sh/wait"]})
    embedded.cluster.delete("namespaces", "", "team")
    embedded.settle()
    assert embedded.names("configmaps", "team") == ["c"]
    assert conditions(embedded)["NamespaceFinalizersRemaining"] == (
        "True",
        "Some content in the namespace has finalizers remaining: maar.sh/wait in 1 resource instances",
    )
    embedded.edit("configmaps", "c", namespace="team", metadata={"finalizers": []})
    embedded.settle()
    assert "team" not in embedded.names("namespaces")


def test_a_quota_that_leaves_no_room_for_furniture_is_reported_and_tried_again(
    embedded: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    embedded.cluster.delete("configmaps", "team", "kube-root-ca.crt")
    embedded.make("resourcequotas", "q", "team", spec={"hard": {"configmaps": "0"}})
    with caplog.at_level(logging.WARNING):
        while not caplog.records:
            embedded.rounds.turn()
    assert "exceeded quota: q" in caplog.text
    assert "Traceback" not in caplog.text
    embedded.cluster.delete("resourcequotas", "team", "q")
    embedded.settle()
    assert embedded.names("configmaps", "team") == ["kube-root-ca.crt"]
