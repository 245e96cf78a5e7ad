"""Certificates that Maar makes: an authority, what it signs for a server, and one that signs itself."""

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SKEW: Final = timedelta(hours=1)  # clocks that are behind ours take a new certificate for valid too

_SIGNS: Final = x509.KeyUsage(
    digital_signature=True, key_cert_sign=True, crl_sign=False, content_commitment=False,
    key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
    decipher_only=False,
)  # fmt: skip
_AUTHORITY: Final = x509.BasicConstraints(ca=True, path_length=0)
_NO_AUTHORITY: Final = x509.BasicConstraints(ca=False, path_length=None)


class Authority(NamedTuple):
    """A certificate authority: the name in its certificate, and its key."""

    name: x509.Name
    key: ec.EllipticCurvePrivateKey


class Validity(NamedTuple):
    """From when a certificate holds, and how long."""

    now: datetime
    length: timedelta


def new_key() -> ec.EllipticCurvePrivateKey:
    """A key for one certificate."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A key as it stands in files."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def authority_certificate(subject: str, key: ec.EllipticCurvePrivateKey, validity: Validity) -> bytes:
    """The certificate of an authority, in PEM."""
    name = _name(subject)
    made = _builder(name, name, key, validity).add_extension(_AUTHORITY, critical=True)
    return _signed(made.add_extension(_SIGNS, critical=True), key)


def server_certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    hosts: Iterable[str],
    validity: Validity,
    authority: Authority | None = None,
) -> bytes:
    """A certificate for a server with some names, in PEM; without an authority it signs itself."""
    name = _name(subject)
    made = (
        _builder(name, authority.name if authority else name, key, validity)
        .add_extension(x509.SubjectAlternativeName(alternatives(hosts)), critical=False)
        .add_extension(_NO_AUTHORITY if authority else _AUTHORITY, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    if authority is None:
        return _signed(made, key)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return _signed(made.add_extension(issuer, critical=False), authority.key)


def alternatives(hosts: Iterable[str]) -> list[x509.GeneralName]:
    """Host names and addresses as certificates have them."""
    return [_alternative(host) for host in hosts]


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, validity: Validity
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.now - SKEW)
        .not_valid_after(validity.now + validity.length)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _signed(made: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _name(subject: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
