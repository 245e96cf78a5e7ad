"""The chart, by the real helm: the same objects as `maar manifests` prints, and what values change there."""

import asyncio
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from maar import __version__
from maar.apps.manifests import installation
from maar.apps.webhooks.configurations import Wanted, register
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from support.control_plane import ControlPlane
from support.helm import CHART, find_helm, helm
from support.needs_kubernetes import needs_kubernetes
from support.page_commands import ROOT, commands
from support.prometheus import MONITORING

Json = dict[str, Any]
Key = tuple[str, str]

RELEASE: Final = ("maar", str(CHART), "--namespace", "maar-system")
KEEP: Final = {"helm.sh/resource-policy": "keep"}
QUEUE: Final = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: dear}
spec: {weight: 3}
"""


@pytest.fixture(autouse=True)
def _helm() -> None:
    needs_kubernetes()
    if find_helm() is None:
        pytest.fail("MAAR_KUBERNETES=required, but there is no helm: run make kubernetes")


def rendered(*flags: str) -> dict[Key, Json]:
    """What helm would install."""
    return by_name(helm("template", *RELEASE, *flags).stdout)


def by_name(stream: str) -> dict[Key, Json]:
    documents = [one for one in yaml.safe_load_all(stream) if one]
    found = {(one["kind"], one["metadata"]["name"]): one for one in documents}
    assert len(found) == len(documents), "two objects have the same name"
    return found


def printed(
    image: str = f"maar:{__version__}", replicas: int = 2, *, has_console: bool = False, has_ssh: bool = True
) -> dict[Key, Json]:
    """What `maar manifests` prints, less the namespace, which helm makes, and with definitions that stay."""
    found = by_name(installation(image, replicas, has_console=has_console, has_ssh=has_ssh))
    del found["Namespace", "maar-system"]
    for (kind, _), one in found.items():
        if kind == "CustomResourceDefinition":
            one["metadata"]["annotations"] = KEEP
    return found


def containers(objects: dict[Key, Json]) -> dict[str, Json]:
    return {
        name: one["spec"]["template"]["spec"]["containers"][0]
        for (kind, name), one in objects.items()
        if kind == "Deployment"
    }


def test_by_itself_it_is_what_maar_manifests_prints() -> None:
    assert rendered() == printed()


def test_the_same_choices_make_the_same_objects() -> None:
    replicas = [f"--set={program}.replicas=3" for program in ("scheduler", "controllers", "webhooks")]
    image = "--set=image.repository=registry:5000/team/maar,image.tag=1.2"
    assert rendered(image, *replicas) == printed("registry:5000/team/maar:1.2", 3)


def test_without_the_plugin_ssh_there_is_no_right_to_secrets() -> None:
    objects = rendered("--set=jobPlugins.ssh=false")
    assert objects == printed(has_ssh=False)
    rules = [
        rule
        for (kind, _), one in objects.items()
        if kind == "ClusterRole" and one["metadata"]["name"] == "maar-controllers"
        for rule in one["rules"]
    ]
    assert rules
    assert not any("secrets" in rule["resources"] for rule in rules)
    assert ("ClusterRole", "maar-controllers-ssh") not in objects
    assert "--disable-job-plugin=ssh" in containers(objects)["maar-webhooks"]["args"]


def test_certificates_of_api_servers_are_asked_for_where_an_authority_is_named() -> None:
    objects = rendered("--set=webhooks.clientCaSecret=authority,webhooks.clientNames={kube-apiserver}")
    webhooks = containers(objects)["maar-webhooks"]
    assert webhooks["args"][-2:] == ["--client-name=kube-apiserver", "--client-ca=/client-ca/ca.crt"]
    pod = objects["Deployment", "maar-webhooks"]["spec"]["template"]["spec"]
    assert {"name": "client-ca", "secret": {"secretName": "authority"}} in pod["volumes"]
    assert {"name": "client-ca", "mountPath": "/client-ca", "readOnly": True} in webhooks["volumeMounts"]


def test_the_console_is_installed_where_it_is_asked_for() -> None:
    asked = "--set=console.enabled=true"
    assert rendered(asked) == printed(has_console=True)
    assert rendered(asked).keys() - rendered().keys() == {
        (kind, "maar-console")
        for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Service", "Deployment")
    }


def test_the_console_is_served_as_the_values_say() -> None:
    chosen = (
        "enabled=true",
        "publicUrl=https://maar.example.com",
        "tlsSecret=maar-tls",
        "allowWrites=true",
        "prometheus=http://prometheus:9090",
    )
    objects = rendered(*(f"--set=console.{one}" for one in chosen))
    console = containers(objects)["maar-console"]
    assert console["args"][-5:] == [
        "--public-url=https://maar.example.com",
        "--prometheus=http://prometheus:9090",
        "--allow-writes",
        "--tls-certificate=/tls/tls.crt",
        "--tls-key=/tls/tls.key",
    ]
    pod = objects["Deployment", "maar-console"]["spec"]["template"]["spec"]
    assert {"name": "tls", "secret": {"secretName": "maar-tls"}} in pod["volumes"]
    assert {"name": "tls", "mountPath": "/tls", "readOnly": True} in console["volumeMounts"]
    assert console["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
    (port,) = objects["Service", "maar-console"]["spec"]["ports"]
    assert (port["name"], port["port"]) == ("https", 443)
    plain = containers(rendered("--set=console.enabled=true"))["maar-console"]
    assert not any(one.startswith(("--public-url", "--allow-writes", "--tls")) for one in plain["args"])


def test_the_network_lets_in_whom_the_values_name() -> None:
    block = {"ipBlock": {"cidr": "10.0.0.0/28"}}
    chosen = json.dumps({"webhooksFrom": [block], "metricsFrom": []})
    found = rendered(f"--set-json=networkPolicy={chosen}")["NetworkPolicy", "maar"]["spec"]["ingress"]
    assert {rule["ports"][0]["port"]: rule.get("from") for rule in found} == {
        "https": [block],
        "http": None,
        "metrics": None,
    }
    assert ("NetworkPolicy", "maar") not in rendered("--set=networkPolicy.enabled=false")
    refused = helm("template", *RELEASE, '--set-json=networkPolicy.metricsFrom=["all"]', check=False)
    assert "networkPolicy" in refused.stderr


def test_helm_finds_nothing_to_complain_of() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), "--namespace", "maar-system").stdout


def test_a_packed_chart_is_the_same(tmp_path: Path) -> None:
    helm("package", str(CHART), "--destination", str(tmp_path))
    (packed,) = tmp_path.glob("*.tgz")
    assert packed.name == f"maar-{__version__}.tgz"
    again = helm("template", "maar", str(packed), "--namespace", "maar-system").stdout
    assert by_name(again) == printed()


def test_values_change_what_they_name_and_nothing_else(tmp_path: Path) -> None:
    chosen = {
        "schedulerName": "maar",
        "nodeSelector": {"zone": "a"},
        "scheduler": {"configuration": "actions: allocate\n", "extraArgs": ["--record=/tmp/record"]},
        "webhooks": {
            "failurePolicy": "Ignore",
            "timeoutSeconds": 2,
            "guaranteeOverTotal": "warn",
            "resources": {"limits": {"memory": "1Gi"}},
        },
        "metrics": {"annotations": {"prometheus.io/scrape": "true"}},
        "crds": {"install": False},
    }
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(chosen))
    objects, before = rendered("--values", str(file)), printed()
    ours = containers(objects)
    assert {"--scheduler-name=maar"} == {one["args"][1] for one in ours.values()}
    assert ours["maar-scheduler"]["args"][-1] == "--record=/tmp/record"
    assert "--guarantee-over-total=warn" in ours["maar-webhooks"]["args"]
    assert ours["maar-webhooks"]["resources"] == {
        "requests": {"cpu": "200m", "memory": "256Mi"},
        "limits": {"memory": "1Gi"},
    }
    hooks = [hook for one in objects.values() for hook in one.get("webhooks", ())]
    assert {(hook["failurePolicy"], hook["timeoutSeconds"]) for hook in hooks} == {("Ignore", 2)}
    conditions = [one for hook in hooks for one in hook.get("matchConditions", ())]
    assert {"name": "scheduler-name", "expression": "object.spec.schedulerName in ['maar']"} in conditions
    configured = objects["ConfigMap", "maar-scheduler"]["data"]
    assert configured == {"maar-scheduler.conf": "actions: allocate\n"}
    assert objects["Service", "maar-metrics"]["metadata"]["annotations"] == {"prometheus.io/scrape": "true"}
    changed = {"Deployment", "ConfigMap", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
    for key, one in before.items():
        if key[0] == "CustomResourceDefinition":
            assert key not in objects
        elif key[0] not in changed and key != ("Service", "maar-metrics"):
            assert objects[key] == one


def test_dashboards_and_alerts_are_the_files_of_the_chart_where_they_are_asked_for() -> None:
    """With the flags of the page; a cluster without the operator would not take all of its command."""
    (command,) = commands(ROOT / "docs" / "dashboards.md")
    enabled = [f"--set={one}" for one in shlex.split(command.text) if one.startswith("metrics.")]
    assert len(enabled) == 2
    objects, before = rendered(*enabled, "--set=metrics.alerts.labels.release=monitoring"), printed()
    assert {key: objects[key] for key in before} == before
    files = {path.stem: path for path in (MONITORING / "dashboards").glob("*.json")}
    new = {("ConfigMap", f"maar-dashboard-{name}") for name in files}
    assert objects.keys() - before.keys() == new | {("PrometheusRule", "maar")}
    for name, path in files.items():
        one = objects["ConfigMap", f"maar-dashboard-{name}"]
        assert one["metadata"]["labels"] == {"app.kubernetes.io/name": "maar", "grafana_dashboard": "1"}
        assert one["data"] == {f"maar-{name}.json": path.read_text(encoding="utf-8")}
    rules = objects["PrometheusRule", "maar"]
    assert rules["metadata"]["labels"] == {"app.kubernetes.io/name": "maar", "release": "monitoring"}
    assert rules["spec"] == yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--set=scheduler.replica=3",), "additional properties 'replica' not allowed"),
        (("--set=webhooks.failurePolicy=Maybe",), "value must be one of 'Fail', 'Ignore'"),
        (("--set=schedulerName=a b",), "does not match pattern"),
        (("--set=console.publicUrl=maar.example.com",), "does not match pattern"),
        (("--set=metrics.alerts.enabled=please",), "got string, want boolean"),
        (("--namespace=elsewhere",), "Maar lives in the namespace maar-system"),
    ],
)
def test_what_cannot_work_is_refused(flags: tuple[str, ...], words: str) -> None:
    ended = helm("template", *RELEASE, *flags, check=False)
    assert ended.returncode == 1
    assert words in ended.stderr


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    needs_kubernetes()
    with ControlPlane(tmp_path_factory.mktemp("helm")) as running:
        yield running


def holds(there: object, wanted: object) -> bool:
    """Whether an object has all that was asked for; the server adds its defaults."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(holds(there.get(name), one) for name, one in wanted.items())
    if isinstance(wanted, list):
        return isinstance(there, list) and all(map(holds, there, wanted)) and len(there) == len(wanted)
    return there == wanted


async def filled_in(plane: ControlPlane) -> list[str]:
    """Do what `maar webhooks` does to its configurations."""
    async with ApiServer(await load(plane.kubeconfig)) as api:
        return await register(api, Wanted(("volcano",)), b"ca")


def test_it_is_installed_upgraded_and_taken_away_and_queues_stay(plane: ControlPlane) -> None:
    def run(*arguments: str) -> str:
        return helm(*arguments, environment=plane.environment).stdout

    ignore_failures = "--set=webhooks.failurePolicy=Ignore"  # nobody answers on this cluster
    assert "rollout status deployment/maar-webhooks" in run(
        "install", *RELEASE, "--create-namespace", ignore_failures
    )
    wanted = rendered(ignore_failures)
    for (kind, name), one in wanted.items():
        found = plane.kubectl("get", kind, name, "-o", "json", "--namespace", "maar-system").stdout
        assert holds(json.loads(found), one), (kind, name)
    plane.kubectl("apply", "-f", "-", stdin=QUEUE)
    assert asyncio.run(filled_in(plane)) == []
    run("upgrade", *RELEASE, ignore_failures)
    hooks = json.loads(plane.kubectl("get", "validatingwebhookconfigurations", "-o", "json").stdout)["items"]
    assert [hook["clientConfig"]["caBundle"] for one in hooks for hook in one["webhooks"]] == ["Y2E="] * 9
    definition = "crd/queues.scheduling.volcano.sh"
    plane.kubectl(
        "patch", definition, "--type=json", "-p", '[{"op":"remove","path":"/spec/names/shortNames"}]'
    )
    # Since somebody else has written a field of the release, helm has to be told whose word counts.
    run("upgrade", *RELEASE, ignore_failures, "--set=scheduler.replicas=1", "--force-conflicts")
    kept = json.loads(plane.kubectl("get", definition, "-o", "json").stdout)
    assert kept["spec"]["names"]["shortNames"] == ["q", "queue-v1beta1"]
    scale = plane.kubectl(
        "get", "deployment/maar-scheduler", "-n", "maar-system", "-o", "jsonpath={.spec.replicas}"
    )
    assert scale.stdout == "1"
    run("uninstall", "maar", "--namespace", "maar-system")
    left = plane.kubectl(
        "get", "validatingwebhookconfigurations,deployments,clusterroles", "-A", "-o", "name"
    ).stdout
    assert "maar" not in left
    assert "volcano" not in left
    weight = plane.kubectl("get", "queue", "dear", "-o", "jsonpath={.spec.weight}").stdout
    assert weight == "3"
