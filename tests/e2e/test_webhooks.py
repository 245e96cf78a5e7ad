"""`maar webhooks` on a real API server: what people read, who never waits, and certificates that change."""

import asyncio
import base64
import json
import signal
import socket
import ssl
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from maar.apps.webhook_configurations import Wanted, register
from maar.kube.api_server import ApiServer
from maar.kube.certificates import CertificatesError, KeptKeys, Keys
from maar.kube.credentials import load
from support.control_plane import ControlPlane
from support.needs_kubernetes import needs_kubernetes
from support.processes import Group

ROOT: Final = Path(__file__).parents[2]
MAAR: Final = str(Path(sys.executable).with_name("maar"))
QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"
CONFIGURATION: Final = (
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    "/volcano-admission-service-queues-validate"
)
KEPT_IN: Final = "/api/v1/namespaces/maar-system/secrets/maar-webhooks"
SHARED: Final = ("maar-system/secrets/maar-webhooks", "default/secrets/shared")
SERVICE: Final = {
    "name": "maar-webhooks",
    "namespace": "maar-system",
    "path": "/queues/validate",
    "port": 443,
}
ALICE: Final = ("--as=alice", "--as-group=system:masters")
CONTROLLERS: Final = ("--as=system:serviceaccount:maar-system:maar-controllers", "--as-group=system:masters")


class Webhooks:
    """`maar webhooks` as a laptop runs it, in a process of its own."""

    def __init__(self, plane: ControlPlane, processes: Group) -> None:
        self.plane, self._processes = plane, processes
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self, *flags: str) -> None:
        """Start it, and wait until the API server asks it."""
        url = f"https://127.0.0.1:{self.port}"
        command = [MAAR, "webhooks", "--url", url, "--kubeconfig", str(self.plane.kubeconfig), *flags]
        self._processes.start("webhooks", command)
        self.plane.until("it asks the webhooks", self.answers)

    def stop(self) -> None:
        """Stop it as Kubernetes does."""
        self._processes.stop("webhooks", signal.SIGTERM)

    def answers(self) -> bool:
        """Whether a queue can be created now; it is not."""
        self._processes.check()
        return self.plane.request("POST", f"{QUEUES}?dryRun=All", queue("probe")).status == 201

    def serial(self) -> int:
        """Which certificate a new connection gets."""
        pem = ssl.get_server_certificate(("127.0.0.1", self.port))
        return x509.load_pem_x509_certificate(pem.encode()).serial_number

    def said(self) -> str:
        """All that it has said."""
        return self._processes.log("webhooks").read_text()


def queue(name: str, **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


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


@pytest.fixture(scope="module")
def webhooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhooks]:
    needs_kubernetes()
    folder = tmp_path_factory.mktemp("webhooks")
    plane_folder = folder / "plane"
    plane_folder.mkdir()
    with ControlPlane(plane_folder, controllers=True) as plane, Group(folder) as processes:
        plane.kubectl("create", "namespace", "maar-system")
        plane.kubectl("apply", "-f", str(ROOT / "deploy" / "crds"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        plane.kubectl("apply", "-f", str(ROOT / "deploy" / "webhooks"))
        running = Webhooks(plane, processes)
        running.start("--cluster-user", "admin")  # as whom the controllers of this control plane run
        yield running
        running.stop()
        assert "Traceback" not in running.said()


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
    said = refused(webhooks, queue("child", parent="nowhere"))
    assert said == (
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
        "create", "-f", "-", stdin=json.dumps(queue("warned", deserved={"cpu": "1"}))
    )
    assert done.stderr.startswith("Warning: [queue-deserved] spec.deserved ")
    assert done.stdout == "queue.scheduling.volcano.sh/warned created\n"


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
        webhooks.start("--cluster-user", "admin")


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
    kubectl("wait", "quota/maar-queue", "--for=jsonpath={.status.used.pods}=0", *place, "--timeout=20s")
    kubectl("delete", "namespace", "guarded", "--timeout=30s")


def test_nothing_fails_while_all_keys_are_made_anew(webhooks: Webhooks) -> None:
    before, authority = webhooks.serial(), trusted(webhooks)
    webhooks.plane.kubectl("delete", "secret", "-n", "maar-system", "maar-webhooks")
    until_served(webhooks, before)
    assert trusted(webhooks) > authority  # the one before is still good, for a while
    assert webhooks.plane.found(KEPT_IN)


def test_replicas_that_start_at_the_same_moment_share_their_keys(webhooks: Webhooks) -> None:
    async def look() -> list[Keys]:
        async with ApiServer(await load(webhooks.plane.kubeconfig)) as api:
            replicas = [KeptKeys(api, "default/shared", ("a",)) for _ in range(4)]
            made = await asyncio.gather(*(one.look() for one in replicas))
            rubbish = {"data": {"tls.crt": "cnViYmlzaA=="}}
            assert webhooks.plane.request("PATCH", KEPT_IN.replace(*SHARED), rubbish).status == 200
            with pytest.raises(CertificatesError, match=r"^there is no namespace nowhere; kubectl create"):
                await KeptKeys(api, "nowhere/keys", ("a",)).look()
            return [*made, await replicas[0].look()]

    first, *others, healed = asyncio.run(look())
    assert others == [first] * 3
    assert healed.certificate not in (first.certificate, b"rubbish")


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
        webhooks.start("--cluster-user", "admin")


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


def test_certificates_are_renewed_before_they_end_without_a_restart(webhooks: Webhooks) -> None:
    webhooks.stop()
    assert webhooks.plane.request("DELETE", KEPT_IN).status == 200  # or what is there holds for months
    webhooks.start("--cluster-user", "admin", "--certificate-validity", "9s")
    first = webhooks.serial()
    second = until_served(webhooks, first)
    until_served(webhooks, second)


def trusted(webhooks: Webhooks) -> frozenset[bytes]:
    """The authorities in a webhook configuration."""
    found = json.loads(webhooks.plane.request("GET", CONFIGURATION).body)
    bundle = base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"])
    return frozenset(one.fingerprint(hashes.SHA256()) for one in x509.load_pem_x509_certificates(bundle))


def until_served(webhooks: Webhooks, before: int) -> int:
    """Create queues until another certificate is served; none may fail on the way, nor just afterwards."""
    deadline, serial = time.monotonic() + 30, before
    while serial == before:
        assert webhooks.answers()
        assert time.monotonic() < deadline, f"the certificate stayed the same:\n{webhooks.said()}"
        serial = webhooks.serial()
    for _ in range(20):
        assert webhooks.answers()
    return serial
