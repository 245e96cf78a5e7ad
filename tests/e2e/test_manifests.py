"""`maar manifests` on a real cluster: one apply installs all, programs run as deployed, people have roles."""

import json
import shlex
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from maar.apps.manifests import installation
from support.control_plane import ControlPlane
from support.deployed_programs import PROGRAMS, deployed_command
from support.needs_kubernetes import needs_kubernetes
from support.processes import Group
from support.until import TIMEOUT_S

STREAM: Final = installation("team/maar:1.2.3")
IN: Final = ("--namespace", "maar-system")
BINDINGS: Final = (
    ("clusterrolebinding", "alice", "--clusterrole=maar-queue-admin", "--user=alice"),
    ("clusterrolebinding", "bob", "--clusterrole=maar-user", "--user=bob"),
    ("rolebinding", "carol", "--clusterrole=edit", "--user=carol", "--namespace=team"),
    ("rolebinding", "dave", "--clusterrole=view", "--user=dave", "--namespace=team"),
)
QUEUE: Final = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: %s}
spec: {weight: 1}
"""
GANG: Final = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: work, namespace: team}
spec: {minMember: 1, queue: alices}
---
apiVersion: v1
kind: Pod
metadata: {name: work, namespace: team, annotations: {scheduling.k8s.io/group-name: work}}
spec:
  schedulerName: volcano
  containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster with Maar's objects applied, and none of its programs running."""
    needs_kubernetes()
    with ControlPlane(tmp_path_factory.mktemp("plane"), controllers=True) as running:
        running.make_nodes(["n1"])
        reported = running.kubectl("apply", "-f", "-", stdin=STREAM).stdout.splitlines()
        assert [line for line in reported if not line.endswith(" created")] == []
        yield running


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    """A free port for each program, one for a second replica, and one for reviews."""
    names = (*PROGRAMS, "reviews", "standby")
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in names]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}


@pytest.fixture(scope="module")
def maar(
    plane: ControlPlane, ports: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Group]:
    """The programs with the arguments of their deployments, each as its own service account, all at once."""
    with Group(tmp_path_factory.mktemp("maar")) as processes:
        for program in PROGRAMS:
            url = f"https://127.0.0.1:{ports['reviews']}"  # no Service leads anywhere here
            here = ("--url", url) if program == "webhooks" else ()
            processes.start(program, [*deployed_command(plane, program, ports[program]), *here])
        yield processes
        processes.check()


def installed(plane: ControlPlane) -> list[dict[str, Any]]:
    """All objects of the stream as the cluster has them, but for what the cluster itself says about them."""
    found = json.loads(plane.kubectl("get", "-f", "-", "-o", "json", stdin=STREAM).stdout)["items"]
    for one in found:
        one.pop("status", None)
        for name in ("resourceVersion", "managedFields"):
            one["metadata"].pop(name, None)
    return list(found)


def test_a_second_apply_changes_nothing(plane: ControlPlane) -> None:
    before = installed(plane)
    reported = plane.kubectl("apply", "-f", "-", stdin=STREAM).stdout.splitlines()
    assert installed(plane) == before
    configured = {line.split("/")[0] for line in reported if not line.endswith(" unchanged")}
    # kubectl replaces selectors and lists in which the server has defaults, with the same, and takes the
    # addresses of webhooks away again.
    webhooks = {
        f"{kind}webhookconfiguration.admissionregistration.k8s.io" for kind in ("mutating", "validating")
    }
    replaced = {
        "poddisruptionbudget.policy",
        "networkpolicy.networking.k8s.io",
        "validatingadmissionpolicy.admissionregistration.k8s.io",
    }
    assert configured == {*replaced, *webhooks}


def test_its_own_pods_start_while_nobody_judges_and_meet_the_strictest_standard(plane: ControlPlane) -> None:
    def pods() -> int:
        return len(plane.kubectl("get", "pods", *IN, "-o", "name").stdout.split())

    plane.until("each program has two pods", lambda: pods() == 6)
    plane.kubectl("delete", "pods", "--all", "--force", *IN)
    plane.until("they are back", lambda: pods() == 6)
    label = plane.kubectl("get", "namespace", "maar-system", "-o", "jsonpath={.metadata.labels}").stdout
    assert json.loads(label)["pod-security.kubernetes.io/enforce"] == "restricted"


def test_a_queue_waits_until_somebody_judges(plane: ControlPlane) -> None:
    refused = plane.kubectl("apply", "-f", "-", stdin=QUEUE % "early", check=False).stderr
    assert 'failed calling webhook "mutatequeue.volcano.sh"' in refused


def is_well(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=TIMEOUT_S) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def until_ready(plane: ControlPlane, maar: Group, program: str, port: int) -> None:
    def is_ready() -> bool:
        maar.check()
        return is_well(port, "/readyz")

    plane.until(f"{program} is ready", is_ready)


def test_the_programs_run_as_they_are_deployed(
    plane: ControlPlane, maar: Group, ports: dict[str, int]
) -> None:
    for program in PROGRAMS:
        until_ready(plane, maar, program, ports[program])
        assert is_well(ports[program], "/healthz")
        assert is_well(ports[program], "/metrics")
    path = "jsonpath={.items[*].status.state}"
    plane.until(
        "root and default are open",
        lambda: plane.kubectl("get", "queues", "-o", path).stdout == "Open Open",
    )


def test_a_configuration_in_another_namespace_is_read_once_the_named_role_is_there(
    plane: ControlPlane, maar: Group, ports: dict[str, int]
) -> None:
    plane.kubectl("create", "namespace", "rules")
    plane.kubectl("create", "configmap", "fair", "-n", "rules", "--from-literal=a=actions: allocate")
    given = [one for one in deployed_command(plane, "scheduler", ports["standby"]) if "config-map" not in one]
    given += ["--config-map", "rules/fair", "--lease", "maar-system/maar-scheduler"]
    refused = subprocess.run(given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert refused.returncode == 1
    _, reported, commands = refused.stderr.partition("let it read this one with: ")
    assert reported, refused.stderr
    for one in commands.split(" && "):
        plane.kubectl(*shlex.split(one)[1:])
    maar.start("elsewhere", given)
    until_ready(plane, maar, "elsewhere", ports["standby"])
    maar.stop("elsewhere", signal.SIGTERM)


@pytest.mark.parametrize("program", ["scheduler", "controllers"])
def test_another_replica_is_ready_while_it_stands_by_and_then_leads(
    plane: ControlPlane, maar: Group, ports: dict[str, int], program: str
) -> None:
    def at_work() -> bool:
        maar.check()
        return "at work" in maar.log(second).read_text()

    second = f"{program}-2"
    maar.start(second, deployed_command(plane, program, ports["standby"]))
    until_ready(plane, maar, second, ports["standby"])
    assert not at_work()
    maar.stop(program, signal.SIGTERM)
    plane.until("the other replica leads", at_work)
    maar.stop(second, signal.SIGTERM)
    maar.start(program, deployed_command(plane, program, ports[program]))


def test_people_may_do_what_their_role_says_and_no_more(plane: ControlPlane, maar: Group) -> None:
    def may(user: str, *command: str, stdin: str | None = None) -> bool:
        ended = plane.kubectl(*command, f"--as={user}", stdin=stdin, check=False)
        assert ended.returncode == 0 or "cannot " in ended.stderr, ended.stderr
        return ended.returncode == 0

    maar.check()
    plane.kubectl("create", "namespace", "team")
    for binding in BINDINGS:
        plane.kubectl("create", *binding)
    plane.until(
        "edit has grown",
        lambda: (
            plane.kubectl(
                "auth", "can-i", "create", "podgroups", "--as=carol", "-n", "team", check=False
            ).stdout
            == "yes\n"
        ),
    )
    assert may("alice", "create", "-f", "-", stdin=QUEUE % "alices")
    assert may("alice", "patch", "queue", "alices", "--type=merge", "-p", '{"spec":{"weight":2}}')
    assert not may("alice", "get", "pods", "-A")
    for user in ("bob", "carol"):
        assert not may(user, "create", "-f", "-", stdin=QUEUE % f"{user}s")
        assert not may(user, "patch", "queue", "alices", "--type=merge", "-p", '{"spec":{"weight":9}}')
    assert may("bob", "get", "queues")
    assert not may("carol", "get", "queues")
    assert may("carol", "create", "-f", "-", stdin=GANG)
    assert may("dave", "get", "podgroups", "-n", "team")
    assert not may("dave", "delete", "podgroup", "work", "-n", "team")
    assert not may("carol", "get", "podgroups", "-n", "default")
    for user in ("bob", "carol"):  # a command opens and closes queues, whatever namespace it is in
        assert (
            plane.kubectl(
                "auth",
                "can-i",
                "create",
                "commands.bus.volcano.sh",
                "-n",
                "team",
                f"--as={user}",
                check=False,
            ).stdout
            == "no\n"
        )


def test_the_bindings_that_the_page_shows_can_be_made(plane: ControlPlane) -> None:
    page = (Path(__file__).parents[2] / "docs" / "installing.md").read_text(encoding="utf-8")
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("kubectl create ")]
    assert len(commands) == 5
    for namespace in ("team-a", "platform"):
        plane.kubectl("create", "namespace", namespace)
    for one in commands:
        plane.kubectl(*one)
    asked = ("auth", "can-i", "create", "jobs.batch.volcano.sh", "--as=eve", "--as-group=team-a")
    assert plane.kubectl(*asked, "-n", "team-a").stdout == "yes\n"
    assert plane.kubectl(*asked, "-n", "default", check=False).stdout == "no\n"
    scheduler = "--as=system:serviceaccount:maar-system:maar-scheduler"
    assert plane.kubectl("auth", "can-i", "get", "cm/fair", "-n", "platform", scheduler).stdout == "yes\n"


def test_what_a_user_submits_runs(plane: ControlPlane, maar: Group) -> None:
    maar.check()
    plane.kubectl("wait", "pod/work", "-n", "team", "--for=jsonpath={.spec.nodeName}=n1")


def test_applying_again_leaves_what_admission_has_filled_in(
    plane: ControlPlane, maar: Group, ports: dict[str, int]
) -> None:
    maar.stop("webhooks", signal.SIGTERM)
    maar.start("webhooks", [*deployed_command(plane, "webhooks", ports["webhooks"]), "--port", "0"])

    def are_filled_in() -> bool:
        maar.check()
        hooks = [hook for one in installed(plane) for hook in one.get("webhooks", ())]
        return all({"caBundle", "service"} == hook["clientConfig"].keys() for hook in hooks)

    plane.until("all configurations lead to the Service", are_filled_in)
    before = installed(plane)
    plane.kubectl("apply", "-f", "-", stdin=STREAM)
    assert installed(plane) == before


def test_the_image_is_the_one_that_was_asked_for(plane: ControlPlane) -> None:
    path = "jsonpath={.items[*].spec.template.spec.containers[*].image}"
    assert plane.kubectl("get", "deployments", *IN, "-o", path).stdout == shlex.join(["team/maar:1.2.3"] * 3)
