"""Connections of aiohttp: dropped when the peer is gone, and none left open at the end."""

import socket
import ssl
from typing import Final
from weakref import WeakSet

import aiohttp

from maar.kube.dialing import end_all, keep_alive
from maar.kube.sender import NotSentError, NotTrustedError, no_proxy, not_connected

CONNECT_TIMEOUT_S: Final = 5.0
READ_BUFFER: Final = 2**20  # bytes; lists are long
BROKEN: Final = (aiohttp.ClientError, TimeoutError)

_NOT_SENT: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_NOT_TRUSTED: Final = (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError)


class LastingConnector(aiohttp.TCPConnector):
    """Opens connections that detect a dead peer, and leaves none open when it is closed."""

    def __init__(self, limit: int, tls: ssl.SSLContext | bool) -> None:  # noqa: FBT001  # aiohttp's own
        super().__init__(limit=limit, ssl=tls, socket_factory=self._opened, keepalive_timeout=60)
        self._sockets = WeakSet[socket.socket]()

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close all connections; those that still wait for the TLS shutdown of the peer are aborted."""
        await super().close(abort_ssl=abort_ssl)
        await end_all(self._sockets)

    def _opened(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        opened = socket.socket(family, kind, protocol)
        self._sockets.add(opened)
        keep_alive(opened)
        return opened


def as_os_error(error: Exception) -> OSError:
    """Translate an error of aiohttp: what matters is whether the server may have received the request."""
    if isinstance(error, _NOT_TRUSTED):
        return NotTrustedError(str(error))
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return no_proxy(f"{error.host}:{error.port}", error.os_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return not_connected(error.os_error)
    if isinstance(error, _NOT_SENT):
        return NotSentError(str(error))
    return ConnectionError(str(error))
