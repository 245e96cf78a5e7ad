"""The embedded server in the process of a test, and requests to it without a socket."""

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from maar.embedded.access import ADMINISTRATOR
from maar.embedded.admission import InProcessAdmission
from maar.embedded.assembly import assemble
from maar.embedded.controllers.runner import Runner, all_controllers
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.server import Server
from maar.embedded.store import Store
from maar.serving.http import Message


@dataclass(frozen=True)
class Sent:
    """One request, and what kind of it for whoever counts them."""

    form: str
    method: str
    path: str
    query: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What came back."""

    code: int
    body: bytes
    headers: bytes

    def message(self) -> str:
        """What a Status says."""
        return str(json.loads(self.body)["message"])


class InProcessServer:
    """A server over a folder."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder)
        self.cluster = assemble(self.store, admit=InProcessAdmission(self.store))
        self.rounds = Runner(self.cluster, all_controllers())
        self._server = Server(self.cluster, {"secret": ADMINISTRATOR}, PodLogs(self.cluster, folder).read)

    async def send(self, request: Sent) -> Answer:
        """Send a request as the administrator."""
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": request.body}

        async def send(message: Message) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "method": request.method,
            "path": unquote(request.path),
            "query_string": request.query.encode(),
            "headers": [(b"authorization", b"Bearer secret"), *request.headers],
        }
        await self._server(scope, receive, send)
        assert [one["type"] for one in messages].count("http.response.start") == 1
        headers = b"\n".join(b": ".join(one) for one in messages[0]["headers"])
        return Answer(int(messages[0]["status"]), b"".join(one.get("body", b"") for one in messages), headers)

    def close(self) -> None:
        """Let go of the files."""
        self.store.close()


def sent(
    method: str, path: str, body: object = None, query: str = "", kind: bytes = b"application/json"
) -> Sent:
    """An ordinary request."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Sent("ordinary", method, path, query, ((b"content-type", kind),), data)
