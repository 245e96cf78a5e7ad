"""The certificates of `maar webhooks` on a real API server: made, renewed, and shared by replicas."""

import asyncio
import base64
import json
import signal
import socket
from collections.abc import Iterator
from typing import Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from maar.kube.api_server import ApiServer
from maar.kube.certificates import CertificatesError, KeptKeys, Keys
from maar.kube.credentials import load
from support.balancer import Balancer
from support.needs_kubernetes import needs_kubernetes
from support.until import wait_until
from support.webhooks_process import CLUSTER_USER, CONFIGURATION, Webhooks, free_port, webhooks_beside

KEPT_IN: Final = "/api/v1/namespaces/maar-system/secrets/maar-webhooks"
SHARED: Final = ("maar-system/secrets/maar-webhooks", "default/secrets/shared")


@pytest.fixture(scope="module")
def webhooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhooks]:
    needs_kubernetes()
    with webhooks_beside(tmp_path_factory.mktemp("certificates")) as running:
        yield running


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


def test_replicas_stand_in_for_each_other_and_serve_the_same_certificate(webhooks: Webhooks) -> None:
    ports = {"first": free_port(), "second": free_port()}

    def start(name: str) -> None:
        at = ("--host", "127.0.0.1", "--port", str(ports[name]), *CLUSTER_USER)
        webhooks.start(*at, name=name)
        webhooks.plane.until(f"the {name} serves", lambda: is_served(ports[name]))

    def until_both_serve_another(before: int) -> int:
        """No review may fail while the certificate changes."""
        served = set[int]()

        def is_another() -> bool:
            assert webhooks.answers()
            served.clear()
            served.update(webhooks.serial(port) for port in ports.values())
            return len(served) == 1 and before not in served

        wait_until(lambda: f"{before} becomes another; served: {served}", is_another)
        return served.pop()

    webhooks.stop()
    try:
        with Balancer(webhooks.port, tuple(ports.values())) as service:
            for name in ports:
                start(name)
            serial = until_both_serve_another(0)
            webhooks.plane.kubectl("delete", "secret", "-n", "maar-system", "maar-webhooks")
            serial = until_both_serve_another(serial)
            webhooks.stop("first", signal.SIGKILL)
            webhooks.plane.until("it asks the other", webhooks.answers)
            assert all(webhooks.answers() for _ in range(20))
            webhooks.plane.kubectl("delete", "secret", "-n", "maar-system", "maar-webhooks")
            alone = until_served(webhooks, serial)
            start("first")
            assert until_both_serve_another(serial) == alone
            assert set(service.taken) == set(ports.values())
            for name in ports:
                webhooks.stop(name)
    finally:
        webhooks.start(*CLUSTER_USER)


def is_served(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


def test_certificates_are_renewed_before_they_end_without_a_restart(webhooks: Webhooks) -> None:
    webhooks.stop()
    assert webhooks.plane.request("DELETE", KEPT_IN).status == 200  # or what is there holds for months
    webhooks.start(*CLUSTER_USER, "--certificate-validity", "9s")
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
    serial = before

    def is_another() -> bool:
        nonlocal serial
        assert webhooks.answers()
        serial = webhooks.serial()
        return serial != before

    wait_until(lambda: f"another certificate is served:\n{webhooks.reported()}", is_another)
    for _ in range(20):
        assert webhooks.answers()
    return serial
