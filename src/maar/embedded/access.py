"""How clients get in: a certificate, tokens, and a kubeconfig that carries both."""

import base64
import ipaddress
import os
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from maar.embedded.calls import Caller

ADMINISTRATOR: Final = Caller("maar-admin", ("system:masters", "system:authenticated"))

_VALID_FOR: Final = timedelta(days=397)  # what clients accept at most
_RENEW_BEFORE: Final = timedelta(days=30)


class Certificate(NamedTuple):
    """The files that TLS is served with; the certificate signs itself."""

    certificate: Path
    key: Path


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    unfinished.replace(path)


def token(folder: Path, name: str) -> str:
    """The token of a user, made at random the first time and kept."""
    path = folder / f"{name}.token"
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32).encode())
    return path.read_text()


def certificate(folder: Path, hosts: tuple[str, ...]) -> Certificate:
    """A certificate for some hosts, made anew when it is about to expire or is for others."""
    files = Certificate(folder / "server.crt", folder / "server.key")
    if not _serves(files, hosts):
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "maar")])
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + _VALID_FOR)
            .add_extension(
                x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False
            )
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(key, hashes.SHA256())
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_private(files.key, private)
        write_private(files.certificate, made.public_bytes(Encoding.PEM))
    return files


def write_kubeconfig(path: Path, server: str, authority: bytes, token: str) -> None:
    """Write what kubectl needs to reach a server."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "maar",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(authority).decode(),
                },
            }
        ],
        "users": [{"name": "maar-admin", "user": {"token": token}}],
        "contexts": [{"name": "maar", "context": {"cluster": "maar", "user": "maar-admin"}}],
        "current-context": "maar",
    }
    write_private(path, msgspec.yaml.encode(config))


def _serves(files: Certificate, hosts: tuple[str, ...]) -> bool:
    if not (files.certificate.exists() and files.key.exists()):
        return False
    try:
        found = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    fresh = found.not_valid_after_utc - datetime.now(UTC) > _RENEW_BEFORE
    return fresh and list(names) == [_alternative(host) for host in hosts]


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
