"""Answers with rows: who is looking, all rows, and the events that follow."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from maar.apps.console.replies import RefusedError, Reply, json_text
from maar.apps.console.viewer import Viewer
from maar.apps.version import __version__
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.whole_numbers import whole_number
from maar.core.views.console.live_rows import TOPICS, Topic
from maar.serving.http import HttpRequest, Receive

HEARTBEAT_S: Final = 15.0
SYNCED_WITHIN_S: Final = 20.0

_KINDS: Final[Mapping[str, type[Object]]] = {
    "queues": Queue,
    "podgroups": PodGroup,
    "jobs": Job,
    "pods": Pod,
    "nodes": Node,
}


async def me(viewer: Viewer, expires: float) -> Reply:
    """Say who is looking, and what they may see and do."""
    settings, rights = viewer.settings, viewer.rights
    return Reply(
        {
            "user": viewer.user,
            "cluster": viewer.api.credentials.proofs.server,
            "version": __version__,
            "now": time.time(),
            "writes": settings.allows_writes,
            "everywhere": {name: rights.everywhere(kind) for name, kind in _KINDS.items()},
            "namespaces": rights.namespaces,
            "leftOut": rights.left_out,
            "history": settings.history is not None or bool(settings.prometheus),
            "expires": expires,
        }
    )


async def rows(viewer: Viewer, request: HttpRequest) -> Reply:
    """Give all rows of some topics."""
    topics = topics_of(request)
    with suppress(TimeoutError):
        async with asyncio.timeout(SYNCED_WITHIN_S):
            await viewer.synced(topics)
    version, found = await viewer.snapshot(topics)
    parts = [b'"%b":%b' % (topic.encode(), found[topic]) for topic in topics]
    head = b'"version":%d,"problem":%b' % (version, json_text(viewer.problem))
    return Reply(b"{%b}" % b",".join([head, *parts]))


def topics_of(request: HttpRequest) -> tuple[Topic, ...]:
    """The topics that a request names; all where it names none."""
    named = [name for name in request.query.get("topics", "").split(",") if name] or list(TOPICS)
    unknown = [name for name in named if name not in TOPICS]
    if unknown:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"topics={unknown[0][:40]}: there are {', '.join(TOPICS)}")
    return tuple(topic for topic in TOPICS if topic in named)


def last_seen(request: HttpRequest) -> int:
    """The version that a page has; 0, which is never kept, where it says none."""
    return whole_number(request.header(b"last-event-id") or request.query.get("after", "")) or 0


async def events(
    viewer: Viewer, topics: Sequence[Topic], after: int, goes_on: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Give changes of rows, and of the connection to the API server, as they come."""
    said: str | None = None
    sent = time.monotonic()
    yield b"retry: 1000\n\n"
    while goes_on() and not viewer.rejected and not viewer.is_closed:
        stream, out = viewer.stream, b""
        if viewer.problem != said:
            said = viewer.problem
            out += b'event: state\ndata: {"problem":%b}\n\n' % json_text(said)
        new, after = stream.after(after, topics), stream.version
        out += b"id: %d\nevent: reset\ndata: {}\n\n" % after if new is None else new
        if not out and time.monotonic() - sent >= HEARTBEAT_S:
            out = b": still here\n\n"
        if out:
            yield out
            sent = time.monotonic()
        if stream.version == after and viewer.problem == said:
            await stream.news(HEARTBEAT_S)


async def hang_up(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
