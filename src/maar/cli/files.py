"""Manifests that people keep in files: read whole folders, name what is wrong and where."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from maar.apps.snapshots.files import Snapshot, UnreadableSnapshotError, read
from maar.cli.documents import read_documents
from maar.core.model.kinds import BadObjectError, from_document, kind_of
from maar.core.model.metadata import Object
from maar.core.model.misspelt_kinds import misspelt
from maar.core.model.unread import unknown_fields

_SNAPSHOT: Final = (Snapshot.api_version, Snapshot.__name__)
_EVENT: Final = ("v1", "Event")


@dataclass(frozen=True)
class Manifests:
    """What was read: objects in the order of the files, what was left out, and what is wrong and where."""

    objects: list[Object] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)  # what is not in the objects, of each
    events: list[dict[str, object]] = field(default_factory=list)  # no decision needs them; people do
    left_out: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def read_manifests(paths: list[Path]) -> Manifests:
    """Read every document of files and folders, `-` being standard input."""
    manifests = Manifests()
    for path in paths:
        if not _take_snapshot(manifests, path):
            documents = read_documents([path])
            manifests.errors.extend(documents.errors)
            for place, document in documents.found:
                take_document(manifests, place, document)
    return manifests


def _take_snapshot(manifests: Manifests, path: Path) -> bool:
    """Take a whole snapshot as Maar writes it: a hundred times faster than what people write."""
    try:
        found = read(path) if path.is_file() else None
    except UnreadableSnapshotError as error:
        manifests.errors.append(f"{path}: {error}")
        return True
    if found is not None:
        manifests.snapshots.append(found[0])
        manifests.objects.extend(found[1])
    return found is not None


def take_document(manifests: Manifests, place: str, document: object) -> None:
    """Take one object; a bad one is reported and harms no other."""
    if not isinstance(document, dict) or "kind" not in document:
        manifests.errors.append(f"{place}: not an object of Kubernetes: it has no kind")
        return
    name = document["kind"]
    version = str(document.get("apiVersion", ""))
    kind = Snapshot if (version, name) == _SNAPSHOT else kind_of(version, str(name))
    if kind is None:
        if name == Snapshot.__name__ and version.startswith("maar.sh/"):
            manifests.errors.append(f"{place}: {UnreadableSnapshotError.of_another_version(version)}")
        if problem := misspelt(version, name):
            manifests.errors.append(f"{place}: {problem}")
        manifests.left_out[str(name)] += 1
        if (version, name) == _EVENT:
            manifests.events.append(document)
        return
    try:
        one = from_document(kind, document)
    except BadObjectError as error:
        manifests.errors.append(f"{place}: {name} {_name(document)}: {error}")
        return
    if isinstance(one, Snapshot):
        manifests.snapshots.append(one)
        return
    if not one.metadata.name:
        manifests.errors.append(f"{place}: {name}: metadata.name is missing")
        return
    manifests.objects.append(one)
    for unknown in unknown_fields(kind, document):
        manifests.warnings.append(f"{place}: {name} {one.key}: unknown field {unknown}")


def _name(document: dict[str, object]) -> str:
    metadata = document.get("metadata")
    return str(metadata.get("name", "without a name")) if isinstance(metadata, dict) else "without a name"
