"""Whose certificate a client has shown: applications find the name in the scope of each request."""

from pathlib import Path
from ssl import CERT_OPTIONAL, SSLContext, SSLError
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from maar.serving.http import Message

_EXTENSION: Final = "tls"  # and what it holds, as the ASGI specification names it
_NAME: Final = "client_cert_name"


class BadAuthorityError(ValueError):
    """A file that should have the authorities of clients, and has not."""


def ask_for_certificates(tls: SSLContext, authorities: Path) -> None:
    """Have clients show a certificate that one of these authorities has signed, or none."""
    try:
        tls.load_verify_locations(authorities)
    except (OSError, SSLError) as error:  # the latter is one of the former, and says no more than that
        raise BadAuthorityError(f"{authorities}: no certificates of authorities in PEM: {error}") from None
    tls.verify_mode = CERT_OPTIONAL  # whoever shows none learns from the answer that one is needed


def client_name(scope: Message) -> str | None:
    """The common name in the client's certificate, which has been verified; None where it showed none."""
    shown = cast(dict[str, dict[str, str]], scope.get("extensions") or {})
    return shown.get(_EXTENSION, {}).get(_NAME)


class CertifiedProtocol(HttpToolsProtocol):
    """A connection that says in each request whose certificate its client has shown."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        certificate: Any = self.transport.get_extra_info("peercert")
        if certificate:
            names = dict(pair for part in certificate.get("subject", ()) for pair in part)
            scope = cast(Message, self.scope)
            scope["extensions"] = {_EXTENSION: {_NAME: names.get("commonName", "")}}
