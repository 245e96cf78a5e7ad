"""Who may ask the webhooks: with --client-ca only an API server that shows its certificate, on a real one."""

import base64
import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from support.certificates import Signed
from support.needs_kubernetes import needs_kubernetes
from support.webhooks_process import QUEUES, Webhooks, queue, webhooks_beside

Json = dict[str, Any]

NAME: Final = "kube-apiserver"
CONFIGURATION: Final = "apiserver.config.k8s.io/v1"
WITHIN_S: Final = 60


def pem(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def shows(folder: Path, client: Signed) -> dict[str, str]:
    """The flags of an API server that shows a certificate to all webhooks."""
    certificate, key = client.write(folder)
    user = {"client-certificate-data": pem(certificate), "client-key-data": pem(key)}
    kubeconfig = folder / "kubeconfig.json"
    kubeconfig.write_text(
        json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]})
    )
    webhooks = {
        "apiVersion": CONFIGURATION,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    plugins = [
        {"name": name, "configuration": webhooks}
        for name in ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    ]
    file = folder / "admission.json"
    file.write_text(
        json.dumps({"apiVersion": CONFIGURATION, "kind": "AdmissionConfiguration", "plugins": plugins})
    )
    return {"admission-control-config-file": str(file)}


class Attacker:
    """A client beside the API server, with a certificate or without."""

    def __init__(self, webhooks: Webhooks, folder: Path, client: Signed | None = None) -> None:
        self._port = webhooks.port
        self._tls = ssl._create_unverified_context()  # noqa: S323, SLF001  it does not care whom it asks
        if client is not None:
            self._tls.load_cert_chain(*client.write(folder))

    def asks(self, path: str = "/queues/validate", body: bytes = b"no review at all") -> tuple[int, str]:
        """Send something; the status and what is answered."""
        made = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=WITHIN_S, context=self._tls)
        with closing(made) as connection:
            connection.request("POST" if body else "GET", path, body or None)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()


@pytest.fixture(scope="module")
def authority() -> Signed:
    return Signed.authority()


@pytest.fixture(scope="module")
def webhooks(tmp_path_factory: pytest.TempPathFactory, authority: Signed) -> Iterator[Webhooks]:
    needs_kubernetes()
    folder = tmp_path_factory.mktemp("clients")
    flags = shows(folder / "shown", authority.sign(NAME))
    file, _ = authority.write(folder / "authority")
    only = ("--client-ca", str(file), "--client-name", NAME)
    with webhooks_beside(folder, *only, api_server_flags=flags) as running:
        yield running


def test_the_api_server_is_answered(webhooks: Webhooks) -> None:
    refused = webhooks.plane.request("POST", QUEUES, queue("lost", parent="nowhere"))
    assert b"[queue-parent-exists]" in refused.body
    assert webhooks.plane.request("POST", QUEUES, queue("found")).status == 201


def test_who_shows_no_certificate_is_refused_before_the_body_is_read(
    webhooks: Webhooks, tmp_path: Path
) -> None:
    status, sentence = Attacker(webhooks, tmp_path).asks()
    assert status == 401
    assert "--client-ca" in sentence
    assert Attacker(webhooks, tmp_path).asks("/healthz", b"")[0] == 200


def test_who_has_another_name_is_refused(webhooks: Webhooks, tmp_path: Path, authority: Signed) -> None:
    status, sentence = Attacker(webhooks, tmp_path, authority.sign("system:node:n1")).asks()
    assert (status, "--client-name" in sentence) == (403, True)
    right = Attacker(webhooks, tmp_path, authority.sign(NAME))
    assert right.asks()[0] == 400  # it was read, and is no review


def test_who_has_a_certificate_of_another_authority_gets_no_connection(
    webhooks: Webhooks, tmp_path: Path
) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Attacker(webhooks, tmp_path, Signed.authority("other").sign(NAME)).asks()
