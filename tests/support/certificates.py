"""Certificates that hold for a test: an authority, and what it signs."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Signed:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def authority(cls, name: str = "authority") -> Self:
        """An authority that signs itself."""
        return cls._of(name, None)

    def sign(self, name: str) -> "Signed":
        """A certificate for a server on loopback or for a client of that name."""
        return self._of(name, self)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the certificate and the key; give where."""
        certificate, key = folder / "tls.crt", folder / "tls.key"
        folder.mkdir(exist_ok=True)
        certificate.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        key.write_bytes(
            self.key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return certificate, key

    @classmethod
    def _of(cls, name: str, issuer: "Signed | None") -> Self:
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.certificate.subject if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName(
                    [x509.DNSName(name), x509.IPAddress(ip_address("127.0.0.1"))]
                    if issuer
                    else [x509.DNSName(name)]
                ),
                critical=False,
            )
            .sign(issuer.key if issuer else key, hashes.SHA256())
        )
        return cls(certificate, key)
