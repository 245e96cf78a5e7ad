"""Counting what happens on an API server, by when word of it arrives, at next to no cost to anybody."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import aiohttp
import msgspec

from maar.kube.credentials import Credentials
from support.until import TIMEOUT_S

METADATA_ALONE: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_LONG: Final = aiohttp.ClientTimeout(total=900)
_ADDED: Final = b'{"type":"ADDED"'

Count = Callable[[list[bytes]], int]


@dataclass
class Tally:
    """How many have come, and when the first and the last did."""

    count: int = 0
    first: float = 0.0
    last: float = 0.0
    _grown: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, number: int) -> None:
        """Count some that have just come."""
        if number:
            self.last = perf_counter()
            self.first = self.first or self.last
            self.count += number
            self._grown.set()

    async def reaches(self, number: int) -> None:
        """Wait until so many have come."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while self.count < number:
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError:
            raise TimeoutError(f"waited {TIMEOUT_S:.0f} s for {number}, and {self.count} came") from None

    @property
    def rate(self) -> float:
        """How many a second, from the first to the last."""
        return self.count / (self.last - self.first)


def session(credentials: Credentials, connections: int) -> aiohttp.ClientSession:
    """The barest client there is for an API server."""
    return aiohttp.ClientSession(
        credentials.proofs.server,
        connector=aiohttp.TCPConnector(limit=connections, ssl=credentials.tls),
        headers={
            "Authorization": credentials.proofs.authorization,
            "Content-Type": "application/json",
        },
        read_bufsize=2**20,
    )


@asynccontextmanager
async def counting(
    client: aiohttp.ClientSession, path: str, query: Mapping[str, str], count: Count
) -> AsyncIterator[Tally]:
    """Count changes from now on until the end of the block; only metadata is sent where that will do."""
    accept = {"Accept": METADATA_ALONE} if count is added else {}
    tally, is_open = Tally(), asyncio.Event()
    async with client.get(path, params={"limit": "1"}) as listed:
        listed.raise_for_status()
        version = msgspec.json.decode(await listed.read())["metadata"]["resourceVersion"]

    async def follow(version: str) -> None:
        while True:  # a server that is busy sends a slow watcher away, who then goes on from where it was
            watch = {**query, "watch": "true", "resourceVersion": version, "timeoutSeconds": "900"}
            async with client.get(path, params=watch, headers=accept, timeout=_LONG) as stream:
                stream.raise_for_status()
                is_open.set()
                rest = b""
                async for chunk in stream.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    tally.add(count(lines))
                    version = _version(lines[-1]) if lines else version

    following = asyncio.create_task(follow(version))
    opening = asyncio.create_task(is_open.wait())
    try:
        await asyncio.wait((following, opening), return_when=asyncio.FIRST_COMPLETED)
        yield tally
    finally:
        opening.cancel()
        if following.done():
            following.result()  # what ended the stream is why we waited in vain
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


def added(lines: list[bytes]) -> int:
    """How many objects have come to be among those that are asked for."""
    return sum(line.startswith(_ADDED) for line in lines)


class Reached:
    """How many objects have reached a phase for the first time."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self._there = set[str]()

    def __call__(self, lines: list[bytes]) -> int:
        """Read changes."""
        before = len(self._there)
        for line in lines:
            changed = _CHANGE.decode(line).object
            if changed.status.phase == self._phase:
                self._there.add(changed.metadata.name)
        return len(self._there) - before


def _version(line: bytes) -> str:
    return _CHANGE.decode(line).object.metadata.resource_version


class _Name(msgspec.Struct, rename="camel"):
    resource_version: str
    name: str = ""


class _Status(msgspec.Struct):
    phase: str = ""


class _Object(msgspec.Struct):
    metadata: _Name
    status: _Status = msgspec.field(default_factory=_Status)


class _Change(msgspec.Struct):
    object: _Object


_CHANGE: Final = msgspec.json.Decoder(_Change)
