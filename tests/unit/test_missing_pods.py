"""A gang of a StatefulSet that waits for pods says which policy makes all of them at once."""

import pytest

from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.kinds import from_document
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup

OF_STATEFUL_SET = {"statefulset.kubernetes.io/pod-name": "web-0"}


@pytest.mark.parametrize(("labels", "names_policy"), [(OF_STATEFUL_SET, True), ({}, False)])
def test_missing_pods_of_a_stateful_set(labels: dict[str, str], *, names_policy: bool) -> None:
    group = {"kind": "PodGroup", "metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": 3}}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": True}
    metadata = {
        "name": "web-0",
        "namespace": "ns",
        "labels": labels,
        "annotations": {"scheduling.k8s.io/group-name": "g"},
        "ownerReferences": [owner],
    }
    spec = {"schedulerName": "volcano", "containers": [{"name": "c"}]}
    pod = from_document(Pod, {"kind": "Pod", "metadata": metadata, "spec": spec})
    engine = Engine()
    engine.feed([Upserted(object=from_document(PodGroup, group)), Upserted(object=pod)])
    message = engine.decide(0.0).pod_groups["ns/g"].message
    assert message.startswith("1 of the 3 pods that start together exist")
    assert ("unless StatefulSet web has podManagementPolicy: Parallel" in message) == names_policy
