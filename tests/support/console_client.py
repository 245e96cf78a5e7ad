"""A console in this process, and a client that asks it as its page does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from maar.apps.console.place import take_place
from maar.apps.console.program import serve
from maar.apps.console.settings import ConsoleSettings
from maar.kube.credentials import load

Json = dict[str, Any]

PLAIN = ConsoleSettings()
WRITING = ConsoleSettings(allows_writes=True)


class Answered(NamedTuple):
    """The status and the body of an answer."""

    status: int
    body: Any


class ConsoleClient:
    """Asks a console."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self.session, self.address = session, address.partition("/open")[0].rstrip("/")

    async def get(self, path: str, **query: str) -> Answered:
        """Ask for something that must be JSON."""
        async with self.session.get(f"{self.address}{path}", params=query) as answer:
            return Answered(answer.status, await answer.json())

    async def post(self, path: str, body: object) -> Answered:
        """Send what a page would send."""
        headers = {"X-Maar-Console": "1", "Origin": self.address}
        async with self.session.post(f"{self.address}{path}", json=body, headers=headers) as answer:
            return Answered(answer.status, await answer.json())


@asynccontextmanager
async def console_of(
    kubeconfig: Path, *, token: str = "", namespaces: str = "", settings: ConsoleSettings = PLAIN
) -> AsyncIterator[ConsoleClient]:
    """A console with the kubeconfig's rights, or with those of a token that somebody logs in with."""
    settings = replace(settings, kubeconfig=kubeconfig, login="token" if token else "key", port=0)
    place = take_place(settings)
    with closing(place.socket):
        serving = asyncio.create_task(serve(settings, await load(kubeconfig), place))
        try:
            jar = aiohttp.CookieJar(unsafe=True)  # an address instead of a name
            async with aiohttp.ClientSession(cookie_jar=jar) as session:
                client = ConsoleClient(session, place.address)
                await _log_in(client, place.address, token, namespaces)
                yield client
            if serving.done():
                serving.result()
        finally:
            serving.cancel()
            await asyncio.wait((serving,))


async def _log_in(client: ConsoleClient, address: str, token: str, namespaces: str) -> None:
    if not token:
        async with client.session.get(address) as answer:
            assert answer.status == 200, await answer.text()
        return
    form = {"token": token, "namespaces": namespaces}
    headers = {"Origin": client.address}
    async with client.session.post(f"{client.address}/login", data=form, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
