"""What installs Maar: the order it comes in, whom it trusts, and that its parts say the same thing."""

from pathlib import Path
from typing import Any, Final

import pytest
import typer
import yaml
from typer.testing import CliRunner

from maar.apps import controllers
from maar.apps.daemons.configuration_text import parse_text
from maar.apps.manifests import installation
from maar.apps.scheduler import scheduler
from maar.apps.webhooks import reviewer
from maar.apps.webhooks.configurations import registrations, service_hosts
from maar.cli.failure import CommandError
from maar.cli.main import maar_app
from maar.cli.manifests import manifests
from maar.core.admission.request import Options
from maar.core.model.workload import WORKLOADS
from maar.kube.paths import resource_path_of
from support.permissions import objects, permissions

Json = dict[str, Any]

ALL: Final[list[Json]] = list(yaml.safe_load_all(installation("team/maar:1.2", replicas=3)))
CONSOLE: Final[list[Json]] = [
    one
    for one in yaml.safe_load_all(installation("team/maar:1.2", replicas=3, has_console=True))
    if one not in ALL
]
DEPLOYMENTS: Final = [one for one in ALL if one["kind"] == "Deployment"]
# What planned starts read once in a while.
LISTED: Final = {("batch.volcano.sh", "jobs")}
PROGRAMS: Final = {
    "scheduler": scheduler.WATCHED,
    "controllers": (*controllers.WATCHED, *WORKLOADS),
    "webhooks": reviewer.WATCHED,
}

# Admission follows its own certificate and its own configurations; those tell nothing that is secret.
ITS_OWN: Final = {
    ("", "secrets"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
}


def of_kind(kind: str) -> list[Json]:
    return [one for one in ALL if one["kind"] == kind]


def pod_of(deployment: Json) -> Json:
    spec: Json = deployment["spec"]["template"]["spec"]
    return spec


def test_what_others_need_comes_first_and_whoever_has_to_be_asked_last() -> None:
    kinds = [one["kind"] for one in ALL]
    assert kinds[0] == "Namespace"
    webhooks = [kind.endswith("WebhookConfiguration") for kind in kinds]
    assert webhooks == sorted(webhooks)
    first = {kind: kinds.index(kind) for kind in kinds}
    assert first["CustomResourceDefinition"] < first["ServiceAccount"] < first["Deployment"]
    assert first["PriorityClass"] < first["Deployment"]


def test_everything_lives_in_maar_system_and_says_that_it_is_maars() -> None:
    for one in ALL:
        assert one["metadata"].get("namespace", "maar-system") == "maar-system"
        # Whoever deletes all that is Maar's means neither the definitions nor the queues that go with them.
        is_definition = one["kind"] == "CustomResourceDefinition"
        label = one["metadata"].get("labels", {}).get("app.kubernetes.io/name")
        assert label == (None if is_definition else "maar")


def test_the_image_and_the_number_of_replicas_are_the_ones_asked_for() -> None:
    assert len(DEPLOYMENTS) == 3
    for one in DEPLOYMENTS:
        assert one["spec"]["replicas"] == 3
        assert pod_of(one)["containers"][0]["image"] == "team/maar:1.2"


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda one: one["metadata"]["name"])
def test_a_program_is_deployed_with_as_little_as_it_needs(deployment: Json) -> None:
    pod = pod_of(deployment)
    (container,) = pod["containers"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}
    assert pod["priorityClassName"] in [one["metadata"]["name"] for one in of_kind("PriorityClass")]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    budgets = [one["spec"]["selector"]["matchLabels"] for one in of_kind("PodDisruptionBudget")]
    assert budgets.count(labels) == 1


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda one: one["metadata"]["name"])
def test_a_program_knows_the_flags_that_it_is_given(deployment: Json) -> None:
    program, *flags = pod_of(deployment)["containers"][0]["args"]
    command = typer.main.get_command(maar_app).loaded(program)  # type: ignore[attr-defined]  # a LazyGroup
    assert command.make_context(program, flags).params["listen"] == "0.0.0.0:8080"


def test_the_network_lets_few_in_to_health_and_metrics_and_covers_every_port_of_every_program() -> None:
    (policy,) = of_kind("NetworkPolicy")
    selector = policy["spec"]["podSelector"]["matchLabels"]
    ports = set()
    for one in (*DEPLOYMENTS, *(one for one in CONSOLE if one["kind"] == "Deployment")):
        assert selector.items() <= one["spec"]["template"]["metadata"]["labels"].items()
        ports |= {port["name"] for port in pod_of(one)["containers"][0]["ports"]}
    peers = {rule["ports"][0]["port"]: rule.get("from") for rule in policy["spec"]["ingress"]}
    assert peers.keys() == ports
    assert [port for port, few in peers.items() if few] == ["metrics"]


def test_the_configuration_is_the_default_written_out() -> None:
    (config_map,) = of_kind("ConfigMap")
    assert parse_text(config_map["data"]["maar-scheduler.conf"]) == parse_text("")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_may_see_what_it_watches_and_nothing_else(program: str) -> None:
    places = map(resource_path_of, PROGRAMS[program])
    wanted = {(place.api_version.rpartition("/")[0], place.plural) for place in places}
    wanted |= ITS_OWN if program == "webhooks" else set()
    listed = LISTED if program == "scheduler" else set()
    for verb, more in (("list", listed), ("watch", set())):
        assert {
            (one.group, one.resource) for one in permissions(program) if one.verb == verb
        } == wanted | more


def test_admission_may_write_its_own_configurations_only() -> None:
    (role,) = (one for one in objects("webhooks") if one["kind"] == "ClusterRole")
    named = [name for rule in role["rules"] for name in rule.get("resourceNames", ())]
    assert sorted(named) == sorted(one.name for one in registrations())


def test_no_role_has_a_wildcard_and_only_who_makes_pods_has_secrets_everywhere() -> None:
    """The plugin ssh makes a Secret for a job. Whoever makes pods everywhere can mount any of them anyway."""
    for role in (*of_kind("ClusterRole"), *of_kind("Role")):
        for rule in role["rules"]:
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
            if "secrets" not in rule["resources"]:
                continue
            assert role["kind"] == "Role" or role["metadata"]["name"] == "maar-controllers-ssh"
            is_named = role["kind"] == "Role" and rule.get("resourceNames")
            assert is_named or not {"list", "watch"} & set(rule["verbs"])


def test_the_console_may_take_samples_and_nothing_else() -> None:
    (role,) = (one for one in CONSOLE if one["kind"].endswith("Role"))
    allowed = {
        (group, name) for rule in role["rules"] for group in rule["apiGroups"] for name in rule["resources"]
    }
    assert allowed == {
        ("scheduling.volcano.sh", "queues"),
        ("scheduling.volcano.sh", "podgroups"),
        ("", "events"),
    }
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list"}


def test_the_console_is_deployed_once_with_flags_that_it_knows_and_as_little_as_it_needs() -> None:
    (deployment,) = (one for one in CONSOLE if one["kind"] == "Deployment")
    pod, (other, *_) = pod_of(deployment), DEPLOYMENTS
    (container,) = pod["containers"]
    assert deployment["spec"]["replicas"] == 1
    assert pod["securityContext"] == pod_of(other)["securityContext"]
    assert container["securityContext"] == pod_of(other)["containers"][0]["securityContext"]
    assert container["image"] == "team/maar:1.2"
    program, *flags = container["args"]
    command = typer.main.get_command(maar_app).loaded(program)  # type: ignore[attr-defined]  # a LazyGroup
    given = command.make_context(program, flags).params
    assert (given["login"], given["port"], given["allow_writes"]) == ("token", 8080, False)


def test_the_quota_guard_and_the_service_know_the_names_of_the_installation() -> None:
    accounts = {one["metadata"]["name"] for one in of_kind("ServiceAccount")}
    assert Options().controllers_user.rpartition(":")[2] in accounts
    services = {f"{one['metadata']['name']}.maar-system.svc" for one in of_kind("Service")}
    assert set(service_hosts()) <= services


def test_the_command_prints_it() -> None:
    application = typer.Typer()
    application.command()(manifests)
    done = CliRunner().invoke(application, ["--image", "team/maar:1.2", "--replicas", "3"])
    assert done.output == installation("team/maar:1.2", 3)


@pytest.mark.parametrize("image", ["", "a b", "maar:1\nkind: Secret", "-x", "maar@sha256:12"])
def test_what_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(CommandError, match="no name of an image; write for example team/maar:"):
        manifests(image=image)


@pytest.mark.parametrize("image", ["maar", "host:5000/a/b_c/maar:v1.2-x", f"m@sha256:{'0' * 64}"])
def test_what_a_container_runtime_takes_is_accepted(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    manifests(image=image)
    assert capsys.readouterr().out.count(f"image: {image}\n") == 3


def test_the_folders_that_older_pages_name_lead_into_the_chart() -> None:
    deploy = Path(__file__).parents[3] / "deploy"
    for folder in ("crds", "webhooks"):
        links = {file.name: file.resolve() for file in (deploy / folder).iterdir()}
        chart = deploy / "chart" / "maar" / "objects" / folder
        assert links == {file.name: file.resolve() for file in chart.iterdir()}
