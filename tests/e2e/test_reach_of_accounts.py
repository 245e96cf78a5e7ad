"""What somebody can do who has taken over a service account of Maar: tried on a real API server."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from maar.apps.manifests import installation
from support.control_plane import ControlPlane
from support.needs_kubernetes import needs_kubernetes

Json = dict[str, Any]

WEBHOOKS: Final = ("--as", "system:serviceaccount:maar-system:maar-webhooks")
CONTROLLERS: Final = ("--as", "system:serviceaccount:maar-system:maar-controllers")
PODS: Final = "validatingwebhookconfiguration/volcano-admission-service-pods-validate"
QUEUES: Final = "mutatingwebhookconfiguration/volcano-admission-service-queues-mutate"
EVERYTHING: Final = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
OURS: Final = {"name": "scheduler-name", "expression": "object.spec.schedulerName in ['volcano', 'maar']"}

Widen = Callable[[Json], None]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    needs_kubernetes()
    with ControlPlane(tmp_path_factory.mktemp("reach"), controllers=True) as running:
        running.kubectl("apply", "-f", "-", stdin=installation("team/maar:1"))
        yield running


def changed(plane: ControlPlane, configuration: str, change: Widen) -> str:
    """What the API server says to a change of a configuration by the account of the webhooks.

    A dry run: before the policy is in force a change would be made, and stop every other request.
    """
    found = json.loads(plane.kubectl("get", configuration, "-o", "json").stdout)
    change(found["webhooks"][0])
    patch = json.dumps({"webhooks": found["webhooks"]})
    flags = ("--type=merge", "--dry-run=server", "-p", patch)
    done = plane.kubectl("patch", configuration, *flags, *WEBHOOKS, check=False)
    return done.stderr


def every_request(hook: Json) -> None:
    hook["rules"] = [EVERYTHING]


def secrets_too(hook: Json) -> None:
    hook["rules"] += [{**EVERYTHING, "resources": ["secrets"]}]


def every_namespace(hook: Json) -> None:
    hook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}


def whatever_happens(hook: Json) -> None:
    hook["failurePolicy"] = "Ignore" if hook["failurePolicy"] == "Fail" else "Fail"


def pods_of_all_schedulers(hook: Json) -> None:
    hook["matchConditions"] = [{**one, "expression": "true"} for one in hook.get("matchConditions", [])] or [
        {"name": "more", "expression": "true"}
    ]


def no_condition(hook: Json) -> None:
    hook["matchConditions"] = [{"name": "other", "expression": "true"}]


def a_condition_that_begins_as_ours(hook: Json) -> None:
    hook["matchConditions"] = [{**OURS, "expression": f"{OURS['expression']} || true"}]


@pytest.mark.parametrize("configuration", [PODS, QUEUES])
@pytest.mark.parametrize(
    "widen",
    [
        every_request, secrets_too, every_namespace, whatever_happens, pods_of_all_schedulers,
        no_condition, a_condition_that_begins_as_ours,
    ],
)  # fmt: skip
def test_the_account_of_the_webhooks_does_not_widen_what_they_are_asked(
    plane: ControlPlane, configuration: str, widen: Widen
) -> None:
    plane.until(
        "the policy is in force",
        lambda: "service accounts of Maar" in changed(plane, QUEUES, every_request),
    )
    assert "service accounts of Maar" in changed(plane, configuration, widen)


def test_the_account_of_the_webhooks_keeps_their_address_and_schedulers(plane: ControlPlane) -> None:
    def ours(hook: Json) -> None:
        hook["clientConfig"]["caBundle"] = base64.b64encode(b"another").decode()
        hook["matchConditions"] = [OURS]

    def bundle(hook: Json) -> None:
        hook["clientConfig"]["caBundle"] = ""

    reported = changed(plane, PODS, ours)
    assert "service accounts of Maar" not in reported
    assert changed(plane, QUEUES, bundle) == ""


def test_an_administrator_changes_what_webhooks_are_asked(plane: ControlPlane) -> None:
    patch = json.dumps({"webhooks": [{"name": "validatepod.volcano.sh", "failurePolicy": "Ignore"}]})
    plane.kubectl("patch", PODS, "--type=strategic", "-p", patch)


def test_the_right_to_secrets_is_that_of_the_plugin_ssh(plane: ControlPlane, tmp_path: Path) -> None:
    def may(verb: str) -> bool:
        asked = ("auth", "can-i", verb, "secrets", "--namespace=team", *CONTROLLERS)
        return plane.kubectl(*asked, check=False).stdout.strip() == "yes"

    assert all(may(verb) for verb in ("get", "create", "patch", "delete"))
    without = tmp_path / "without.yaml"
    without.write_text(installation("team/maar:1", has_ssh=False))
    plane.kubectl("delete", "clusterrole,clusterrolebinding", "maar-controllers-ssh")
    plane.kubectl("apply", "-f", str(without))
    plane.until("the right is gone", lambda: not may("get"))
    assert not any(may(verb) for verb in ("get", "list", "watch", "create", "update", "patch", "delete"))
