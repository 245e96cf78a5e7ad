"""The objects of a cluster from files or from a program: what is wrong is named, with its place."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from maar.api.documents import read_documents
from maar.api.errors import InputError
from maar.apps.snapshots.configuration import from_recorded
from maar.apps.snapshots.files import Snapshot, UnreadableSnapshotError, read
from maar.core.model.kinds import BadObjectError, from_document, kind_of
from maar.core.model.metadata import Object
from maar.core.model.misspelt_kinds import misspelt
from maar.core.model.unread import unknown_fields
from maar.core.policy.configuration import BadConfigurationError, Configuration

_SNAPSHOT: Final = (Snapshot.api_version, Snapshot.__name__)
_EVENT: Final = ("v1", "Event")
_NEEDED: Final = (
    "a cluster is Nodes, Queues, PodGroups and Pods, as "
    "kubectl get nodes,queues,podgroups,pods -A -o yaml prints them"
)

Source = str | PathLike[str] | Mapping[str, object] | Iterable[Object | Mapping[str, object]]


@dataclass(frozen=True)
class Manifests:
    """What was read: objects in order, what was left out, and what is wrong and where."""

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
            for place, document in documents.placed:
                take_document(manifests, place, document)
    return manifests


def _take_snapshot(manifests: Manifests, path: Path) -> bool:
    """Take a whole snapshot as Maar writes it: a hundred times faster than what people write."""
    try:
        snapshot = read(path) if path.is_file() else None
    except UnreadableSnapshotError as error:
        manifests.errors.append(f"{path}: {error}")
        return True
    if snapshot is not None:
        manifests.snapshots.append(snapshot[0])
        manifests.objects.extend(snapshot[1])
    return snapshot is not None


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
        read_object = from_document(kind, document)
    except BadObjectError as error:
        manifests.errors.append(f"{place}: {name} {_name(document)}: {error}")
        return
    if isinstance(read_object, Snapshot):
        manifests.snapshots.append(read_object)
        return
    if not read_object.metadata.name:
        manifests.errors.append(f"{place}: {name}: metadata.name is missing")
        return
    manifests.objects.append(read_object)
    for unknown in unknown_fields(kind, document):
        manifests.warnings.append(f"{place}: {name} {read_object.key}: unknown field {unknown}")


def _name(document: dict[str, object]) -> str:
    metadata = document.get("metadata")
    return str(metadata.get("name", "without a name")) if isinstance(metadata, dict) else "without a name"


def check(manifests: Manifests) -> None:
    """Refuse manifests with errors, and those that have nothing to plan with."""
    if manifests.errors:
        raise InputError(*manifests.errors)
    if not manifests.objects and not manifests.snapshots:
        seen = ", ".join(f"{kind} ({count})" for kind, count in manifests.left_out.items()) or "no object"
        raise InputError(f"there is nothing to plan with: found {seen}; {_NEEDED}")


def the_snapshot(snapshots: list[Snapshot]) -> Snapshot | None:
    """The only snapshot, if there is one."""
    if len(snapshots) > 1:
        times = " and ".join(str(snapshot.time) for snapshot in snapshots)
        raise InputError(f"there are several snapshots, of {times}; plan from one at a time")
    return snapshots[0] if snapshots else None


def recorded_configuration(seen: Snapshot) -> Configuration:
    """The configuration of the scheduler that a snapshot is of."""
    try:
        return from_recorded(seen.configuration)
    except BadConfigurationError as error:
        problems = [f"the snapshot's configuration: {problem}" for problem in error.problems]
        raise InputError(*problems, "give another with --config") from None


def manifests_of(source: Source) -> Manifests:
    """What a program gives: a path, or objects as kubectl or a client library has them."""
    if isinstance(source, str) and "\n" in source:
        raise InputError(
            "a text is the path of a file here; read YAML first: maar.plan(yaml.safe_load_all(text))"
        )
    if isinstance(source, str | PathLike):
        return read_manifests([Path(fspath(source))])
    if not isinstance(source, Iterable):
        what = repr(source)
        raise InputError(
            f"{what} is not a cluster; give a path, or objects as kubectl or a client gives them"
        )
    manifests = Manifests()
    given: Iterable[object] = [source] if isinstance(source, Mapping) else source
    for number, each in enumerate(given, start=1):
        if isinstance(each, Object):
            manifests.objects.append(each)
            continue
        items = each.get("items") if isinstance(each, Mapping) else None
        for index, item in enumerate(items if isinstance(items, list) else [each], start=1):
            place = f"object {number}, item {index}" if isinstance(items, list) else f"object {number}"
            take_document(manifests, place, dict(item) if isinstance(item, Mapping) else item)
    return manifests
