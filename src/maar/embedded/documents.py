"""What is asked of the server about itself: discovery and OpenAPI."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec

from maar.embedded import discovery
from maar.embedded.cluster import Served
from maar.embedded.failures import Json
from maar.embedded.http import ApiRequest
from maar.embedded.schema import openapi

_JSON: Final = b"application/json"


class Document(NamedTuple):
    """A page and its media type."""

    body: bytes
    content_type: bytes = _JSON


# Where kubectl finds a kind nowhere in OpenAPI v3, it looks here before it says so; v3 has all we know.
_BINARY_OPENAPI: Final = "application/com.github.proto-openapi.spec.v2"
_EMPTY_OPENAPI: Final = Document(
    b"\x0a\x032.0" + b"\x12\x0a\x0a\x04Maar\x12\x02v1" + b"\x42\x00",  # swagger, info, paths
    b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)


class Documents:
    """Pages that do not change while the server runs, made when first asked for."""

    def __init__(self, served: Sequence[Served]) -> None:
        self._resources = [one.resource for one in served]
        self._kinds = [(one.resource, one.schema) for one in served]
        self._openapi = cache(self._make_openapi)

    def find(self, request: ApiRequest) -> Document | None:
        """The page of a path."""
        path = request.path.rstrip("/")
        if path == "/openapi/v2" and request.accepts(_BINARY_OPENAPI):
            return _EMPTY_OPENAPI
        if path.startswith("/openapi/"):
            return self._openapi(path)
        if path in ("/api", "/apis") and request.accepts(discovery.AGGREGATED):
            page = discovery.aggregated(self._resources, legacy=path == "/api")
            kind = f"application/json;{discovery.AGGREGATED}".encode()
            return Document(msgspec.json.encode(page), kind)
        made = self._discovery(path)
        return None if made is None else Document(msgspec.json.encode(made))

    def _discovery(self, path: str) -> Json | None:
        parts = path.strip("/").split("/")
        pages: dict[tuple[str, int], Callable[[], Json]] = {
            ("api", 1): discovery.legacy_versions,
            ("apis", 1): lambda: discovery.group_list(self._resources),
            ("api", 2): lambda: discovery.resource_list(self._resources, "", parts[1]),
            ("apis", 2): lambda: discovery.group(self._resources, parts[1]),
            ("apis", 3): lambda: discovery.resource_list(self._resources, parts[1], parts[2]),
        }
        known = {(one.group, one.version) for one in self._resources}
        group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
        version = parts[-1] if len(parts) == (2 if parts[0] == "api" else 3) else ""
        if group and group not in {one for one, _ in known}:
            return None
        if version and (group, version) not in known:
            return None
        page = pages.get((parts[0], len(parts)))
        return None if page is None else page()

    def _make_openapi(self, path: str) -> Document | None:
        if path == "/openapi/v2":
            return Document(openapi.v2(self._kinds))
        if path == "/openapi/v3":
            return Document(openapi.index(self._kinds))
        place = path.removeprefix("/openapi/v3/").split("/")
        known = {(one.group, one.version) for one in self._resources}
        group, version = ("", place[-1]) if place[0] == "api" else ("/".join(place[1:-1]), place[-1])
        if (group, version) not in known:
            return None
        return Document(openapi.v3(f"{group}/{version}" if group else version, self._kinds))
