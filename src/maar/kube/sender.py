"""The interface of what sends requests: directly, or through a proxy."""

import os
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from maar.kube.address import Address


class OutgoingRequest(NamedTuple):
    """A request to the server, and how long the answer may take."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float

    @property
    def is_write(self) -> bool:
        """Whether only the leader may send it."""
        return self.method != "GET"


class Reply(NamedTuple):
    """The parts of an answer that callers use."""

    status: int
    body: bytes
    warnings: list[str]
    retry_after: str


class Sender(Protocol):
    """Sends requests to an API server: so many at a time, and a write only while this process may write.

    It raises NotSentError where the server has not received the request, another OSError where it may
    have, and FencedError.
    """

    async def send(self, address: Address, request: OutgoingRequest) -> Reply:
        """Send a request and give the answer, whatever its status."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class NotSentError(OSError):
    """There is no connection: the server has not received the request."""


class NoProxyError(NotSentError):
    """There is no connection to the proxy, whatever the server does."""


class NotTrustedError(NotSentError):
    """The certificate of the server is not trusted."""


def not_connected(error: OSError) -> NotSentError:
    """Say why there is no connection in the words of the system, without addresses and numbers."""
    return NotSentError(f"cannot connect: {_why(error)}")


def no_proxy(proxy: str, error: OSError) -> NoProxyError:
    """Say why there is no connection to a proxy."""
    return NoProxyError(f"cannot connect to the proxy {proxy}: {_why(error)}")


def _why(error: OSError) -> str:
    number = error.errno or 0
    why = os.strerror(number).lower() if number > 0 else error.strerror or str(error)
    return why or "the server closed the connection"
