"""An API server for walks: in the process of the client, in virtual time and in one thread."""

import asyncio
import json
import selectors
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, ParamSpec, Self, TypeVar

from maar.kube.address import Address
from maar.kube.api_server import JSON, ApiServer
from maar.kube.credentials import Credentials
from maar.kube.sender import OutgoingRequest, Reply
from maar.kube.sources import Proofs

Document = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")

_NOWHERE: Final = "http://127.0.0.1:1"
_CREATED: Final = "2026-01-01T00:00:00Z"
_REST_S: Final = 60.0  # of virtual time


class Target(NamedTuple):
    """What a path names: a resource, and an object and a part of it where the path goes on."""

    resource: str  # with its group, as in `queues.scheduling.volcano.sh`
    namespace: str = ""
    name: str = ""
    part: str = ""

    @classmethod
    def of(cls, path: str) -> "Target":
        """Read `/api/v1/namespaces/a/pods/p/binding`, `/apis/GROUP/VERSION/queues` and the like."""
        _, kind, group, *rest = path.partition("?")[0].split("/")
        rest = rest if kind == "api" else rest[1:]
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:  # noqa: PLR2004  # an object of the namespace follows
            _, namespace, *rest = rest
        plural, name, part, *_ = (*rest, "", "")
        return cls(plural if kind == "api" else f"{plural}.{group}", namespace, name, part)


class _Source:
    name = "the walk"

    async def read(self, *, anew: bool) -> Proofs:  # noqa: ARG002
        return _PROOFS


class ServerInMemory(ApiServer):
    """The real client, whose requests end here; objects are merged and watched as by a server."""

    def __init__(self, on_write: Callable[[str, Target], None]) -> None:
        super().__init__(Credentials(_Source(), _PROOFS))
        self._objects: dict[Target, Document] = {}
        self._watches: dict[str, list[asyncio.Queue[bytes]]] = defaultdict(list)
        self._revision, self._on_write = 0, on_write

    async def __aenter__(self) -> Self:
        self._requests = self
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def close(self) -> None:
        """Close nothing: there are no connections."""

    def put(self, resource: str, document: Document, change: str = "ADDED") -> Document:
        """Let an object be there, and tell its watches."""
        self._revision += 1
        metadata = document.setdefault("metadata", {})
        metadata.setdefault("uid", f"uid-{self._revision}")
        metadata.setdefault("creationTimestamp", _CREATED)
        metadata["resourceVersion"] = str(self._revision)
        self._objects[Target(resource, metadata.get("namespace", ""), metadata["name"])] = document
        line = json.dumps({"type": change, "object": document}).encode()
        for watch in self._watches[resource]:
            watch.put_nowait(line)
        return document

    def change(self, resource: str, namespace: str, name: str, patch: Document) -> Document:
        """Merge a patch into an object."""
        return self.put(
            resource, _merged(self._objects[Target(resource, namespace, name)], patch), "MODIFIED"
        )

    async def send(self, address: Address, request: OutgoingRequest) -> Reply:  # noqa: ARG002
        """Answer a request."""
        target = Target.of(request.path)
        if request.method != "GET":
            self._on_write(request.method, target)
        body = json.loads(request.body) if request.body else {}
        found = self._answer(request.method, target, body)
        status = 404 if found is None else 200
        return Reply(status, json.dumps(found or {"kind": "Status", "code": status}).encode(), [], "")

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], longest_silence_s: float, accept: str = JSON
    ) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """Watch a kind; the stream never ends."""
        del query, longest_silence_s, accept
        lines = asyncio.Queue[bytes]()
        self._watches[Target.of(path).resource].append(lines)

        async def arriving() -> AsyncIterator[list[bytes]]:
            while True:
                yield [await lines.get()]

        yield arriving()

    def _answer(self, method: str, target: Target, body: Document) -> Document | None:
        if method == "PATCH":
            return self.change(target.resource, target.namespace, target.name, body)
        if method == "POST":
            return self._created(target, body)
        if target.name:
            return self._objects.get(target)
        items = [one for place, one in self._objects.items() if place.resource == target.resource]
        return {"metadata": {"resourceVersion": str(self._revision)}, "items": items}

    def _created(self, target: Target, body: Document) -> Document:
        match target:
            case Target(resource="selfsubjectreviews.authentication.k8s.io"):
                return {**body, "status": {"userInfo": {"username": "walker"}}}
            case Target(resource="selfsubjectaccessreviews.authorization.k8s.io"):
                return {**body, "status": {"allowed": True}}
            case Target(part="binding"):
                node = {"spec": {"nodeName": body["target"]["name"]}}
                return self.change(target.resource, target.namespace, target.name, node)
            case Target(resource="podgroups.scheduling.volcano.sh"):
                body["status"] = {"phase": "Inqueue"}  # as the scheduler writes it a moment later
            case _:
                pass
        body["metadata"]["namespace"] = target.namespace
        return self.put(target.resource, body)


def run_in_virtual_time(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine: sleeping takes no time, and what it gives to threads is done at once."""
    with asyncio.Runner(loop_factory=_VirtualTimeLoop) as runner:
        return runner.run(work)


async def until_at_rest() -> None:
    """Let everything happen that follows from what happened before."""
    await asyncio.sleep(_REST_S)


class _VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its clock goes on to the next timer whenever there is nothing else to do."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_NoWaiting(self.pass_time))
        self.set_default_executor(_InThisThread())

    def time(self) -> float:
        return self._now

    def pass_time(self, seconds: float) -> None:
        self._now += seconds


class _NoWaiting(selectors.DefaultSelector):
    def __init__(self, pass_time: Callable[[float], None]) -> None:
        super().__init__()
        self._pass_time = pass_time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("the walk waits for what never comes")
        if not found and timeout:
            self._pass_time(timeout)
        return found


class _InThisThread(ThreadPoolExecutor):
    def submit(self, work: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> Future[T]:
        future = Future[T]()
        try:
            future.set_result(work(*given, **named))
        except Exception as error:  # noqa: BLE001  # whoever waits for it gets it
            future.set_exception(error)
        return future


def _merged(old: Document, patch: Document) -> Document:
    """A JSON merge patch."""
    new = dict(old)
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        else:
            new[name] = _merged(new.get(name) or {}, value) if isinstance(value, dict) else value
    return new


_PROOFS: Final = Proofs(
    server=_NOWHERE,
    namespace="default",
    authorization="",
    certificate_authority=None,
    certificate=None,
    key=None,
    is_server_checked=True,
    server_name=None,
    proxy=None,
)
