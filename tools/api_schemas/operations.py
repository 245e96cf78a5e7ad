"""What can be done with resources over HTTP, as OpenAPI lists it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from maar.embedded.resources import Resource

QUERIES: Final = {  # and their types
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "dryRun": "string",
    "fieldManager": "string",
    "fieldSelector": "string",
    "fieldValidation": "string",
    "follow": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "labelSelector": "string",
    "limit": "integer",
    "propagationPolicy": "string",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_LIST: Final = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "timeoutSeconds", "watch",
)  # fmt: skip
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE: Final = ("dryRun", "gracePeriodSeconds", "propagationPolicy")


@dataclass(frozen=True)
class Operation:
    """One method on one path."""

    path: str
    method: str
    action: str  # what Kubernetes calls it
    queries: tuple[str, ...]
    body: str = ""  # of the request: the kind itself, or another
    listed: bool = False  # answers with a list

    @property
    def places(self) -> tuple[str, ...]:
        """The parameters in the path."""
        return tuple(name for name in ("namespace", "name") if f"{{{name}}}" in self.path)


def operations(resource: Resource) -> Iterator[Operation]:
    """Everything that can be done with a resource."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    everywhere = f"{root}/{resource.version}/{resource.plural}"
    if resource.namespaced:
        collection = f"{root}/{resource.version}/namespaces/{{namespace}}/{resource.plural}"
        if "list" in resource.verbs:
            yield Operation(everywhere, "get", "list", _LIST, listed=True)
    else:
        collection = everywhere
    one, kind = f"{collection}/{{name}}", resource.kind
    found = {
        "list": Operation(collection, "get", "list", _LIST, listed=True),
        "create": Operation(collection, "post", "post", _WRITE, kind),
        "deletecollection": Operation(collection, "delete", "deletecollection", (*_DELETE, *_LIST)),
        "get": Operation(one, "get", "get", ("resourceVersion",)),
        "update": Operation(one, "put", "put", _WRITE, kind),
        "patch": Operation(one, "patch", "patch", (*_WRITE, "force"), kind),
        "delete": Operation(one, "delete", "delete", _DELETE, "DeleteOptions"),
    }
    for verb, operation in found.items():
        if verb in resource.verbs:
            yield operation
    for subresource in resource.subresources:
        yield from _below(f"{one}/{subresource}", subresource, kind)


def _below(path: str, subresource: str, kind: str) -> Iterator[Operation]:
    if subresource in ("binding", "eviction"):
        yield Operation(path, "post", "post", _WRITE, subresource.capitalize())
    elif subresource == "log":
        yield Operation(path, "get", "get", ("follow",))
    else:
        yield Operation(path, "get", "get", ("resourceVersion",))
        yield Operation(path, "put", "put", _WRITE, kind)
        yield Operation(path, "patch", "patch", (*_WRITE, "force"), kind)
