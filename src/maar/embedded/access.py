"""Access for clients: the server's certificate, tokens, and a kubeconfig with both."""

import base64
import os
import re
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from maar.embedded.calls import Caller
from maar.embedded.data_folder import DataFolderError, write_private
from maar.serving.certificates import Validity, alternatives, key_pem, new_key, server_certificate

ADMINISTRATOR: Final = Caller("maar-admin", ("system:masters", "system:authenticated"))

_VALID_FOR: Final = timedelta(days=397)  # what clients accept at most
_RENEW_BEFORE: Final = timedelta(days=30)
_TOKEN_PART: Final = re.compile(r"[!-~]+")
_SHORTEST_TOKEN: Final = 32
_TOKEN: Final = re.compile(rf"[!-~]{{{_SHORTEST_TOKEN},1000}}")


class BadSecretError(DataFolderError):
    """A file of secrets is empty, too short or damaged."""


class Certificate(NamedTuple):
    """The files that TLS is served with; the certificate signs itself."""

    certificate: Path
    key: Path


def token(folder: Path, name: str) -> str:
    """The token of a user, made at random the first time and kept."""
    path = folder / f"{name}.token"
    if not os.path.lexists(path):
        write_private(path, secrets.token_urlsafe(32).encode())
    again = f"a new token is made, and clients then need the new {folder / 'kubeconfig'}"
    found = _read(path, again).decode("ascii", "replace").strip()
    if not _TOKEN.fullmatch(found):
        size = "short" if len(found) < _SHORTEST_TOKEN else "long"
        what = f"too {size} ({len(found):,} characters)" if _TOKEN_PART.fullmatch(found) else "not a token"
        raise _damaged(path, what, again)
    return found


def certificate(folder: Path, hosts: tuple[str, ...]) -> Certificate:
    """A certificate for some hosts, made anew when it is about to expire or is for others.

    The key stays the same, so that there is never a moment at which the two files do not belong together, and
    clients that trust an earlier certificate of the key trust the next one.
    """
    files = Certificate(folder / "server.crt", folder / "server.key")
    both = f"new ones are made, and clients then need the new {folder / 'kubeconfig'}"
    if not os.path.lexists(files.key):
        if os.path.lexists(files.certificate):
            raise BadSecretError(
                f"{files.key} is missing, although {files.certificate} is there; put it back, or remove the"
                f" certificate and start again: {both}"
            )
        write_private(files.key, key_pem(new_key()))
    key = _read_key(files, both)
    if not (os.path.lexists(files.certificate) and _serves(_read_certificate(files, key), hosts)):
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise BadSecretError(
                f"{files.certificate} has expired or is not for {hosts[0]}, and {files.key} was not made by"
                f" Maar: put a certificate for {hosts[0]} there, or remove both files and start again: {both}"
            )
        validity = Validity(datetime.now(UTC), _VALID_FOR)
        write_private(files.certificate, server_certificate("maar", key, hosts, validity))
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


def _read(path: Path, again: str) -> bytes:
    try:
        found = path.read_bytes()
        path.chmod(0o600)
    except OSError as error:
        raise _damaged(path, f"not readable ({(error.strerror or str(error)).lower()})", again) from None
    if not found.strip():
        raise _damaged(path, "empty", again)
    return found


def _damaged(path: Path, what: str, again: str) -> BadSecretError:
    return BadSecretError(f"{path} is {what}; put it back from a copy, or remove it and start again: {again}")


def _read_key(files: Certificate, both: str) -> PrivateKeyTypes:
    again = f"remove {files.certificate.name} too, {both}"
    data = _read(files.key, again)
    try:
        return load_pem_private_key(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _damaged(files.key, "damaged: it is not a private key in PEM", again) from None


def _read_certificate(files: Certificate, key: PrivateKeyTypes) -> x509.Certificate:
    again = "a new one is made for the same key"
    try:
        found = x509.load_pem_x509_certificate(_read(files.certificate, again))
        is_of_key = found.public_key() == key.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise _damaged(files.certificate, "damaged: it is not a certificate in PEM", again) from None
    if not is_of_key:
        raise _damaged(files.certificate, f"not the certificate of {files.key.name}", again)
    return found


def _serves(found: x509.Certificate, hosts: tuple[str, ...]) -> bool:
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    fresh = found.not_valid_after_utc - datetime.now(UTC) > _RENEW_BEFORE
    return fresh and list(names) == alternatives(hosts)
