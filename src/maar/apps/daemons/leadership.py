"""Leader election: one replica works, the others stand by with a complete view of the cluster."""

import asyncio
import logging
import os
import secrets
import socket
from typing import Final

from maar.kube.credentials import Credentials
from maar.kube.lease import Term, lead

_LOG: Final = logging.getLogger(__name__)


class LeaseLostError(Exception):
    """Another process holds the lease; what this one knows of its own writes may be wrong from now on."""


class Leadership:
    """Whether this process may decide and write: always, where there is no lease to hold."""

    def __init__(self, credentials: Credentials, lease: str) -> None:
        self._credentials, self._lease = credentials, lease
        self._term: Term | None = None
        self.identity = f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
        self.elected = asyncio.Event()
        if not lease:
            self.elected.set()

    def may_write(self) -> bool:
        """Whether we lead at this moment."""
        return not self._lease or (self._term is not None and self._term.holding())

    async def hold(self) -> None:
        """Stand by, lead, and release the lease when cancelled; losing it is an error."""
        if not self._lease:
            await asyncio.Event().wait()
        async with lead(self._credentials, self._lease, self.identity, report=_LOG.warning) as self._term:
            _LOG.info("leads, as %s", self.identity)
            self.elected.set()
            await self._term.lost()
        successor = self._term.successor
        why = f"{successor} holds it now" if successor else "another client has written or deleted it"
        raise LeaseLostError(f"the lease {self._lease} was lost: {why}; start this process again to stand by")
