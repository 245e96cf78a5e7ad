"""Requests and answers over ASGI, with the limits that keep one client from harming the others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import parse_qsl, unquote

import msgspec

from maar.core.model.whole_numbers import whole_number
from maar.embedded.calls import Call, Caller, Strictness
from maar.embedded.failures import ApiError, Json, bad_request, too_large
from maar.embedded.wire.decode import MEDIA_TYPE, decode
from maar.parsing.limits import DEEPEST, OBJECT, BadYamlError
from maar.parsing.plain_values import excess, may_exceed
from maar.parsing.yaml_composer import Repeated
from maar.parsing.yaml_documents import document

Message = MutableMapping[str, Any]  # ASGI's own type
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGEST_BODY: Final = 3 << 20
_BODY_WITHIN: Final = 30.0  # seconds
_JSON: Final = (b"content-type", b"application/json")
_YAML_TYPES: Final = ("application/yaml", "application/apply-patch+yaml")
_LONGEST_WARNINGS, _LONGEST_WARNING = 4 << 10, 256  # characters, of all and of each where that is too much
_STRICTNESS: Final = ("", "Ignore", "Warn", "Strict")


@dataclass
class Request:
    """One request, read as far as its head."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[bytes, bytes]
    receive: Receive
    caller: Caller
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, scope: Message, receive: Receive) -> "Request":
        """Read the head of a request; who asks is found out later."""
        text = cast(bytes, scope["query_string"]).decode("latin-1")
        query = dict(parse_qsl(text, keep_blank_values=True)) if text else {}
        return cls(
            scope["method"], unquote(scope["path"]), query, dict(scope["headers"]), receive, Caller("")
        )

    def header(self, name: bytes) -> str:
        """A header, or nothing."""
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def content_type(self) -> str:
        """The media type of the body without its parameters."""
        return self.header(b"content-type").partition(";")[0].strip().lower()

    def accepts(self, parameter: str) -> bool:
        """Whether the client takes a special form of the answer."""
        return parameter in self.header(b"accept").replace(" ", "")

    def flag(self, name: str) -> bool:
        """A query parameter that is true or not."""
        return self.query.get(name, "").lower() in ("true", "1")

    def number(self, name: str) -> int | None:
        """A query parameter that is a whole number, None where it is missing."""
        if not (found := self.query.get(name, "")):
            return None
        if (number := whole_number(found)) is None:
            raise bad_request(f'the query parameter {name}="{found[:80]}" must be a whole number')
        return number

    def call(self) -> Call:
        """How a write is asked for."""
        strictness = self.query.get("fieldValidation", "")
        if strictness not in _STRICTNESS:
            raise bad_request(f'invalid fieldValidation "{strictness}": must be Ignore, Warn or Strict')
        if self.query.get("dryRun", "All") != "All":
            raise bad_request(f'invalid dryRun "{self.query["dryRun"]}": must be All')
        agent = self.header(b"user-agent").partition("/")[0]
        return Call(
            caller=self.caller,
            manager=self.query.get("fieldManager") or agent or "unknown",
            dry_run="dryRun" in self.query,
            strictness=cast(Strictness, strictness or "Warn"),
            force=self.flag("force"),
            warnings=self.warnings,
        )

    async def body(self) -> bytes:
        """The whole body, within a limit of size and time."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(_BODY_WITHIN):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise bad_request("the client went away before the whole request had come")
                    part = cast(bytes, message.get("body", b""))
                    size += len(part)
                    if size > LARGEST_BODY:
                        raise too_large(f"limit is {LARGEST_BODY}")
                    parts.append(part)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise ApiError(
                HTTPStatus.REQUEST_TIMEOUT, "Timeout", f"the request did not come within {_BODY_WITHIN:.0f} s"
            ) from None

    async def value(self) -> object:
        """The body as plain values, from JSON, YAML or Kubernetes' binary form."""
        return self.read(await self.body())

    def read(self, data: bytes) -> object:
        """A body as plain values."""
        kind = self.content_type
        if kind == MEDIA_TYPE:
            return decode(data)
        if kind in _YAML_TYPES:
            return self.from_yaml(data)
        if kind and kind != "application/json" and not kind.endswith("+json"):
            raise ApiError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "UnsupportedMediaType",
                f"the body of the request was in an unknown format - accepted media types include:"
                f" application/json, application/yaml (not {kind})",
            )
        return from_json(data)

    def from_yaml(self, data: bytes) -> object:
        """A body as plain values; a key that is there twice is refused, a warning or nothing, as asked."""
        strictness = self.query.get("fieldValidation") or "Warn"
        if strictness == "Strict":
            return from_yaml(data, None)
        return from_yaml(data, self.warnings.append if strictness == "Warn" else lambda _: None)

    async def object(self) -> Json:
        """The body as one object."""
        return as_object(await self.value())


def as_object(value: object) -> Json:
    """Make sure that a value is an object."""
    if not isinstance(value, dict):
        raise bad_request(f"the body must be one object of Kubernetes, not {type(value).__name__}")
    return cast(Json, value)


def from_json(data: bytes) -> object:
    """Read JSON that a client sent."""
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        raise bad_request(f"the body is nested more than {DEEPEST} levels deep; make it flatter") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is not JSON: {error}") from None
    if may_exceed(data, OBJECT) and (problem := excess(value, OBJECT)):
        raise bad_request(f"the body is too large: {problem}")
    return value


def from_yaml(data: bytes, repeated: Repeated | None) -> object:
    """Read YAML that a client sent; JSON is YAML and quicker to read."""
    if data.startswith(b"{"):
        with suppress(ApiError):
            return from_json(data)
    try:
        return document(data, OBJECT, repeated)
    except BadYamlError as error:
        raise bad_request(f"the body is not YAML: {error}") from None


async def answer(
    send: Send,
    body: bytes | object,
    status: int = HTTPStatus.OK,
    warnings: Iterable[str] = (),
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Send JSON, given as bytes or as plain values."""
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
    told = list(dict.fromkeys(warnings))
    if sum(map(len, told)) <= _LONGEST_WARNINGS:
        return told
    short = [text[:_LONGEST_WARNING] for text in told[: _LONGEST_WARNINGS // _LONGEST_WARNING]]
    return [*short, f"and {len(told) - len(short)} more"] if len(told) > len(short) else short


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
