"""Pods whose group does not exist, as a plan has them."""

from datetime import UTC, datetime

from maar.core.answers.plan.ask import plans
from maar.core.model.metadata import Metadata
from maar.core.model.namespace import Namespace
from maar.core.model.pod import GROUP_ANNOTATION, Pod, PodSpec
from maar.core.model.pod_group import PodGroup, PodGroupSpec

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(name: str, group: str = "") -> Pod:
    notes = {GROUP_ANNOTATION: group} if group else {}
    return Pod(
        metadata=Metadata(name=name, namespace="a", annotations=notes),
        spec=PodSpec(scheduler_name="volcano"),
    )


def group(name: str, namespace: str) -> PodGroup:
    return PodGroup(metadata=Metadata(name=name, namespace=namespace), spec=PodGroupSpec(min_member=1))


def test_a_pod_that_names_no_group_is_not_mistaken_for_a_group_of_its_name() -> None:
    (plan,) = plans([pod("train"), group("train", "a")], now=NOW)
    assert plan.pod_groups["a/train"].refusal is None
    message = plan.pod_groups["a/pod/train"].message
    assert message == "it names no pod group and none was made for it; check that `maar controllers` runs"


def test_groups_of_that_name_in_other_namespaces_are_named() -> None:
    places = [Namespace(metadata=Metadata(name=name)) for name in "abc"]
    (plan,) = plans([*places, pod("p", "g"), group("g", "b"), group("g", "c")], now=NOW)
    assert plan.pod_groups["a/g"].message == (
        "there is no pod group a/g for its pods; create it "
        "(the one in namespace b, c is not theirs: a pod and its group share a namespace)"
    )
