"""A watch of one kind: lists all objects, then feeds every change, and recovers from interruptions.

The problem. Kubernetes has a list, with a resource version, and a stream of changes since a
version. Streams end, connections break, servers forget versions, objects cannot be read, and the
answers to our own writes come over other connections, before or after the stream says the same. The
receiver must end up with what the server has, must not get an event twice, and must never go back
to an older state.

How it works. `_version` says how far the stream is; where it is empty everything is listed.
`_known` has the resource version of every object as it was fed last, so that after a list only the
differences are fed: what is new, what has another version, and what is gone. After a broken
connection or an overloaded server the same stream is asked for again; after any other refusal (410:
the version is forgotten), and after a line that makes no sense, it is surer to list. Pauses grow
until something comes.

Answers (`see`) are fed at once if they are newer than `_version`; the next decision need not wait
for the stream, and no status is written twice. What the stream has said by then is at least as new.

Invariants.
- What was fed, event after event, is what the server had at `_version`, apart from answers that are
  newer and objects that cannot be read.
- In a stream an object never goes back: what is older than the version fed last is left out.
- A list is taken as it is, whatever was known: a cluster may have got back an old copy of its data.
- An object that cannot be read is reported, and is as if it had not changed; it is not fed as
  deleted.
- `lag_s` is 0 only while a stream is open.

Why not otherwise? Feeding an answer without asking how far the stream is brought back a queue's old
weight, and queues that had been deleted; nothing corrected that later. Ignoring answers makes each
decision wait for its own echo. Listing everything every few minutes, to be safe, costs most where
the cluster is large. Resource versions are compared as numbers, as Kubernetes allows since 1.35;
where they are none, answers are ignored and the stream says it all, a little later. Decision record
20.
"""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, Literal

import msgspec

from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.kinds import BadObjectError, from_json, metadata_from_json
from maar.core.model.metadata import Record, Summary
from maar.core.model.whole_numbers import whole_number
from maar.kube.api_server import JSON, ApiServer
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.listing import read_pages, selection
from maar.kube.paths import resource_path_of
from maar.kube.retry import Backoff, jittered

LONGEST_S: Final = 600  # of one stream; then the server ends it and we ask for the next
SLACK_S: Final = 30
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1," + JSON

# After these the same stream can be asked for again; after all else it is surer to list.
_RESUMABLE: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
    }
)


class BadObject(Record, frozen=True):
    """An object that cannot be read; it is as if it had not changed, or had never come."""

    kind: str
    key: str
    problem: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key} cannot be read and is ignored until it changes: {self.problem}"


class Interruption(Record, frozen=True):
    """Changes stopped coming; the watch goes on by itself."""

    kind: str
    problem: str
    code: int = 0  # the HTTP status of a refusal; 0 where no answer came

    def __str__(self) -> str:
        return f"the watch of kind {self.kind} was interrupted and is retried: {self.problem}"


Trouble = BadObject | Interruption


def unless_repeated(pass_on: Callable[[Trouble], None]) -> Callable[[Trouble], None]:
    """Pass on what a watch reports, but not an attempt that fails like the one before."""
    last = ""

    def report(trouble: Trouble) -> None:
        nonlocal last
        if trouble.problem != last:
            last = trouble.problem
            pass_on(trouble)

    return report


class Watch:
    """The objects of a kind as events: `feed` gets them in batches, `report` what could not be read."""

    def __init__(
        self,
        server: ApiServer,
        kind: type[AnyObject],
        feed: Callable[[list[Event]], None],
        report: Callable[[Trouble], None],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
    ) -> None:
        self._server, self._kind, self._feed, self._report = server, kind, feed, report
        self._name = kind.kind_name()
        self._is_of_metadata = issubclass(kind, Summary)  # of the rest nothing is sent
        self._read = metadata_from_json if self._is_of_metadata else from_json
        self._path, self._selection = resource_path_of(kind).all(namespace), selection(labels, fields)
        self._known: dict[str, str] = {}  # what has been fed: the resource version by key
        self._version = ""  # where to go on; empty where everything has to be listed
        self._synced = asyncio.Event()
        self._behind_since: float | None = time.monotonic()

    @property
    def lag_s(self) -> float:
        """For how many seconds changes may have gone unseen: 0 while the server sends them to us."""
        return 0.0 if self._behind_since is None else time.monotonic() - self._behind_since

    async def synced(self) -> None:
        """Wait until all objects that were there at the start have been fed."""
        await self._synced.wait()

    def see(self, answer: AnyObject) -> None:
        """Feed an object from the answer to a write, unless the stream has come that far already.

        What the stream has fed by then is at least as new: another client may have changed the object
        again, or deleted it.
        """
        key, version = answer.key, answer.metadata.resource_version
        if self._version and _is_newer(version, self._version):
            self._known[key] = version
            self._feed([Upserted(object=answer)])

    async def run(self) -> None:
        """List, and follow, until cancelled."""
        backoff = Backoff()
        while True:
            wait_s = 0.0
            try:
                if not self._version:
                    await self._list()
                await self._follow(backoff)
            except (ApiError, UnansweredError) as error:
                if isinstance(error, ApiError) and error.code not in _RESUMABLE:
                    self._version = ""  # it has forgotten that one, or never heard of it
                wait_s = error.retry_after_s
                code = error.code if isinstance(error, ApiError) else 0
                self._report(Interruption(kind=self._name, problem=str(error), code=code))
            await asyncio.sleep(max(backoff.pause_s(), wait_s))

    async def _list(self) -> None:
        """Feed what is new or has changed since it was fed last, then what is gone."""
        seen = set[str]()
        accept = _METADATA_ONLY.format("List") if self._is_of_metadata else JSON

        def take(items: list[msgspec.Raw]) -> None:
            batch: list[Event] = []
            for item in items:
                key, _ = self._upsert(item, batch)
                seen.add(key)
            self._hand_over(batch)

        try:
            version = await read_pages(self._server, self._path, self._selection, take, accept=accept)
        except ApiError as error:
            if error.code != HTTPStatus.GONE:
                raise
            seen.clear()  # it has forgotten what the first pages were of: all have to come in one
            version = await read_pages(
                self._server, self._path, self._selection, take, limit=0, accept=accept
            )
        batch: list[Event] = []
        for key in [key for key in self._known if key not in seen]:
            self._delete(key, batch)
        self._hand_over(batch)
        self._version = version
        self._synced.set()

    async def _follow(self, backoff: Backoff) -> None:
        """Feed changes as they come, until the server ends the stream."""
        seconds = int(jittered(LONGEST_S))
        query = {
            **self._selection,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
        }
        accept = _METADATA_ONLY.format("") if self._is_of_metadata else JSON
        async with self._server.stream(self._path, query, seconds + SLACK_S, accept) as stream:
            self._behind_since = None
            try:
                async for lines in stream:
                    self._take(lines)
                    backoff.reset()
            finally:
                self._behind_since = time.monotonic()

    def _take(self, lines: list[bytes]) -> None:
        batch: list[Event] = []
        try:
            for line in lines:
                self._change(_CHANGE.decode(line), batch)
        except ApiError:
            self._version = ""  # from there the same would come again
            raise
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._version = ""
            raise UnansweredError(
                f"what came is no change of {self._path}: {error}", may_be_done=False
            ) from error
        finally:
            self._hand_over(batch)

    def _change(self, change: "_Change", batch: list[Event]) -> None:
        if change.type == "ERROR":
            raise ApiError.of(change.object)
        if change.type in ("ADDED", "MODIFIED"):
            _, version = self._upsert(change.object, batch, is_in_order=True)
        else:
            key, version = self._header(change.object)
            if change.type == "DELETED":
                self._delete(key, batch)
        self._version = version or self._version

    def _upsert(self, raw: msgspec.Raw, batch: list[Event], *, is_in_order: bool = False) -> tuple[str, str]:
        """Feed it unless this version, or a newer one, was fed; give its key and resource version."""
        try:
            found = self._read(self._kind, raw)
        except BadObjectError as error:
            key, version = self._header(raw)
            self._report(BadObject(kind=self._name, key=key, problem=str(error)))
            return key, version
        key, version = found.key, found.metadata.resource_version
        known = self._known.get(key, "")
        if known != version and not (is_in_order and _is_newer(known, version)):
            self._known[key] = version
            batch.append(Upserted(object=found))
        return key, version

    def _delete(self, key: str, batch: list[Event]) -> None:
        if self._known.pop(key, None) is not None:  # a bad object was never fed
            batch.append(Deleted(kind=self._name, key=key))

    def _header(self, raw: msgspec.Raw) -> tuple[str, str]:
        """The key and the resource version of an object that need not be readable; empty if it has none."""
        try:
            name = _HEADER.decode(raw).metadata
        except (msgspec.DecodeError, UnicodeDecodeError):
            return "", ""
        return self._kind.key_of(name.namespace, name.name), name.resource_version

    def _hand_over(self, batch: list[Event]) -> None:
        if batch:
            self._feed(batch)


def _is_newer(one: str, other: str) -> bool:
    """Whether a resource version is newer than another; Kubernetes' are numbers that grow."""
    new, old = whole_number(one), whole_number(other)
    return new is not None and old is not None and new > old


class _Change(Record, frozen=True):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class _Name(Record, frozen=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Header(Record, frozen=True):
    metadata: _Name = _Name()


_CHANGE: Final = msgspec.json.Decoder(_Change)
_HEADER: Final = msgspec.json.Decoder(_Header)
