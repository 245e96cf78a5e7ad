"""Keys for the ssh plugin of jobs: made here, because the core has no random numbers."""

from typing import Final

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from maar.core.job_plugins.plugin import SshKey

_EXPONENT: Final = 65_537
_BITS: Final = 2_048


def new_ssh_key() -> SshKey:
    """A pair of keys of its own for a job."""
    key = rsa.generate_private_key(_EXPONENT, _BITS)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return SshKey(private.decode(), public.decode() + "\n")
