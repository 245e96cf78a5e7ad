"""Certificates made by Maar: an authority and what it signs, kept in a Secret that replicas share."""

import base64
import binascii
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from maar.core.model.metadata import Record
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone
from maar.kube.paths import ResourcePath
from maar.kube.write import create, get
from maar.kube.write import replace as put
from maar.serving.certificates import (
    SKEW,
    Authority,
    Validity,
    authority_certificate,
    key_pem,
    new_key,
    server_certificate,
)

VALID_FOR: Final = timedelta(days=90)
OVERLAP: Final = timedelta(hours=1)  # how long an authority is trusted after another has taken its place

_SECRETS: Final = ResourcePath("v1", "secrets", namespaced=True)
_AUTHORITY_OUTLIVES: Final = 10  # certificates
_ATTEMPTS: Final = 5  # of replicas that renew at the same moment all but one come too late
_UNREADABLE: Final = (ValueError, TypeError, x509.ExtensionNotFound, InvalidSignature, UnsupportedAlgorithm)


class CertificatesError(Exception):
    """The certificates cannot be read or stored."""


@dataclass(frozen=True)
class Keys:
    """An authority and the certificate that it has signed for a server, with their keys, all in PEM."""

    authority: bytes
    authority_key: bytes = field(repr=False)  # keys never stand in a log
    certificate: bytes
    key: bytes = field(repr=False)
    previous: bytes = b""  # the authority before this one: another replica may still serve by it

    @property
    def ends(self) -> datetime:
        """When the certificate that is served expires."""
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc

    def trusted(self, now: datetime) -> bytes:
        """The authorities that clients have to trust now."""
        valid_from = x509.load_pem_x509_certificate(self.authority).not_valid_before_utc + SKEW
        return self.authority + (self.previous if now < valid_from + OVERLAP else b"")


def renewed(
    keys: Keys | None, hosts: Collection[str], now: datetime, valid_for: timedelta = VALID_FOR
) -> Keys:
    """The same keys while they are good; else with a new certificate or, where it ends soon, a new authority.

    A certificate is renewed when a third of its time is left, an authority while it can still sign one.
    """
    read = None if keys is None else _read(keys)
    if keys is None or read is None or read.authority.not_valid_after_utc < now + 2 * valid_for:
        return _made(hosts, now, valid_for, previous=keys.authority if keys is not None and read else b"")
    if read.certificate.not_valid_after_utc < now + valid_for / 3:
        return _signed(keys, hosts, now, valid_for)
    names = _names(read.certificate)
    if not names.issuperset(hosts):
        return _signed(
            keys, names.union(hosts), now, valid_for
        )  # the names of other replicas too, or each would replace the certificate of the other
    return keys


class KeptKeys:
    """Keys in a Secret: the first replica to read it creates them, and any replica renews them when due."""

    def __init__(
        self, server: ApiServer, key: str, hosts: Collection[str], valid_for: timedelta = VALID_FOR
    ) -> None:
        self._server, self._key, self._hosts, self._valid_for = server, key, hosts, valid_for
        self._last: Keys | None = None

    async def look(self) -> Keys:
        """The current keys; where the Secret was deleted, new ones that keep trusting the old authority."""
        for _ in range(_ATTEMPTS):
            found = await get(self._server, _SECRETS, self._key)
            if not isinstance(found, Done | Gone):
                raise CertificatesError(f"the Secret {self._key} cannot be read: {found.message}")
            there = _SECRET.decode(found.body) if isinstance(found, Done) else None
            kept = None if there is None else _unpacked(there)
            keys = renewed(kept, self._hosts, datetime.now(UTC), self._valid_for)
            if kept is None and self._last is not None:
                keys = replace(keys, previous=self._last.authority)
            if keys == kept or await self._keep(keys, there):
                self._last = keys
                return keys
        raise CertificatesError(
            f"the Secret {self._key} changes faster than it can be written; see who else writes it"
        )

    async def _keep(self, keys: Keys, there: "_Secret | None") -> bool:
        """Write them, unless another replica has written first."""
        namespace, name = _SECRETS.split(self._key)
        metadata = {"name": name, "namespace": namespace}
        document: dict[str, object] = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": metadata,
            "data": _packed(keys),
        }
        if there is None:
            outcome = await create(self._server, _SECRETS, self._key, document)
        else:
            metadata["resourceVersion"] = there.metadata.resource_version
            outcome = await put(self._server, _SECRETS, self._key, document)
        if isinstance(outcome, Gone) and there is None:
            raise CertificatesError(
                f"there is no namespace {namespace}; kubectl create namespace {namespace}"
            )
        if not isinstance(outcome, Done | Conflict | Gone):
            raise CertificatesError(f"the Secret {self._key} cannot be written: {outcome.message}")
        return isinstance(outcome, Done)


class _Version(Record, frozen=True):
    resource_version: str = ""


class _Secret(Record, frozen=True):
    metadata: _Version = _Version()
    data: dict[str, str] | None = None


_SECRET: Final = msgspec.json.Decoder(_Secret)
_FIELDS: Final = {
    "ca.crt": "authority", "ca.key": "authority_key", "tls.crt": "certificate", "tls.key": "key",
    "previous.crt": "previous",
}  # fmt: skip


def _packed(keys: Keys) -> dict[str, str]:
    return {name: base64.b64encode(getattr(keys, part)).decode() for name, part in _FIELDS.items()}


def _unpacked(secret: _Secret) -> Keys | None:
    data = secret.data or {}
    try:
        return Keys(**{part: base64.b64decode(data.get(name, "")) for name, part in _FIELDS.items()})
    except binascii.Error:
        return None


class _Certificates(NamedTuple):
    authority: x509.Certificate
    certificate: x509.Certificate


def _read(keys: Keys) -> _Certificates | None:
    """The certificates; nothing where they are unreadable or do not belong together."""
    try:
        read = _Certificates(
            *(x509.load_pem_x509_certificate(one) for one in (keys.authority, keys.certificate))
        )
        read.certificate.verify_directly_issued_by(read.authority)
        _names(read.certificate)
        pairs = ((read.authority, keys.authority_key), (read.certificate, keys.key))
        belong = all(load_pem_private_key(key, None).public_key() == one.public_key() for one, key in pairs)
    except _UNREADABLE:
        return None
    return read if belong else None


def _made(hosts: Iterable[str], now: datetime, valid_for: timedelta, previous: bytes) -> Keys:
    key = new_key()
    authority = authority_certificate("maar authority", key, Validity(now, _AUTHORITY_OUTLIVES * valid_for))
    return _signed(Keys(authority, key_pem(key), b"", b"", previous), hosts, now, valid_for)


def _signed(keys: Keys, hosts: Iterable[str], now: datetime, valid_for: timedelta) -> Keys:
    signer = load_pem_private_key(keys.authority_key, None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise CertificatesError(
            "ca.key was not created by Maar; delete the Secret, and Maar creates a new one"
        )
    authority = Authority(x509.load_pem_x509_certificate(keys.authority).subject, signer)
    key, validity = new_key(), Validity(now, valid_for)
    certificate = server_certificate("maar webhooks", key, sorted(hosts), validity, authority)
    return replace(keys, certificate=certificate, key=key_pem(key))


def _names(certificate: x509.Certificate) -> set[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(one.value) for one in found}
