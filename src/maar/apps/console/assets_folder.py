"""The files of the page, read once: what is not among them cannot be asked for."""

import gzip
import hashlib
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

from maar.apps.console.replies import Header, RefusedError, Reply
from maar.serving.http import HttpRequest

FOLDER: Final = Path(__file__).parent / "assets"
PREFIX: Final = "/assets/"
_KINDS: Final = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".woff2": b"font/woff2",
}
_REVALIDATE: Final = (b"cache-control", b"no-cache")  # a new version of Maar is seen at once


class _Asset(NamedTuple):
    body: bytes
    packed: bytes
    headers: tuple[Header, ...]
    etag: str


class Assets:
    """The files of a folder by name."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {file.name: _read(file) for file in folder.iterdir() if file.suffix in _KINDS}

    def page(self, name: str, *headers: Header) -> Reply:
        """A page, which browsers do not keep."""
        return Reply(self._files[name].body, headers=(self._files[name].headers[0], _REVALIDATE, *headers))

    def reply_to(self, request: HttpRequest) -> Reply:
        """A file, or that it has not changed."""
        asset = self._files.get(request.path.removeprefix(PREFIX))
        if asset is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "the console has no such file")
        if request.method not in ("GET", "HEAD"):
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "files are read with GET")
        if asset.etag in request.header(b"if-none-match"):
            return Reply(b"", HTTPStatus.NOT_MODIFIED, asset.headers)
        if "gzip" in request.header(b"accept-encoding"):
            return Reply(asset.packed, headers=(*asset.headers, (b"content-encoding", b"gzip")))
        return Reply(asset.body, headers=asset.headers)


def _read(file: Path) -> _Asset:
    body = file.read_bytes()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = (
        (b"content-type", _KINDS[file.suffix]),
        _REVALIDATE,
        (b"etag", etag.encode()),
        (b"vary", b"accept-encoding"),
    )
    return _Asset(body, gzip.compress(body, 9), headers, etag)
