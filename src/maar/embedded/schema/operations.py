"""What can be done with resources over HTTP, as OpenAPI lists it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from maar.embedded.resources import Resource

QUERIES: Final = {
    "allowWatchBookmarks": ("boolean", "Whether a watch also tells of versions at which nothing happened."),
    "continue": ("string", "Where a list goes on, as told with its beginning."),
    "dryRun": ("string", "All, where nothing shall be stored."),
    "fieldManager": ("string", "Who makes the change."),
    "fieldSelector": ("string", "Conditions on fields of the objects."),
    "fieldValidation": ("string", "What to do about unknown fields: Ignore, Warn or Strict."),
    "follow": ("boolean", "Whether to go on and tell what is written from now on."),
    "force": ("boolean", "Whether to take fields from other managers."),
    "gracePeriodSeconds": ("integer", "How long the object may take to go."),
    "labelSelector": ("string", "Conditions on labels of the objects."),
    "limit": ("integer", "How many objects to list at most."),
    "propagationPolicy": (
        "string",
        "What becomes of what the object owns: Orphan, Background or Foreground.",
    ),
    "resourceVersion": ("string", "The version to list or to watch from."),
    "resourceVersionMatch": ("string", "How the version is meant: Exact or NotOlderThan."),
    "timeoutSeconds": ("integer", "How long to watch."),
    "watch": ("boolean", "Whether to go on and tell of changes."),
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
