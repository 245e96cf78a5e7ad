"""Requests and answers over ASGI, with the limits that keep one client from harming the others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Self, cast
from urllib.parse import parse_qsl, unquote

import msgspec

Message = MutableMapping[str, Any]  # ASGI's own type
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

PLAIN_TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")
_JSON: Final = (b"content-type", b"application/json")
_LONGEST_WARNINGS, _LONGEST_WARNING = 4 << 10, 256  # characters, of all and of each where that is too much


class BodyError(Exception):
    """A body that did not come whole: the HTTP status that says why (400, 408 or 413), and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


async def read_body(receive: Receive, largest: int, within_s: float) -> bytes:
    """The whole body of a request, within a limit of size and time."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(within_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BodyError(HTTPStatus.BAD_REQUEST, "the client left before")
                parts.append(cast(bytes, message.get("body", b"")))
                size += len(parts[-1])
                if size > largest:
                    raise BodyError(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {largest:,} bytes; send fewer"
                    )
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise BodyError(
            HTTPStatus.REQUEST_TIMEOUT, f"it took longer than {within_s:g} s; send it in one go"
        ) from None


@dataclass
class HttpRequest:
    """One request, read as far as its head."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[bytes, bytes]
    receive: Receive

    @classmethod
    def of(cls, scope: Message, receive: Receive) -> Self:
        """Read the head of a request."""
        text = cast(bytes, scope["query_string"]).decode("latin-1")
        query = dict(parse_qsl(text, keep_blank_values=True)) if text else {}
        return cls(scope["method"], unquote(scope["path"]), query, dict(scope["headers"]), receive)

    def header(self, name: bytes) -> str:
        """A header, or nothing."""
        return self.headers.get(name, b"").decode("latin-1")


async def answer(
    send: Send,
    body: bytes | object,
    status: int = HTTPStatus.OK,
    warnings: Iterable[str] = (),
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Send JSON, given as bytes or as plain values; another content type is one of the headers."""
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    more = [
        (b"warning", f'299 - "{_quoted(text)}"'.encode("latin-1", "replace")) for text in _short(warnings)
    ]
    names = {name for name, _ in headers}
    kind = [] if b"content-type" in names else [_JSON]
    length = (b"content-length", str(len(data)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*kind, length, *more, *headers]})
    await send({"type": "http.response.body", "body": data})


async def stream(send: Send, parts: AsyncIterator[bytes], content_type: bytes = b"application/json") -> None:
    """Send parts as they come."""
    headers = [(b"content-type", content_type), (b"cache-control", b"no-cache, private")]
    await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _short(warnings: Iterable[str]) -> list[str]:
    """Warnings as far as clients read them: long ones are cut where there are many, as Kubernetes does it."""
    distinct = list(dict.fromkeys(warnings))
    if sum(map(len, distinct)) <= _LONGEST_WARNINGS:
        return distinct
    short = [text[:_LONGEST_WARNING] for text in distinct[: _LONGEST_WARNINGS // _LONGEST_WARNING]]
    return [*short, f"and {len(distinct) - len(short)} more"] if len(distinct) > len(short) else short


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
