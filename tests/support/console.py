"""A console in the process of a test, and requests to it over real connections."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from maar.apps.console.place import take_place
from maar.apps.console.program import serve, tls_of
from maar.apps.console.settings import ConsoleSettings
from maar.kube.credentials import load
from support.kubeconfigs import written

Json = dict[str, Any]

POSTED: Final = {"X-Maar-Console": "1", "Sec-Fetch-Site": "same-origin"}


@dataclass
class Answer:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever it is
        """The body, read."""
        return json.loads(self.body)


@dataclass
class ConsoleClient:
    """A browser, less its pages."""

    http: aiohttp.ClientSession
    address: str  # what the console says is to be opened
    origin: str

    async def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: bytes | Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; redirects are answers."""
        async with self.http.request(
            method, f"{self.origin}{path}", headers=headers, data=data, allow_redirects=False
        ) as response:
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str, **headers: str) -> Answer:
        """Read something."""
        return await self.send("GET", path, headers=headers)

    async def open(self) -> None:
        """Open the printed address."""
        answer = await self.get(self.address.removeprefix(self.origin))
        assert (answer.status, answer.headers["location"]) == (303, "/")

    async def login(self, token: str, namespaces: str = "") -> Answer:
        """Send the form of the login page."""
        form = {"token": token, "namespaces": namespaces}
        return await self.send("POST", "/login", headers={"Sec-Fetch-Site": "same-origin"}, data=form)

    async def rows(self, topic: str) -> dict[str, Json]:
        """All rows of a topic by key."""
        answer = await self.get(f"/api/rows?topics={topic}")
        assert answer.status == 200, answer.body
        return {one.get("key") or one["name"]: one for one in answer.json[topic]}

    async def events(
        self, after: int = 0, topics: str = "queues,jobs,nodes"
    ) -> AsyncIterator[tuple[str, Json]]:
        """What the console sends as it happens: the name of each event, and its data."""
        path = f"{self.origin}/api/events?after={after}&topics={topics}"
        async with self.http.get(path, timeout=aiohttp.ClientTimeout()) as response:
            assert response.status == 200, await response.read()
            name = ""
            async for raw in response.content:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))


@asynccontextmanager
async def running_console(
    kubeconfig: Path, settings: ConsoleSettings | None = None
) -> AsyncIterator[ConsoleClient]:
    """Serve a console, and be a client of it."""
    chosen = settings or ConsoleSettings(port=0)
    place = take_place(chosen)
    with closing(place.socket):
        serving = asyncio.create_task(serve(chosen, await load(kubeconfig), place, tls_of(chosen)))
        try:
            async with client_of(place.address, f"{place.scheme}://{chosen.host}:{place.port}") as client:
                yield client
        finally:
            serving.cancel()
            await asyncio.wait([serving])


@asynccontextmanager
async def client_of(address: str, origin: str) -> AsyncIterator[ConsoleClient]:
    """Another browser at the same console."""
    jar = aiohttp.CookieJar(unsafe=True)  # an address is a host like any other
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        yield ConsoleClient(http, address, origin)


def nowhere(folder: Path) -> Path:
    """A kubeconfig of a cluster that does not answer."""
    return written(folder / "nowhere.kubeconfig", "http://127.0.0.1:1")
