"""The walks that answer somebody: a what-if, a page of the console, a write of kubectl."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from maar.apps.console.answers.routes import ROUTES
from maar.apps.console.guard import Guard
from maar.apps.console.pages import Entrance
from maar.apps.console.server import ConsoleServer
from maar.apps.console.sessions import Sessions
from maar.apps.console.settings import ConsoleSettings
from maar.apps.console.shared_objects import SharedObjects
from maar.apps.console.viewer import Viewer
from maar.apps.console.viewers import Viewers
from maar.core.answers.future import Present
from maar.core.answers.whatif.ask import what_if
from maar.core.answers.whatif.changes import SetField
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.embedded.access import ADMINISTRATOR
from maar.embedded.admission import InProcessAdmission
from maar.embedded.assembly import assemble
from maar.embedded.server import Server
from maar.embedded.store import Store
from maar.serving.http import Message, Receive, Send
from server_in_memory import Document, ServerInMemory, run_in_virtual_time, until_at_rest
from walks import Call, Recorder
from walks_of_daemons import cluster

_NOW: Final = 1_767_225_600.0
_KINDS: Final[tuple[type[Object], ...]] = (Namespace, Node, Queue, PodGroup, Pod)
_HOST: Final = "127.0.0.1"


class Application(Protocol):
    """What answers HTTP requests over ASGI."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one."""


def one_what_if() -> list[Call]:
    """What another weight of a queue would do."""
    kinds = {kind.plural: kind for kind in _KINDS}
    objects = tuple(
        from_document(kinds[resource.partition(".")[0]], document) for resource, document in cluster()
    )
    recorder = Recorder()
    with recorder.running():
        found = what_if(Present(objects, now=_NOW), [SetField("queue/a.weight", 2)])
    if found.text() == "":
        raise RuntimeError("there is no answer")
    return recorder.calls


def one_console_request() -> list[Call]:
    """The page of a queue, while the console follows the cluster."""
    return run_in_virtual_time(_console_request())


def one_kubectl_write() -> list[Call]:
    """The creation of a queue, as kubectl asks the embedded server for it."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        try:
            return run_in_virtual_time(_kubectl_write(store))
        finally:
            store.close()


async def _console_request() -> list[Call]:
    async with ServerInMemory(lambda _method, _target: None) as api:
        for resource, document in cluster():
            api.put(resource, document)
        settings = ConsoleSettings(login="token")
        viewers = _ViewersOf(api, settings)
        entrance = Entrance(viewers, Sessions("walk", is_secure=False), "")
        console = ConsoleServer(viewers, entrance, Guard((_HOST,)), ROUTES)
        await _answer(console, "GET", "/api/rows", "topics=jobs,nodes")
        await until_at_rest()
        recorder = Recorder()
        recorder.start()
        try:
            await _answer(console, "GET", "/api/queue", "name=a")
        finally:
            recorder.stop()
        viewers.close()
        await asyncio.sleep(0)
    return recorder.calls


async def _kubectl_write(store: Store) -> list[Call]:
    cluster = assemble(store, admit=InProcessAdmission(store))
    server = Server(cluster, {"walker": ADMINISTRATOR}, _no_logs)
    queue = {
        "apiVersion": Queue.api_version,
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {"weight": 1},
    }
    path, query = f"/apis/{Queue.api_version}/queues", "fieldManager=kubectl-create&fieldValidation=Strict"
    recorder = Recorder()
    recorder.start()
    try:
        await _answer(server, "POST", path, query, queue)
    finally:
        recorder.stop()
    return recorder.calls


class _ViewersOf(Viewers):
    """Viewers whose client is the one of the walk."""

    def __init__(self, api: ServerInMemory, settings: ConsoleSettings) -> None:
        super().__init__(api.credentials, settings)
        self._api = api

    async def _made(self, token: str, namespaces: Sequence[str]) -> Viewer:  # noqa: ARG002
        return Viewer(self._api, self.settings, SharedObjects(), namespaces)


async def _answer(
    application: Application, method: str, path: str, query: str, body: Document | None = None
) -> None:
    """Send a request; an answer that is no success ends the walk."""
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}

    async def send(message: Message) -> None:
        messages.append(message)

    headers = {
        b"authorization": b"Bearer walker",
        b"content-type": b"application/json",
        b"host": _HOST.encode(),
    }
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": list(headers.items()),
    }
    await application(scope, receive, send)
    if messages[0]["status"] not in (200, 201):
        raise RuntimeError(f"{method} {path}: {messages}")


async def _no_logs(_namespace: str, _name: str, _query: Mapping[str, str]) -> AsyncIterator[bytes]:
    raise NotImplementedError
