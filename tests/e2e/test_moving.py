"""Moving from Volcano and back, on a real API server: what docs/moving-from-volcano.md says is so."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from maar.apps.manifests import installation
from support.control_plane import ControlPlane
from support.helm import CHART, helm
from support.needs_kubernetes import needs_kubernetes
from support.processes import Group
from support.until import wait_until

Json = dict[str, Any]

MAAR: Final = str(Path(sys.executable).with_name("maar"))
NEW_FIELDS: Final = {"spec": ("namespaceSelector", "request", "state"), "status": ("used", "deserved")}
TAKEN_OVER: Final = "volcano-admission-service-queues-validate"
LEFT_BEHIND: Final = "volcano-admission-service-pods-mutate"
QUEUE: Final = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "old"},
    "spec": {"weight": 3, "capability": {"cpu": "40"}},
    "status": {"state": "Closed", "allocated": {"cpu": "7"}},
}
POD: Final = """
apiVersion: v1
kind: Pod
metadata: {name: anybodys}
spec: {containers: [{name: main, image: none}]}
"""


def volcanos_definition() -> Json:
    """A definition of queues as Volcano has it: Maar's without the fields and rules that are Maar's own."""
    definition: Json = yaml.safe_load((CHART / "objects/crds/queues.scheduling.volcano.sh.yaml").read_text())
    (version,) = definition["spec"]["versions"]
    version.pop("additionalPrinterColumns")
    schema = version["schema"]["openAPIV3Schema"]
    schema.pop("x-kubernetes-validations", None)
    for part, names in NEW_FIELDS.items():
        schema["properties"][part].pop("x-kubernetes-validations", None)
        for name in names:
            del schema["properties"][part]["properties"][name]
    return definition


def volcanos_webhook(name: str, resource: str, group: str, version: str) -> Json:
    """A webhook configuration that leads to Volcano's admission, which is not there."""
    kind = "Mutating" if name.endswith("mutate") else "Validating"
    service = {"name": "volcano-admission-service", "namespace": "volcano-system", "path": "/x"}
    rule = {"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": ["CREATE"]}
    hook = {
        "name": "mutatepod.volcano.sh" if kind == "Mutating" else "validatequeue.volcano.sh",
        "clientConfig": {"service": service, "caBundle": "bm8="},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    api_version = "admissionregistration.k8s.io/v1"
    metadata = {"name": name}
    return {
        "apiVersion": api_version,
        "kind": f"{kind}WebhookConfiguration",
        "metadata": metadata,
        "webhooks": [hook],
    }


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster as Volcano leaves it when its pods are gone: definition, queue and webhook configurations."""
    needs_kubernetes()
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        create(running, volcanos_definition())
        running.kubectl("wait", "--for=condition=Established", "crd", "--all")
        create(running, QUEUE)
        write_status(running)
        create(running, volcanos_webhook(TAKEN_OVER, "queues", "scheduling.volcano.sh", "v1beta1"))
        create(running, volcanos_webhook(LEFT_BEHIND, "pods", "", "v1"))
        yield running


def create(plane: ControlPlane, document: Json) -> None:
    plane.kubectl("create", "-f", "-", stdin=json.dumps(document))


def write_status(plane: ControlPlane) -> None:
    change = json.dumps({"status": QUEUE["status"]})
    plane.kubectl("patch", "queue", "old", "--subresource=status", "--type=merge", "-p", change)


def queue(plane: ControlPlane, name: str = "old") -> Json:
    found: Json = json.loads(plane.kubectl("get", "queue", name, "-o", "json").stdout)
    return found


def test_helm_takes_over_definitions_only_when_told_to(plane: ControlPlane) -> None:
    install = ("install", "maar", str(CHART), "--namespace", "maar-system", "--create-namespace")
    refused = helm(*install, environment=plane.environment, check=False)
    assert refused.returncode == 1
    assert "invalid ownership metadata" in refused.stderr
    done = helm(*install, "--take-ownership", "--dry-run=server", environment=plane.environment, check=False)
    assert done.returncode == 0, done.stderr


def test_applying_over_volcanos_definitions_keeps_every_queue(plane: ControlPlane) -> None:
    before = queue(plane)
    reported = plane.kubectl("apply", "-f", "-", stdin=installation("maar"))
    assert (
        "customresourcedefinition.apiextensions.k8s.io/queues.scheduling.volcano.sh configured"
        in reported.stdout
    )
    after = queue(plane)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert (after["spec"]["weight"], after["spec"]["capability"]) == (3, {"cpu": "40"})
    assert after["status"] == {"state": "Closed", "allocated": {"cpu": "7"}}  # until Maar writes its own


def test_webhooks_of_the_same_name_lead_to_maar_and_the_others_have_to_go(plane: ControlPlane) -> None:
    path = "jsonpath={.webhooks[*].clientConfig.service.name}"
    taken = plane.kubectl("get", "validatingwebhookconfiguration", TAKEN_OVER, "-o", path).stdout
    assert taken == "maar-webhooks"
    stuck = plane.kubectl("create", "-f", "-", stdin=POD, check=False).stderr
    assert 'failed calling webhook "mutatepod.volcano.sh"' in stuck
    plane.kubectl("delete", "mutatingwebhookconfiguration", LEFT_BEHIND)
    plane.until(
        "pods can be created",
        lambda: plane.kubectl("create", "-f", "-", stdin=POD, check=False).returncode == 0,
    )


def test_a_closed_queue_opens_unless_its_spec_says_closed(plane: ControlPlane, tmp_path: Path) -> None:
    """Volcano keeps the state in the status alone; Maar follows the spec."""
    for kind in ("validating", "mutating"):
        plane.kubectl("delete", f"{kind}webhookconfigurations", "--all")  # nobody answers here
    create(plane, {**QUEUE, "metadata": {"name": "shut"}, "spec": {"weight": 1, "state": "Closed"}})
    with Group(tmp_path) as processes:
        for program in ("controllers", "scheduler"):
            processes.start(program, [MAAR, program], plane.environment)
        plane.until("the queue is open", lambda: queue(plane)["status"].get("state") == "Open")
        plane.until("the other is closed", lambda: queue(plane, "shut")["status"].get("state") == "Closed")
        # Nothing is used there, so that is what Maar has to give now; Volcano had written what was in use.
        plane.until("allocated is Maar's", lambda: queue(plane)["status"].get("allocated") != {"cpu": "7"})
        for program in ("scheduler", "controllers"):
            processes.stop(program, signal.SIGTERM)


def test_both_schedulers_at_once_would_write_the_same_groups(plane: ControlPlane, tmp_path: Path) -> None:
    """Another scheduler name is not enough to run both: a pod group names no scheduler."""
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "theirs", "namespace": "default"},
        "spec": {"minMember": 1, "queue": "default"},
    }
    with Group(tmp_path) as processes:
        command = [MAAR, "scheduler", "--scheduler-name", "maar", "--no-leader-elect"]
        processes.start("scheduler", command, plane.environment)
        plane.until("it is at work", lambda: "at work" in processes.log("scheduler").read_text())
        create(plane, group)
        path = "jsonpath={.status.phase}"
        plane.until(
            "the group has a phase",
            lambda: plane.kubectl("get", "podgroup", "theirs", "-o", path).stdout != "",
        )
        processes.stop("scheduler", signal.SIGTERM)


def test_taking_maar_away_leaves_queues_and_goes_in_this_order(plane: ControlPlane) -> None:
    plane.kubectl("apply", "-f", "-", stdin=installation("maar"))
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "maar-queue"}}
    quota["metadata"] = {"name": "maar-queue", "labels": {"maar.sh/quota-of": "old"}}
    guarded = plane.kubectl("create", "-f", "-", stdin=json.dumps(quota), check=False).stderr
    assert (
        'failed calling webhook "validateresourcequota.volcano.sh"' in guarded
    )  # nobody answers, nobody writes
    for command in removal():
        plane.kubectl(*command)
    plane.until(
        "quotas are nobody's but ours",
        lambda: plane.kubectl("create", "-f", "-", stdin=json.dumps(quota), check=False).returncode == 0,
    )
    plane.kubectl("delete", "resourcequotas", "-A", "-l", "maar.sh/quota-of")
    left = plane.kubectl("get", "clusterroles,clusterrolebindings,priorityclasses", "-o", "name").stdout
    assert "maar" not in left
    assert queue(plane)["spec"]["weight"] == 3


def test_volcanos_definitions_come_back_and_drop_what_is_maars_alone(plane: ControlPlane) -> None:
    assert queue(plane, "shut")["spec"]["state"] == "Closed"
    plane.kubectl("replace", "-f", "-", stdin=json.dumps(volcanos_definition()))
    wait_until("no field is served that is not defined", lambda: "state" not in queue(plane, "shut")["spec"])
    assert queue(plane, "shut")["status"]["state"] == "Closed"  # which is what Volcano goes by


def removal() -> list[list[str]]:
    """The commands that the page gives, as far as they need nothing but an API server."""
    page = (Path(__file__).parents[2] / "docs" / "moving-from-volcano.md").read_text(encoding="utf-8")
    section = page.partition("## Taking Maar away again")[2]
    lines = [
        line.removeprefix("$ kubectl ") for line in section.splitlines() if line.startswith("$ kubectl ")
    ]
    assert lines, "the page gives no commands"
    return [line.partition("  #")[0].split() for line in lines]
