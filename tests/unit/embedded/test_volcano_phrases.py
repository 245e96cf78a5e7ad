"""What Volcano's clients and suites look for in a refusal is there, by the definition or by admission."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from maar.embedded.admission import InProcessAdmission
from maar.embedded.assembly import assemble
from maar.embedded.calls import Call, Caller
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError
from maar.embedded.store import Store

ROWS: Final = yaml.safe_load(Path(__file__).with_name("volcano_phrases.yaml").read_text(encoding="utf-8"))
CONTAINERS: Final = [{"name": "main", "image": "busybox"}]
TEMPLATE: Final = {"spec": {"containers": CONTAINERS}}
QUEUES: Final = "queues.scheduling.volcano.sh"
JOBS: Final = "jobs.batch.volcano.sh"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    store = Store(tmp_path_factory.mktemp("cluster"))
    made = assemble(store, admit=InProcessAdmission(store))
    for name in ("root", "other"):
        made.create(QUEUES, "", {"metadata": {"name": name}, "spec": {}})
    made.create(JOBS, "default", job("there", {}))
    return made


def job(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    tasks = [{"template": TEMPLATE, **task} for task in spec.get("tasks", [{"name": "t", "replicas": 1}])]
    return {"metadata": {"name": name}, "spec": {"queue": "default", **spec, "tasks": tasks}}


def write(cluster: Cluster, row: dict[str, Any]) -> None:
    call = Call(caller=Caller("somebody", ()))
    match row:
        case {"update": {"jobs": spec}}:
            stored: Any = cluster.read(JOBS, "default", "there")
            changed = {**stored, "spec": {**stored["spec"], **job("there", spec)["spec"]}}
            cluster.replace(JOBS, "default", "there", changed, call=call)
        case {"update": {"queues": spec}}:
            root = {"metadata": {"name": "root"}, "spec": spec}
            cluster.replace(QUEUES, "", "root", root, call=call)
        case {"create": {"jobs": spec}}:
            cluster.create(JOBS, "default", job("new", spec), call)
        case {"create": {"queues": spec}}:
            cluster.create(QUEUES, "", {"metadata": {"name": "new"}, "spec": spec}, call)
        case {"create": {"hierarchies": annotations}}:
            cluster.create(QUEUES, "", {"metadata": {"name": "new", "annotations": annotations}}, call)
        case {"create": {"pods": annotations}}:
            spec = {"schedulerName": "volcano", "containers": CONTAINERS}
            pod: dict[str, Any] = {"metadata": {"name": "new", "annotations": annotations}, "spec": spec}
            cluster.create("pods", "default", pod, call)
        case _:
            raise AssertionError(row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["phrase"]))
def test_a_refusal_by_a_rule_of_volcanos_has_its_phrase(cluster: Cluster, row: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as refused:
        write(cluster, row)
    assert row["phrase"] in refused.value.message
