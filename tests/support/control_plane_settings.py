"""What the programs of a control plane are told: ports, flags and credentials."""

import base64
import json
import random
import secrets
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

LOOPBACK: Final = "127.0.0.1"
# Below those of outgoing connections, which could take the port of a server that is stopped for a while.
PORTS: Final = range(20_000, 32_000)
QUICKLY: Final = {
    "kube-api-qps": "5000",
    "kube-api-burst": "5000",
}  # the defaults spare the API server


class Settings:
    """Flags for every program, all of them on loopback and below one folder."""

    def __init__(self, folder: Path) -> None:
        self.port, self.etcd_port, self._etcd_peer_port = _free_ports(3)
        self.token: Final = secrets.token_hex(16)
        self.kubeconfig: Final = folder / "kubeconfig"
        self.etcd_data: Final = folder / "etcd"
        self.certificate: Final = folder / "certificates" / "apiserver.crt"
        self.certificate_key: Final = self.certificate.with_suffix(".key")
        self._tokens = _write_secret(folder / "tokens.csv", f'{self.token},admin,admin,"system:masters"\n')
        self._signing_key = _write_secret(folder / "service-accounts.key", _private_key())

    def write_kubeconfig(self) -> None:
        """Write the administrator's kubeconfig, once the API server has made its certificate."""
        authority = base64.b64encode(self.certificate.read_bytes()).decode()
        cluster = {"server": f"https://{LOOPBACK}:{self.port}", "certificate-authority-data": authority}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "maar", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": "maar", "context": {"cluster": "maar", "user": "admin"}}],
            "current-context": "maar",
        }
        _write_secret(self.kubeconfig, json.dumps(config))

    def etcd(self) -> dict[str, str]:
        """One member that does not wait for the disk."""
        client, peer = (f"http://{LOOPBACK}:{port}" for port in (self.etcd_port, self._etcd_peer_port))
        return {
            "data-dir": str(self.etcd_data),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "unsafe-no-fsync": "true",
            "quota-backend-bytes": str(8 << 30),
        }

    def api_server(self, *, service_accounts: bool) -> dict[str, str]:
        """RBAC and one administrator; pods have service accounts only where a controller makes those."""
        flags = {
            "etcd-servers": f"http://{LOOPBACK}:{self.etcd_port}",
            "secure-port": str(self.port),
            "bind-address": LOOPBACK,
            "advertise-address": LOOPBACK,
            "endpoint-reconciler-type": "none",  # which would refuse an address on loopback
            "cert-dir": str(self.certificate.parent),
            "token-auth-file": str(self._tokens),
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": str(self._signing_key),
            "service-account-signing-key-file": str(self._signing_key),
            "service-cluster-ip-range": "10.0.0.0/24",
            "shutdown-watch-termination-grace-period": "1s",  # or it waits a minute for its watchers to leave
        }
        return flags if service_accounts else {**flags, "disable-admission-plugins": "ServiceAccount"}

    def controllers(self, *, kubelets: bool) -> dict[str, str]:
        """All controllers, but where no kubelet renews its lease none that would take its node for dead."""
        return {
            "kubeconfig": str(self.kubeconfig),
            "leader-elect": "false",
            "secure-port": "0",
            "service-account-private-key-file": str(self._signing_key),
            "root-ca-file": str(self.certificate),
            "controllers": "*" if kubelets else "*,-node-lifecycle-controller",
            **QUICKLY,
        }

    def scheduler(self) -> dict[str, str]:
        """The scheduler of Kubernetes, for pods that do not ask for Maar."""
        return {"kubeconfig": str(self.kubeconfig), "leader-elect": "false", "secure-port": "0", **QUICKLY}

    def kwok(self, stages: Path | None) -> dict[str, str]:
        """Virtual kubelets on all nodes; what they do is in a file of stages, or left to KWOK."""
        flags = {"kubeconfig": str(self.kubeconfig), "manage-all-nodes": "true", "node-ip": LOOPBACK}
        return {**flags, "config": str(stages)} if stages else flags


def _free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on."""
    free = list[int]()
    with ExitStack() as held:
        while len(free) < count:
            port = random.choice(PORTS)
            with suppress(OSError):
                held.enter_context(socket.socket()).bind((LOOPBACK, port))
                free.append(port)
    return free


def _private_key() -> str:
    """A private key on the curve P-256, in the form of RFC 5915: a number between two constants."""
    number = secrets.randbits(255).to_bytes(32)  # below the order of the curve
    key = bytes.fromhex("30310201010420") + number + bytes.fromhex("a00a06082a8648ce3d030107")
    return f"-----BEGIN EC PRIVATE KEY-----\n{base64.encodebytes(key).decode()}-----END EC PRIVATE KEY-----\n"


def _write_secret(file: Path, text: str) -> Path:
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
    return file
