"""The hour that the demo plays: the same for a seed, and fit for the organisation of the examples."""

from pathlib import Path

import pytest

from maar.api.manifests import read_manifests
from maar.apps.demo.hour import HOUR, TEAMS, Group, hour, pod_documents, pod_group_document
from maar.apps.demo.steps import SUBMITTED
from maar.cli.demo.command import NODES
from maar.core.answers.tree.answer import queue_tree
from maar.core.model.kinds import from_document
from maar.core.model.namespace import Namespace
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue

ORGANISATION = Path(__file__).parents[4] / "examples" / "organisation"


def test_a_seed_is_an_hour() -> None:
    assert hour(7) == hour(7)
    assert hour(7) != hour(8)


def test_a_team_more_leaves_the_others_as_they_are() -> None:
    fewer = hour(1, TEAMS[1:])
    assert set(fewer) < set(hour(1))


@pytest.mark.parametrize("seed", range(5))
def test_the_hour_is_in_order_and_names_are_unique(seed: int) -> None:
    groups = hour(seed)
    assert [group.minute for group in groups] == sorted(group.minute for group in groups)
    assert all(0 <= group.minute < HOUR for group in groups)
    assert len({group.key for group in (*groups, *SUBMITTED)}) == len(groups) + len(SUBMITTED)
    assert all(1 <= group.least <= group.pods for group in groups)


@pytest.mark.parametrize("seed", range(5))
def test_the_organisation_asks_for_more_than_the_cluster_has(seed: int) -> None:
    nodes, _, cpus = NODES.split("cpu")[0].partition("x")
    asked = sum(group.cpus * group.minutes for group in (*hour(seed), *SUBMITTED)) / HOUR
    assert 1.0 < asked / (int(nodes) * int(cpus)) < 1.5


def test_the_organisation_is_a_dozen_queues_whose_namespaces_may_use_them() -> None:
    manifests = read_manifests([ORGANISATION])
    assert not manifests.errors
    assert not manifests.warnings
    queues = {one.key: one for one in manifests.objects if isinstance(one, Queue)}
    namespaces = {one.key: one for one in manifests.objects if isinstance(one, Namespace)}
    view = queue_tree(queues.values())
    assert view is not None
    assert len(queues) == 12
    assert not view.set_aside
    for group in (*hour(1), *SUBMITTED):
        assert not view.queues[group.queue].children
        selector = queues[group.queue].spec.namespace_selector
        assert selector is not None
        assert selector.match_labels.items() <= namespaces[group.namespace].metadata.labels.items()


def test_a_group_is_submitted_with_all_its_pods() -> None:
    group = Group(0, "vision", "lab", "resnet-0", pods=3, least=2, cpu=4, minutes=1.5)
    submitted = from_document(PodGroup, pod_group_document(group))
    assert submitted.spec.min_member == 2
    assert str(submitted.spec.min_resources) == "cpu 8, memory 8Gi"
    pods = pod_documents(group, speed=60)
    assert list(pods) == ["lab/resnet-0-0", "lab/resnet-0-1", "lab/resnet-0-2"]
    pod = from_document(Pod, pods["lab/resnet-0-0"])
    assert pod.metadata.annotations["maar.sh/run-for"] == "1500ms"
    assert str(pod.request) == "cpu 4, memory 4Gi, pods 1"
