"""The viewers that there are: one for each token, closed a while after the last page has gone."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

from maar.apps.console.replies import RefusedError
from maar.apps.console.settings import ConsoleSettings
from maar.apps.console.shared_objects import SharedObjects
from maar.apps.console.viewer import Viewer
from maar.kube.api_server import ApiServer
from maar.kube.credentials import Credentials
from maar.kube.sources import CredentialsError, Proofs

CLOSE_AFTER_S: Final = 60.0
MOST: Final = 1_000
MOST_OF_A_TOKEN: Final = 20  # with other namespaces each
MOST_REQUESTS: Final = 100  # of a token, under way; each open page has one for its events
_LOOK_EVERY_S: Final = 5.0
_CONNECTIONS: Final = 16
_RETRY_TIMEOUT_S: Final = 2.0  # a person waits

OWN: Final = ""  # in place of a token: the console's own credentials


class TokenSource:
    """A token that somebody logged in with, for the console's own API server."""

    name = "the token of this session"

    def __init__(self, own: Credentials, token: str) -> None:
        self._own, self._token = own, token

    async def read(self, *, anew: bool) -> Proofs:
        """Give the token as long as it is accepted; no certificate of the console's goes with it."""
        if anew:
            raise CredentialsError("log in again")
        return replace(self._own.proofs, authorization=f"Bearer {self._token}", certificate=None, key=None)


@dataclass
class _Kept:
    token: str = field(repr=False)
    viewer: Viewer
    task: asyncio.Task[None]
    uses: int = 0
    used_at: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Whether another has to be made, since a token that was rejected may be good again."""
        return self.task.done() or bool(self.viewer.rejected)


class Viewers:
    """Finds the viewer of a token, or makes it."""

    def __init__(self, own: Credentials, settings: ConsoleSettings) -> None:
        self.own, self.settings = own, settings
        self._kept: dict[bytes, _Kept] = {}
        self._shared = SharedObjects()

    @asynccontextmanager
    async def of(self, token: str, namespaces: Sequence[str] = ()) -> AsyncIterator[Viewer]:
        """The viewer of a token, or of the console's own credentials, while it is used."""
        if sum(one.uses for one in self._kept.values() if one.token == token) >= MOST_REQUESTS:
            text = (
                f"{MOST_REQUESTS:,} pages or requests are open with this token; close a page, and try again"
            )
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, text)
        key = hashlib.sha256("\n".join((token, *namespaces)).encode()).digest()
        kept = self._kept.get(key)
        if kept is None or kept.is_over:
            self._make_room(token)
            viewer = await self._made(token, namespaces)
            kept = self._kept.get(key)  # another request may have made it meanwhile
            if kept is None or kept.is_over:
                kept = self._kept[key] = _Kept(token, viewer, asyncio.create_task(viewer.run()))
        kept.uses += 1
        try:
            yield kept.viewer
        finally:
            kept.uses -= 1
            kept.used_at = time.monotonic()

    def __iter__(self) -> Iterator[Viewer]:
        return iter([kept.viewer for kept in self._kept.values() if not kept.task.done()])

    async def run(self) -> None:
        """Close viewers that are no longer used, until cancelled; then close all."""
        try:
            while True:
                await asyncio.sleep(_LOOK_EVERY_S)
                now = time.monotonic()
                for kept in list(self._kept.values()):
                    if kept.task.done() or (not kept.uses and now - kept.used_at > CLOSE_AFTER_S):
                        self._drop(kept)
        finally:
            self.close()
            if tasks := [kept.task for kept in self._kept.values()]:
                await asyncio.wait(tasks)

    def close(self) -> None:
        """End all viewers, and with them the streams of their pages."""
        for kept in self._kept.values():
            kept.viewer.is_closed = True
            kept.viewer.stream.wake()
            kept.task.cancel()

    def _make_room(self, token: str) -> None:
        """Close the viewer that has been unused for longest, where there are as many as there may be."""
        everybody = list(self._kept.values())
        mine = [one for one in everybody if one.token == token]
        for most, rivals in ((MOST_OF_A_TOKEN, mine), (MOST, everybody)):
            if len(rivals) >= most:
                unused = [one for one in rivals if not one.uses]
                if not unused:
                    who = "with this token" if rivals is mine else "by all"
                    text = f"{most:,} lists of namespaces are looked at {who}; close a page, and try again"
                    raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, text)
                self._drop(min(unused, key=lambda one: one.used_at))

    def _drop(self, kept: _Kept) -> None:
        self._kept = {key: one for key, one in self._kept.items() if one is not kept}
        kept.task.cancel()

    async def _made(self, token: str, namespaces: Sequence[str]) -> Viewer:
        credentials = self.own
        if token != OWN:
            source = TokenSource(self.own, token)
            credentials = Credentials(source, await source.read(anew=False))
        api = ApiServer(credentials, connections=_CONNECTIONS, retry_timeout_s=_RETRY_TIMEOUT_S)
        return Viewer(api, self.settings, self._shared, namespaces)
