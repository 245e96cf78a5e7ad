"""Reading objects: one, a list in pages, and a watch."""

import base64
import binascii
import heapq
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple, cast

import msgspec

from maar.core.model.whole_numbers import whole_number
from maar.embedded.cluster import Cluster, Served
from maar.embedded.failures import ApiError, Json, bad_request
from maar.embedded.http import ApiRequest
from maar.embedded.routes import Target
from maar.embedded.selectors import Selects, by_fields, by_labels, everything
from maar.embedded.store import Change, Key
from maar.embedded.tables import Include, Tables

_BOOKMARK_EVERY: Final = 30.0  # seconds
_WATCH_FOR: Final = 2_700.0  # seconds, where the client names none
_SCANNED_AT_ONCE: Final = 1_000
_TABLE: Final = "as=Table"


class Found(NamedTuple):
    """One page of a list: objects as JSON, and where the next page begins."""

    bodies: list[bytes]
    after: tuple[str, str] | None


class Reader:
    """Answers what is asked about the objects of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.store

    def get(self, target: Target, request: ApiRequest) -> bytes | Json:
        """One object, or its row."""
        body = self._cluster.get(target.served.resource.qualified, target.namespace, target.name)
        if request.accepts(_TABLE):
            version = str(self._store.revision)
            return self._tables(target).table(
                [_decoded(body)], {"resourceVersion": version}, _include(request)
            )
        return body

    def list(self, target: Target, request: ApiRequest) -> bytes | Json:
        """A list, or a page of one; pages tell the revision of the first, from which a watch can go on."""
        resource, limit = target.served.resource, request.number("limit") or 0
        revision, after = _begin(request.query.get("continue", ""), self._store.revision)
        found = self._page(target, _selects(target, request), after, limit, revision)
        metadata: Json = {"resourceVersion": str(revision)}
        if found.after is not None:
            metadata["continue"] = _token(revision, found.after)
            if not _selective(request) and revision == self._store.revision:
                rest = self._store.count(resource.qualified, target.namespace or None, found.after)
                metadata["remainingItemCount"] = rest
        if request.accepts(_TABLE):
            return self._tables(target).table(map(_decoded, found.bodies), metadata, _include(request))
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
        bodies = found.bodies if resource.custom else _without_kind(found.bodies, target.served)
        return b"".join((msgspec.json.encode(head)[:-1], b',"items":[', b",".join(bodies), b"]}"))

    def matching(self, target: Target, request: ApiRequest) -> Sequence[Json]:
        """All objects that a request selects."""
        return [_decoded(body) for body in self._page(target, _selects(target, request), ("", ""), 0).bodies]

    def watch(self, target: Target, request: ApiRequest) -> AsyncIterator[bytes]:
        """Changes as they happen; what is wrong with the request is said before the first one."""
        start = request.query.get("resourceVersion", "")
        since = whole_number(start)
        if start and since is None:
            raise bad_request(
                f'invalid resourceVersion "{start}": must be a number that a list or watch gave'
            )
        initial = request.flag("sendInitialEvents")
        if initial and not request.flag("allowWatchBookmarks"):
            raise bad_request("sendInitialEvents needs allowWatchBookmarks")
        seconds = request.number("timeoutSeconds")
        lines = _Lines(self._tables(target) if request.accepts(_TABLE) else None, _include(request), target)
        return self._follow(
            target,
            _selects(target, request),
            lines,
            since=None if initial or not since else since,
            bookmarks=request.flag("allowWatchBookmarks"),
            announce=initial,
            deadline=time.monotonic() + (_WATCH_FOR if seconds is None else seconds),
        )

    async def _follow(
        self,
        target: Target,
        selects: Selects,
        lines: "_Lines",
        *,
        since: int | None,
        bookmarks: bool,
        announce: bool,
        deadline: float,
    ) -> AsyncIterator[bytes]:
        namespace, begin = target.namespace, self._store.revision if since is None else since

        def wanted(change: Change) -> bool:
            return not namespace or change.key.namespace == namespace

        try:
            with self._cluster.history.watch(target.served.resource.qualified, begin, wanted) as subscription:
                if since is None:
                    for body in self._page(target, selects, ("", ""), 0).bodies:
                        yield lines.event("ADDED", body)
                    if announce:
                        yield lines.bookmark(begin, initial=True)
                while (left := deadline - time.monotonic()) > 0:
                    changes = await subscription.next(min(left, _BOOKMARK_EVERY))
                    if parts := [line for change in changes if (line := lines.change(change, selects))]:
                        yield b"".join(parts)
                    if bookmarks and not changes:
                        # Nothing is queued, no other task has run since: every change has been sent.
                        yield lines.bookmark(self._store.revision)
                    if subscription.closed and not changes:
                        return
        except ApiError as error:
            yield msgspec.json.encode({"type": "ERROR", "object": error.status()}) + b"\n"

    def _page(
        self,
        target: Target,
        selects: Selects,
        after: tuple[str, str],
        limit: int,
        revision: int | None = None,
    ) -> Found:
        bodies: list[bytes] = []
        for namespace, name, body in self._rows(target, after, limit, revision):
            if limit and len(bodies) == limit:
                return Found(bodies, after)
            if selects is everything or selects(_decoded(body)):
                bodies.append(body)
            after = (namespace, name)
        return Found(bodies, None)

    def _rows(
        self, target: Target, after: tuple[str, str], limit: int, revision: int | None
    ) -> Iterator[tuple[str, str, bytes]]:
        """Objects in order, as they were at a revision; the pages of one list are all of the same."""
        plural, namespace = target.served.resource.qualified, target.namespace or None
        if revision is None or revision == self._store.revision:
            yield from self._stored(plural, namespace, after, limit + 1 if limit else 0)
            return
        then = self._cluster.history.undone(plural, revision)
        changed = sorted(
            (key.namespace, key.name, body)
            for key, body in then.items()
            if body is not None and key[1:] > after and namespace in (None, key.namespace)
        )
        same = (
            row
            for row in self._stored(plural, namespace, after, 0)
            if Key(plural, row[0], row[1]) not in then
        )
        yield from heapq.merge(same, changed)

    def _stored(
        self, plural: str, namespace: str | None, after: tuple[str, str], first: int
    ) -> Iterator[tuple[str, str, bytes]]:
        """Objects as they are now, a few at a time; `first` is how many will probably do."""
        while True:
            at_once = min(first, _SCANNED_AT_ONCE) or _SCANNED_AT_ONCE
            rows = self._store.page(plural, namespace, after, at_once)
            yield from rows
            if len(rows) < at_once:
                return
            after = rows[-1][:2]

    def _tables(self, target: Target) -> Tables:
        return Tables(target.served.resource, self._cluster.clock)


class _Lines:
    """The lines of one watch: events as the client wants them shown."""

    def __init__(self, tables: Tables | None, include: Include, target: Target) -> None:
        self._tables, self._include, self._resource = tables, include, target.served.resource
        self._header = True

    def change(self, change: Change, selects: Selects) -> bytes | None:
        """A change as the selected objects see it: one that no longer matches is gone for the watcher."""
        type_ = change.type
        if selects is not everything:
            before = change.before is not None and selects(_decoded(change.before))
            after = change.type != "DELETED" and selects(_decoded(change.body))
            if not before and not after:
                return None
            type_ = "MODIFIED" if before and after else "ADDED" if after else "DELETED"
        return self.event(type_, change.body)

    def event(self, type_: str, body: bytes) -> bytes:
        """One line."""
        if self._tables is not None:
            value = _decoded(body)
            version = cast(Json, value["metadata"])["resourceVersion"]
            shown = {"resourceVersion": version}
            table = self._tables.table([value], shown, self._include, header=self._header)
            self._header = False
            body = msgspec.json.encode(table)
        return b'{"type":"%b","object":%b}\n' % (type_.encode(), body)

    def bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        """A line that only says how far the watch has come."""
        metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        if self._tables is not None:
            value: Json = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "rows": []}
        else:
            value = {
                "kind": self._resource.kind,
                "apiVersion": self._resource.api_version,
                "metadata": metadata,
            }
        return msgspec.json.encode({"type": "BOOKMARK", "object": value}) + b"\n"


def _without_kind(bodies: list[bytes], served: Served) -> Iterator[bytes]:
    """In a list of a built-in kind only the list says what its items are."""
    start = served.identity
    for body in bodies:
        yield b"{" + body[len(start) :] if body.startswith(start) else body


def _selective(request: ApiRequest) -> bool:
    return bool(request.query.get("labelSelector") or request.query.get("fieldSelector"))


def _selects(target: Target, request: ApiRequest) -> Selects:
    tests: list[Callable[[Json], bool]] = [
        test
        for test in (
            by_labels(request.query.get("labelSelector", "")),
            by_fields(request.query.get("fieldSelector", ""), target.served.resource.qualified),
        )
        if test is not everything
    ]
    if target.name:
        name = target.name
        tests.append(lambda value: cast(Json, value["metadata"])["name"] == name)
    if not tests:
        return everything
    return lambda value: all(test(value) for test in tests)


def _include(request: ApiRequest) -> Include:
    asked = request.query.get("includeObject", "Metadata")
    if asked not in ("None", "Metadata", "Object"):
        raise bad_request(f'invalid includeObject "{asked}": must be None, Metadata or Object')
    return cast(Include, asked)


def _decoded(body: bytes) -> Json:
    return cast(Json, msgspec.json.decode(body))


def _token(revision: int, after: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([revision, *after])).decode()


def _begin(token: str, revision: int) -> tuple[int, tuple[str, str]]:
    if not token:
        return revision, ("", "")
    try:
        at, namespace, name = msgspec.json.decode(base64.urlsafe_b64decode(token), type=tuple[int, str, str])
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        raise bad_request("continue key is not valid: start the list anew without it") from None
    if at > revision:
        raise ApiError(
            HTTPStatus.GONE, "Expired", "the continue token is from another time: start the list anew"
        )
    return at, (namespace, name)
