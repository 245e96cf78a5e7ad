"""What sends a request has to promise, whichever way it goes."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from maar.kube.address import Address


class OutgoingRequest(NamedTuple):
    """What is asked of the server, and how long the answer may take."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float

    @property
    def is_write(self) -> bool:
        """Whether only who leads may send it."""
        return self.method != "GET"


class Reply(NamedTuple):
    """What the server answered, as far as anybody asks."""

    status: int
    body: bytes
    warnings: list[str]
    retry_after: str


class Sender(Protocol):
    """Sends requests to an API server: so many at a time, and a write only while this process may write.

    It raises NotSentError where the server has heard nothing of the request, another OSError where it may
    have, and FencedError.
    """

    async def ask(self, address: Address, request: OutgoingRequest) -> Reply:
        """Send a request and give what is answered, whatever that is."""
        ...

    async def close(self) -> None:
        """Leave no connection behind."""
        ...


class NotSentError(OSError):
    """There is no connection: the server has heard nothing of the request."""


class NotTrustedError(NotSentError):
    """Whoever answers there is not the server that we know."""
