"""`maar webhooks` on a real API server: what people read, and who never waits."""

import asyncio
import base64
import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from maar.apps.manifests import installation
from maar.apps.webhooks.configurations import Wanted, register
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from support.needs_kubernetes import needs_kubernetes
from support.reapplying import CONFLICT, GROWN_AND_SHRUNK, reapply, switch_to_server_side
from support.webhooks_process import (
    CLUSTER_USER,
    CONFIGURATION,
    MAAR,
    QUEUES,
    Webhooks,
    queue,
    webhooks_beside,
)

SERVICE: Final = {
    "name": "maar-webhooks",
    "namespace": "maar-system",
    "path": "/queues/validate",
    "port": 443,
}
ALICE: Final = ("--as=alice", "--as-group=system:masters")
CONTROLLERS: Final = ("--as=system:serviceaccount:maar-system:maar-controllers", "--as-group=system:masters")


@pytest.fixture(scope="module")
def webhooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhooks]:
    needs_kubernetes()
    with webhooks_beside(tmp_path_factory.mktemp("webhooks")) as running:
        yield running


def pod(name: str, scheduler: str, queue: str = "") -> str:
    annotations = {"scheduling.volcano.sh/queue-name": queue} if queue else {}
    container = {"name": "main", "image": "busybox"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"schedulerName": scheduler, "containers": [container]},
        }
    )


def refused(webhooks: Webhooks, document: Mapping[str, object]) -> str:
    done = webhooks.plane.kubectl("create", "-f", "-", stdin=json.dumps(document), check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


def spec_of(webhooks: Webhooks, kind: str, name: str, *flags: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(webhooks.plane.kubectl("get", kind, name, "-o", "json", *flags).stdout)
    return found["spec"]  # type: ignore[no-any-return]  # JSON


def closed(webhooks: Webhooks, name: str) -> None:
    """Close a queue as Volcano's clients do before they delete it."""
    change = {"status": {"state": "Closed"}}
    assert webhooks.plane.request("PATCH", f"{QUEUES}/{name}/status", change).status == 200


def test_a_refusal_says_the_rule_the_field_the_value_and_what_to_do(webhooks: Webhooks) -> None:
    reported = refused(webhooks, queue("child", parent="nowhere"))
    assert reported == (
        'Error from server (Forbidden): error when creating "STDIN": admission webhook '
        '"validatequeue.volcano.sh" denied the request: [queue-parent-exists] spec.parent is "nowhere", '
        "and there is no such queue; create it first, or name another one\n"
    )


def test_what_is_left_out_is_filled_in(webhooks: Webhooks) -> None:
    webhooks.plane.kubectl("create", "-f", "-", stdin=json.dumps(queue("plain")))
    spec = spec_of(webhooks, "queue", "plain")
    wanted = {"weight": 1, "reclaimable": True, "state": "Open", "parent": "root"}
    assert {name: spec.get(name) for name in wanted} == wanted


def test_kubectl_prints_warnings_and_the_queue_is_there_all_the_same(webhooks: Webhooks) -> None:
    done = webhooks.plane.kubectl(
        "create", "-f", "-", stdin=json.dumps(queue("warned", capability={"cpu": "1"}, deserved={"cpu": "2"}))
    )
    assert done.stderr.startswith("Warning: [queue-deserved] spec.deserved.cpu is 2, ")
    assert done.stdout == "queue.scheduling.volcano.sh/warned created\n"


def test_our_commands_print_warnings_as_kubectl_does(webhooks: Webhooks) -> None:
    assert webhooks.plane.request("POST", QUEUES, queue("top")).status == 201
    done = subprocess.run(
        [MAAR, "queue", "create", "only", "--parent", "top", "--weight", "5"],
        env=webhooks.plane.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.startswith("Warning: [queue-weight-only-child] spec.weight is 5")
    assert done.stderr.count("\n") == 1
    assert done.stdout == "queue.scheduling.volcano.sh/only created\n"


def test_what_is_applied_together_is_judged_together(webhooks: Webhooks) -> None:
    """The parent is on its way to us when the child comes; so is the namespace when its job comes."""
    for number in range(10):
        made = [
            webhooks.plane.request("POST", QUEUES, queue(f"up-{number}")),
            webhooks.plane.request("POST", QUEUES, queue(f"down-{number}", parent=f"up-{number}")),
        ]
        assert [one.status for one in made] == [201, 201], made
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team", "annotations": {"scheduling.volcano.sh/queue-name": "plain"}},
    }
    container = {"name": "main", "image": "busybox"}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "team"},
        "spec": {"tasks": [{"replicas": 2, "template": {"spec": {"containers": [container]}}}]},
    }
    webhooks.plane.request("POST", "/api/v1/namespaces", namespace)
    made = [webhooks.plane.request("POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs", job)]
    assert made[0].status == 201, made
    spec = json.loads(made[0].body)["spec"]
    assert (spec["queue"], spec["minAvailable"], spec["tasks"][0]["name"]) == ("plain", 2, "default0")


def test_only_a_closed_queue_without_children_is_deleted(webhooks: Webhooks) -> None:
    kubectl = webhooks.plane.kubectl
    for name in ("default", "root"):
        assert webhooks.plane.request("POST", QUEUES, queue(name)).status == 201
        assert "[queue-delete-protected]" in kubectl("delete", "queue", name, check=False).stderr
    webhooks.plane.request("POST", QUEUES, queue("parent"))
    webhooks.plane.request("POST", QUEUES, queue("leaf", parent="parent"))
    assert "[queue-delete-state]" in kubectl("delete", "queue", "leaf", check=False).stderr
    closed(webhooks, "parent")
    assert "[queue-delete-children] metadata.name" in kubectl("delete", "queue", "parent", check=False).stderr
    closed(webhooks, "leaf")
    for name in ("leaf", "parent"):
        assert webhooks.plane.request("DELETE", f"{QUEUES}/{name}").status == 200


def test_pods_of_other_schedulers_never_wait_for_maar_and_ours_do(webhooks: Webhooks) -> None:
    kubectl = webhooks.plane.kubectl
    wrong = kubectl("create", "-f", "-", stdin=pod("wrong", "volcano", "nowhere"), check=False).stderr
    assert '[pod-queue-exists] metadata.annotations[scheduling.volcano.sh/queue-name] is "nowhere"' in wrong
    assert kubectl("create", "-f", "-", stdin=pod("ours", "volcano", "plain")).stderr == ""
    webhooks.stop()
    try:
        assert kubectl("create", "-f", "-", stdin=pod("theirs", "default-scheduler")).stderr == ""
        kubectl("create", "-n", "kube-system", "-f", "-", stdin=pod("system", "volcano"))
        waiting = kubectl("create", "-f", "-", stdin=pod("waiting", "volcano"), check=False).stderr
        assert 'failed calling webhook "validatepod.volcano.sh"' in waiting
        kubectl("create", "quota", "theirs", "--hard=pods=100")  # nor do quotas
        kubectl("label", "queue", "plain", "team=red")  # nor what leaves the spec as it is
        kubectl("delete", "pod", "ours", "theirs", "--grace-period=0", "--force")
    finally:
        webhooks.start(*CLUSTER_USER)


def test_the_quota_managers_quotas_are_nobody_elses(webhooks: Webhooks) -> None:
    kubectl = webhooks.plane.kubectl
    ours = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "maar-queue", "labels": {"maar.sh/quota-of": "plain"}},
            "spec": {"hard": {"pods": "4"}},
        }
    )
    kubectl("create", "namespace", "guarded")
    place = ("-n", "guarded")
    assert "[quota-owner]" in kubectl("create", "-f", "-", *place, *ALICE, stdin=ours, check=False).stderr
    kubectl("create", "-f", "-", *place, *CONTROLLERS, stdin=ours)
    for change in ('{"spec":{"hard":{"pods":"9"}}}', '{"metadata":{"labels":{"maar.sh/quota-of":null}}}'):
        edit = ("patch", "quota", "maar-queue", "-p", change, *place, *ALICE)
        assert "[quota-owner]" in kubectl(*edit, check=False).stderr
    gone = kubectl("delete", "quota", "maar-queue", *place, *ALICE, check=False)
    assert "only Maar's quota manager may write this quota" in gone.stderr
    kubectl("wait", "quota/maar-queue", "--for=jsonpath={.status.used.pods}=0", *place)
    kubectl("delete", "namespace", "guarded")


def test_a_service_and_an_address_take_each_others_place(webhooks: Webhooks) -> None:
    async def put(url: str) -> list[str]:
        async with ApiServer(await load(webhooks.plane.kubeconfig)) as api:
            return await register(api, Wanted(("volcano", "maar"), url), authority)

    def client_config() -> dict[str, Any]:
        found = json.loads(webhooks.plane.request("GET", CONFIGURATION).body)
        return dict(found["webhooks"][0]["clientConfig"])

    before = client_config()
    authority = base64.b64decode(before["caBundle"])
    webhooks.stop()
    try:
        assert asyncio.run(put("")) == []
        assert client_config() == {"caBundle": before["caBundle"], "service": SERVICE}
        assert asyncio.run(put(before["url"].removesuffix("/queues/validate"))) == []
        assert client_config() == before
        pods = CONFIGURATION.replace("queues-validate", "pods-validate")
        (hook,) = json.loads(webhooks.plane.request("GET", pods).body)["webhooks"]
        assert hook["matchConditions"] == [
            {"name": "scheduler-name", "expression": "object.spec.schedulerName in ['volcano', 'maar']"}
        ]
    finally:
        webhooks.start(*CLUSTER_USER)


def test_what_somebody_takes_out_of_a_configuration_comes_back(webhooks: Webhooks) -> None:
    found = json.loads(webhooks.plane.request("GET", CONFIGURATION).body)
    wanted = found["webhooks"][0]["clientConfig"]
    found["webhooks"][0]["clientConfig"] = {"url": "https://127.0.0.1:1/elsewhere"}
    assert webhooks.plane.request("PUT", CONFIGURATION, found).status == 200

    def is_back() -> bool:
        there = json.loads(webhooks.plane.request("GET", CONFIGURATION).body)
        return bool(there["webhooks"][0]["clientConfig"] == wanted)

    webhooks.plane.until("the configuration is right again", is_back)
    webhooks.plane.until("it asks the webhooks", webhooks.answers)


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_work_that_is_applied_again_is_not_refused_over_what_maar_filled_in(
    webhooks: Webhooks, flags: tuple[str, ...]
) -> None:
    name = f"again-{len(flags)}"
    assert reapply(webhooks.plane.kubectl, name, *flags) == GROWN_AND_SHRUNK


def test_a_job_moves_from_client_side_to_server_side_apply(webhooks: Webhooks) -> None:
    """Tasks are one value to API servers: what Maar filled in makes a conflict."""
    assert switch_to_server_side(webhooks.plane.kubectl, "switched", minAvailable=2, maxRetry=3) == ""
    assert CONFLICT in switch_to_server_side(webhooks.plane.kubectl, "forced")


@pytest.mark.parametrize("flags", [(), ("--server-side", "--force-conflicts")], ids=["client", "server"])
def test_the_manifests_can_be_applied_again_where_an_address_leads_to_the_webhooks(
    webhooks: Webhooks, flags: tuple[str, ...]
) -> None:
    """`maar manifests | kubectl apply -f -`, as after an upgrade; the running program then puts it right."""
    wanted = json.loads(webhooks.plane.request("GET", CONFIGURATION).body)["webhooks"][0]["clientConfig"]
    assert "url" in wanted
    configurations = "---\n".join(
        text for text in installation("maar").split("---\n") if "WebhookConfiguration" in text
    )
    done = webhooks.plane.kubectl("apply", *flags, "-f", "-", stdin=configurations, check=False)
    assert (done.returncode, done.stderr) == (0, "")

    def is_back() -> bool:
        there = json.loads(webhooks.plane.request("GET", CONFIGURATION).body)
        return bool(there["webhooks"][0]["clientConfig"] == wanted)

    webhooks.plane.until("the configuration is right again", is_back)
    webhooks.plane.until("it asks the webhooks", webhooks.answers)


def test_an_annotation_of_a_hierarchy_is_judged_though_the_spec_stays(webhooks: Webhooks) -> None:
    kubectl = webhooks.plane.kubectl
    kubectl("create", "-f", "-", stdin=json.dumps(queue("ranked")))
    wrong = ("volcano.sh/hierarchy=root/ranked", "volcano.sh/hierarchy-weights=1/0")
    reported = kubectl("annotate", "queue", "ranked", *wrong, check=False).stderr
    assert "[queue-hierarchy]" in reported
    assert "must be larger than 0" in reported
    kubectl("annotate", "queue", "ranked", wrong[0], "volcano.sh/hierarchy-weights=1/2")
