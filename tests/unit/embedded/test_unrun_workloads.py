"""Workloads that nobody runs in `maar up`: a warning at their creation, and only there."""

from pathlib import Path
from typing import Any

import pytest

from maar.embedded.admission import warn_of_endless, warn_of_unrun
from maar.embedded.assembly import assemble
from maar.embedded.calls import Call, Caller
from maar.embedded.store import Store

POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
LABELS = {"matchLabels": {"a": "b"}}
LABELLED = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"restartPolicy": "Always", "containers": POD["spec"]["containers"]},
}


@pytest.mark.parametrize(
    ("plural", "spec", "called"),
    [
        (
            "jobs.batch.volcano.sh",
            {"tasks": [{"name": "t", "replicas": 1, "template": POD}]},
            "",
        ),
        ("jobs.batch", {"template": POD}, ""),
        ("deployments.apps", {"selector": LABELS, "template": LABELLED}, "Deployment of apps/v1"),
        ("daemonsets.apps", {"selector": LABELS, "template": LABELLED}, "DaemonSet of apps/v1"),
        ("replicasets.apps", {"selector": LABELS, "template": LABELLED}, "ReplicaSet of apps/v1"),
        (
            "statefulsets.apps",
            {"selector": LABELS, "template": LABELLED, "serviceName": "s"},
            "StatefulSet of apps/v1",
        ),
        ("pods", POD["spec"], ""),
    ],
)
def test_whoever_creates_one_is_told(tmp_path: Path, plural: str, spec: dict[str, Any], called: str) -> None:
    store = Store(tmp_path)
    cluster, call = assemble(store, admit=warn_of_unrun), Call(caller=Caller("somebody"))
    made: Any = cluster.create(plural, "default", {"metadata": {"name": "x"}, "spec": spec}, call)
    assert [called in one for one in call.warnings] == [True] * bool(called)
    assert all("create the pods themselves" in one for one in call.warnings)
    again = Call(caller=Caller("somebody"))
    cluster.replace(
        plural, "default", "x", {**made, "metadata": {**made["metadata"], "labels": {"x": "y"}}}, call=again
    )
    assert again.warnings == []
    store.close()


@pytest.mark.parametrize(("annotations", "warnings"), [({}, 1), ({"maar.sh/run-for": "1s"}, 0)])
def test_a_job_that_virtual_nodes_never_end_is_warned_of(
    tmp_path: Path, annotations: dict[str, str], warnings: int
) -> None:
    store = Store(tmp_path)
    cluster, call = assemble(store, admit=warn_of_endless), Call(caller=Caller("somebody"))
    template = {"metadata": {"annotations": annotations}, "spec": POD["spec"]}
    made: Any = {"metadata": {"name": "x"}, "spec": {"template": template}}
    cluster.create("jobs.batch", "default", made, call)
    assert ["maar.sh/run-for: 10s" in one for one in call.warnings] == [True] * warnings
    store.close()
