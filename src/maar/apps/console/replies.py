"""Answers of the console, and refusals as sentences."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec

from maar.apps.console.viewer import Viewer
from maar.core.model.kinds import to_json
from maar.serving.http import PLAIN_TEXT, HttpRequest

Header = tuple[bytes, bytes]

NO_STORE: Final = (b"cache-control", b"no-store")
_LONGEST_PATH: Final = 100


@dataclass(frozen=True)
class Reply:
    """An answer: plain values become JSON, bytes stay as they are."""

    body: bytes | object
    status: int = HTTPStatus.OK
    headers: tuple[Header, ...] = ()

    def encoded(self) -> bytes:
        """The body as it is sent."""
        return self.body if isinstance(self.body, bytes) else to_json(self.body)


Handler = Callable[[Viewer, HttpRequest], Awaitable[Reply]]


class RefusedError(Exception):
    """A request that is refused: the HTTP status, and sentences that say why and what to do."""

    def __init__(self, status: int, *sentences: str) -> None:
        super().__init__("; ".join(sentences))
        self.status, self.sentences = status, sentences


def refusal(request: HttpRequest, status: int, sentences: Iterable[str]) -> Reply:
    """A refusal as the page reads it, or as a person does."""
    lines = list(sentences)
    if request.path.startswith("/api/"):
        return Reply({"error": lines[0], "sentences": lines}, status)
    return Reply("\n".join([*lines, ""]).encode(), status, (PLAIN_TEXT, NO_STORE))


def unknown(request: HttpRequest, known: Iterable[tuple[str, str]]) -> RefusedError:
    """There is no such path, or it takes another method."""
    path = request.path[:_LONGEST_PATH]
    methods = sorted(method for method, one in known if one == request.path)
    if methods:
        sentence = f"{path} takes a {' or '.join(methods)}, not a {request.method[:_LONGEST_PATH]}"
        return RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, sentence)
    return RefusedError(HTTPStatus.NOT_FOUND, f"{path!r} is not a path of the console; open / in a browser")


def redirect(place: str, *headers: Header) -> Reply:
    """Have the browser go elsewhere."""
    location = (b"location", place.encode())
    return Reply(b"", HTTPStatus.SEE_OTHER, (location, PLAIN_TEXT, NO_STORE, *headers))


def json_text(text: str) -> bytes:
    """A text as JSON."""
    return msgspec.json.encode(text)
