"""Version, discovery and OpenAPI of the server, generated beforehand."""

from functools import cache
from hashlib import sha512
from typing import Final, NamedTuple

import msgspec

from maar.embedded.failures import Json
from maar.embedded.http import ApiRequest
from maar.embedded.schema.builtin import generated

_KUBERNETES_MINOR: Final = 36  # whose API is spoken, as far as it goes
VERSION: Final[Json] = {
    "major": "1",
    "minor": str(_KUBERNETES_MINOR),
    "gitVersion": f"v1.{_KUBERNETES_MINOR}.0+maar",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}

_AGGREGATED: Final = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_INDEX: Final = "/openapi/v3"


class Document(NamedTuple):
    """A page and its media type."""

    body: bytes
    content_type: bytes = b"application/json"


# Where kubectl finds a kind nowhere in OpenAPI v3, it looks here before it says so; v3 has all we know.
_BINARY_OPENAPI: Final = "application/com.github.proto-openapi.spec.v2"
_EMPTY_OPENAPI: Final = Document(
    b"\x0a\x032.0" + b"\x12\x0a\x0a\x04Maar\x12\x02v1" + b"\x42\x00",  # swagger, info, paths
    b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)


def find(request: ApiRequest) -> Document | None:
    """The page that a request asks for."""
    path, documents = request.path.rstrip("/"), generated()
    if path == "/openapi/v2" and request.accepts(_BINARY_OPENAPI):
        return _EMPTY_OPENAPI
    if path == _INDEX:
        return Document(index())
    if (place := path.removeprefix(f"{_INDEX}/")) in documents.openapi:
        return Document(openapi(place))
    if path in documents.aggregated and request.accepts(_AGGREGATED):
        return Document(bytes(documents.aggregated[path]), f"application/json;{_AGGREGATED}".encode())
    return Document(bytes(documents.discovery[path])) if path in documents.discovery else None


@cache
def openapi(place: str) -> bytes:
    """The document of a group and version, with all types that it refers to."""
    known = generated()
    found = known.openapi[place]
    return msgspec.json.encode(
        {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": f"v1.{_KUBERNETES_MINOR}"},
            "paths": found.paths,
            "components": {"schemas": {name: known.types[name] for name in found.types}},
        }
    )


@cache
def index() -> bytes:
    """Where the documents are; an address changes with what is there, so that a client may keep it."""
    return msgspec.json.encode(
        {
            "paths": {
                place: {
                    "serverRelativeURL": f"{_INDEX}/{place}?hash={sha512(openapi(place)).hexdigest().upper()}"
                }
                for place in generated().openapi
            }
        }
    )
