"""Namespaces are furnished when they come and emptied before they go."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion
from maar.embedded.controllers.loop import ControllerLoop, all_controllers
from support.embedded import Town, opened


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path) as made:
        made.make("namespaces", "team", "")
        made.settle()
        yield made


def conditions(town: Town) -> dict[str, tuple[str, str]]:
    found = town.get("namespaces", "team")["status"]["conditions"]
    return {one["type"]: (one["status"], one["message"]) for one in found}


def test_every_namespace_has_an_account_and_knows_whom_to_trust(tmp_path: Path) -> None:
    with opened(tmp_path) as town:
        town.rounds = ControllerLoop(town.cluster, all_controllers(town.cluster, "a certificate"))
        town.settle()
        for namespace in town.names("namespaces"):
            assert town.get("serviceaccounts", "default", namespace)
            assert town.get("configmaps", "kube-root-ca.crt", namespace)["data"] == {
                "ca.crt": "a certificate"
            }


def test_what_every_namespace_has_comes_back(town: Town) -> None:
    town.cluster.delete("serviceaccounts", "team", "default")
    town.cluster.delete("configmaps", "team", "kube-root-ca.crt")
    town.settle()
    assert town.names("serviceaccounts", "team") == ["default"]
    assert town.names("configmaps", "team") == ["kube-root-ca.crt"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_deleted_namespace_goes_with_all_that_is_in_it(town: Town, restart: bool) -> None:  # noqa: FBT001  a case
    for number in range(150):  # more than are read at once
        town.pod(f"p{number}", "team")
    town.make("podgroups.scheduling.volcano.sh", "g", "team", spec={"minMember": 1})
    town.make("configmaps", "c", "team")
    town.make("configmaps", "c", "default")
    town.cluster.delete("namespaces", "", "team")
    town.settle(restart=restart)
    assert "team" not in town.names("namespaces")
    assert not any(town.names(plural, "team") for plural in town.cluster.served)
    assert "c" in town.names("configmaps", "default")


def test_a_namespace_waits_for_its_pods_before_it_loses_anything_else(town: Town) -> None:
    town.pod("p", "team", nodeName="n", terminationGracePeriodSeconds=30)
    town.make("secrets", "s", "team")
    town.cluster.delete("namespaces", "", "team")
    town.settle()
    assert town.get("pods", "p", "team")["metadata"]["deletionGracePeriodSeconds"] == 30
    assert town.names("secrets", "team") == ["s"]
    assert conditions(town) == {
        "NamespaceContentRemaining": ("True", "Some resources are remaining: pods has 1 resource instances"),
        "NamespaceFinalizersRemaining": ("False", "All content-preserving finalizers finished"),
    }
    town.cluster.delete("pods", "team", "p", Deletion(grace=0))
    town.settle()
    assert "team" not in town.names("namespaces")


def test_a_namespace_says_whose_finalizers_it_waits_for(town: Town) -> None:
    town.make("configmaps", "c", "team", {"finalizers": ["maar.sh/wait"]})
    town.cluster.delete("namespaces", "", "team")
    town.settle()
    assert town.names("configmaps", "team") == ["c"]
    assert conditions(town)["NamespaceFinalizersRemaining"] == (
        "True",
        "Some content in the namespace has finalizers remaining: maar.sh/wait in 1 resource instances",
    )
    town.edit("configmaps", "c", namespace="team", metadata={"finalizers": []})
    town.settle()
    assert "team" not in town.names("namespaces")


def test_a_quota_that_leaves_no_room_for_furniture_is_reported_and_tried_again(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    town.cluster.delete("configmaps", "team", "kube-root-ca.crt")
    town.make("resourcequotas", "q", "team", spec={"hard": {"configmaps": "0"}})
    with caplog.at_level(logging.WARNING):
        while not caplog.records:
            town.rounds.turn()
    assert "exceeded quota: q" in caplog.text
    assert "Traceback" not in caplog.text
    town.cluster.delete("resourcequotas", "team", "q")
    town.settle()
    assert town.names("configmaps", "team") == ["kube-root-ca.crt"]
