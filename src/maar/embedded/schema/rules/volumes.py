"""Rules for the volumes of a pod and what is in them."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields, amount
from maar.embedded.schema.words import duplicate, forbidden, invalid, judged, required, unsupported

_LARGEST_MODE: Final = 0o777
_BAD_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_REQUIRED: Final = {  # what a volume cannot be without
    "configMap": ("name",),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate",),
    "hostPath": ("path",),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "secret": ("secretName",),
}
_NO_SOURCES: Final = frozenset({"capacity", "claimRef", "nodeAffinity"})  # of a persistent volume


def volumes(found: Sequence[Fields], field: str) -> Iterator[Cause]:
    """The volumes of a pod."""
    taken: set[str] = set()
    for place, volume in enumerate(found):
        path, name = f"{field}[{place}]", volume.get("name", "")
        if not name:
            yield required(f"{path}.name")
        elif problems := names.label(name):
            yield from judged(f"{path}.name", name, problems)
        if name and name in taken:
            yield duplicate(f"{path}.name", name)
        taken.add(name)
        yield from sources(volume, path)


def inner_path(path: str, field: str) -> Iterator[Cause]:
    """A path that must stay below where it begins."""
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    if ".." in path.split("/"):
        yield invalid(field, path, "must not contain '..'")


def sources(volume: Fields, field: str) -> Iterator[Cause]:
    """Where what is in a volume comes from; there is one place."""
    kinds = [kind for kind, one in volume.items() if isinstance(one, dict) and kind not in _NO_SOURCES]
    for kind in kinds[1:]:
        yield forbidden(f"{field}.{kind}", "may not specify more than 1 volume type")
    for kind in kinds[:1]:
        yield from _source(kind, volume[kind], f"{field}.{kind}")


def _source(kind: str, source: Fields, field: str) -> Iterator[Cause]:
    for key in _REQUIRED.get(kind, ()):
        if not source.get(key):
            yield required(f"{field}.{key}")
    if kind == "hostPath" and source.get("path"):
        if ".." in source["path"].split("/"):
            yield invalid(f"{field}.path", source["path"], "must not contain '..'")
        if source.get("type", "") not in _PATH_TYPES:
            yield unsupported(f"{field}.type", source["type"], _PATH_TYPES)
    if kind == "nfs" and not source.get("path", "").startswith("/"):
        yield invalid(f"{field}.path", source.get("path", ""), "must be an absolute path")
    if kind == "emptyDir" and amount(source.get("sizeLimit", "0")).nanos < 0:
        yield forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")
    if (mode := source.get("defaultMode")) is not None and not 0 <= mode <= _LARGEST_MODE:
        yield invalid(f"{field}.defaultMode", mode, _BAD_MODE)
    for place, item in enumerate(source.get("items") or ()):
        yield from _item(kind, item, f"{field}.items[{place}]")


def _item(kind: str, item: Fields, field: str) -> Iterator[Cause]:
    if kind != "downwardAPI" and not item.get("key"):
        yield required(f"{field}.key")
    if not item.get("path"):
        yield required(f"{field}.path")
    else:
        yield from inner_path(item["path"], f"{field}.path")
    if (mode := item.get("mode")) is not None and not 0 <= mode <= _LARGEST_MODE:
        yield invalid(f"{field}.mode", mode, _BAD_MODE)
