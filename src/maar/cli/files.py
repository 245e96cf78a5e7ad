"""Manifests that people keep in files: read whole folders, name what is wrong and where."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from maar.cli.failure import CommandError
from maar.core.model.kinds import BadObjectError, from_document, kind_of
from maar.core.model.metadata import Object
from maar.core.model.unread import unknown_fields

_ENDINGS: Final = (".yaml", ".yml", ".json")
_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Manifests:
    """What was read: objects in the order of the files, warnings, and how much of what was left out."""

    objects: list[Object] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def read_manifests(paths: list[Path]) -> Manifests:
    """Read every document of files and folders, `-` being standard input; bad ones stop with their place."""
    manifests = Manifests()
    for path in paths:
        for file in _files(path):
            for place, document in _documents(file):
                _take(manifests, place, document)
    return manifests


def _files(path: Path) -> Iterator[Path]:
    if str(path) == "-" or path.is_file():
        yield path
    elif path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS and file.is_file())
        if not found:
            raise CommandError(f"{path}: the folder has no {', '.join(_ENDINGS)} files")
        yield from found
    else:
        raise CommandError(f"{path}: there is no such file or folder")


def _documents(file: Path) -> Iterator[tuple[str, object]]:
    """Give every document with its place; lists are taken apart."""
    name = "standard input" if str(file) == "-" else str(file)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        for number, document in enumerate(yaml.load_all(text, Loader=_Loader), start=1):
            place = f"{name}, document {number}"
            if isinstance(document, dict) and isinstance(document.get("items"), list):
                for index, item in enumerate(document["items"], start=1):
                    yield f"{place}, item {index}", item
            elif document is not None:
                yield place, document
    except yaml.YAMLError as error:
        raise CommandError(f"{name}: not YAML: {' '.join(str(error).split())}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name}: cannot be read: {error}") from None


def _take(manifests: Manifests, place: str, document: object) -> None:
    if not isinstance(document, dict) or "kind" not in document:
        raise CommandError(f"{place}: not an object of Kubernetes: it has no kind")
    kind = kind_of(str(document.get("apiVersion", "")), str(document["kind"]))
    if kind is None:
        manifests.left_out[str(document["kind"])] += 1
        return
    try:
        one = from_document(kind, document)
    except BadObjectError as error:
        raise CommandError(f"{place}: {document['kind']} {_name(document)}: {error}") from None
    if not one.metadata.name:
        raise CommandError(f"{place}: {document['kind']}: metadata.name is missing")
    manifests.objects.append(one)
    for unknown in unknown_fields(kind, document):
        manifests.warnings.append(f"{place}: {document['kind']} {one.key}: unknown field {unknown}")


def _name(document: dict[str, object]) -> str:
    metadata = document.get("metadata")
    return str(metadata.get("name", "without a name")) if isinstance(metadata, dict) else "without a name"
