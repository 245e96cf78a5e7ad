"""Reading all objects of a kind, page after page; the server prepares the next while we read the last.

A page is read in small parts: in between, what has come of the next one is received, and others
have their turns.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from maar.core.model.kinds import BadObjectError, ObjectT, from_json
from maar.core.model.metadata import Record
from maar.kube.api_server import JSON, ApiServer
from maar.kube.errors import UnansweredError
from maar.kube.paths import resource_path_of

PAGE: Final = 1_000  # objects; an API server takes longer for many small pages
_PART: Final = 250  # objects; reading them holds up the others for some milliseconds
TIMEOUT_S: Final = 60.0  # for a page, or for all where pages are not to be had


class PageMetadata(Record, frozen=True):
    """The metadata of a page."""

    resource_version: str = ""
    following: str = msgspec.field(default="", name="continue")


class Page(Record, frozen=True):
    """Some of the objects, unread, and where to go on."""

    metadata: PageMetadata = PageMetadata()
    items: list[msgspec.Raw] | None = None


def selection(labels: str = "", fields: str = "") -> dict[str, str]:
    """The part of a query that says which objects are meant."""
    return {name: text for name, text in (("labelSelector", labels), ("fieldSelector", fields)) if text}


async def read_pages(
    server: ApiServer,
    path: str,
    query: Mapping[str, str],
    take: Callable[[list[msgspec.Raw]], None],
    limit: int = PAGE,
    accept: str = JSON,
) -> str:
    """Hand over the objects part by part; give the resource version that all of them are of."""
    asked = asyncio.create_task(_page(server, path, {**query, "limit": str(limit)}, accept))
    try:
        while True:
            page = await asked
            if page.metadata.following:
                next_query = {**query, "limit": str(limit), "continue": page.metadata.following}
                asked = asyncio.create_task(_page(server, path, next_query, accept))
                await asyncio.sleep(0)  # it is on its way before we start to read
            items = page.items or []
            for start in range(0, len(items), _PART):
                take(items[start : start + _PART])
                await asyncio.sleep(0)
            if not page.metadata.following:
                return page.metadata.resource_version
    finally:
        asked.cancel()


async def objects(
    server: ApiServer,
    kind: type[ObjectT],
    bad: Callable[[BadObjectError], None],
    *,
    namespace: str = "",
    labels: str = "",
    fields: str = "",
) -> list[ObjectT]:
    """Read all objects of a kind, once; a bad one harms only itself."""
    found: list[ObjectT] = []

    def take(items: list[msgspec.Raw]) -> None:
        for item in items:
            try:
                found.append(from_json(kind, item))
            except BadObjectError as error:
                bad(error)

    await read_pages(server, resource_path_of(kind).all(namespace), selection(labels, fields), take)
    return found


async def _page(server: ApiServer, path: str, query: Mapping[str, str], accept: str) -> Page:
    data = await server.request("GET", path, query, timeout_s=TIMEOUT_S, accept=accept)
    try:
        return _PAGE.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnansweredError(f"what came from {path} is no list: {error}", may_be_done=False) from error


_PAGE: Final = msgspec.json.Decoder(Page)
