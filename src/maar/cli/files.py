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
_STANDARD_INPUT: Final = Path("-")
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C reads ten times faster


@dataclass(frozen=True)
class Manifests:
    """What was read: objects in the order of the files, what was left out, and what is wrong and where."""

    objects: list[Object] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def read_manifests(paths: list[Path]) -> Manifests:
    """Read every document of files and folders, `-` being standard input."""
    manifests = Manifests()
    for path in paths:
        for file in _files(path):
            name = "standard input" if file == _STANDARD_INPUT else str(file)
            try:
                for place, document in _documents(file):
                    _take(manifests, f"{name}, {place}", document)
            except yaml.YAMLError as error:
                manifests.errors.append(f"{name}: not YAML: {' '.join(str(error).split())}")
            except (OSError, UnicodeDecodeError) as error:
                manifests.errors.append(f"{name}: cannot be read: {error}")
    return manifests


def _files(path: Path) -> Iterator[Path]:
    if path == _STANDARD_INPUT or path.is_file():
        yield path
    elif path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS and file.is_file())
        if not found:
            raise CommandError(f"{path}: the folder has no {', '.join(_ENDINGS)} files")
        yield from found
    else:
        raise CommandError(f"{path}: there is no such file or folder")


def _documents(file: Path) -> Iterator[tuple[str, object]]:
    """Give every document with its place in the file; lists are taken apart."""
    text = sys.stdin.read() if file == _STANDARD_INPUT else file.read_text(encoding="utf-8")
    for number, document in enumerate(yaml.load_all(text, Loader=_LOADER), start=1):
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            for index, item in enumerate(document["items"], start=1):
                yield f"document {number}, item {index}", item
        elif document is not None:
            yield f"document {number}", document


def _take(manifests: Manifests, place: str, document: object) -> None:
    """Take one object; a bad one is reported and harms no other."""
    if not isinstance(document, dict) or "kind" not in document:
        manifests.errors.append(f"{place}: not an object of Kubernetes: it has no kind")
        return
    name = document["kind"]
    kind = kind_of(str(document.get("apiVersion", "")), str(name))
    if kind is None:
        manifests.left_out[str(name)] += 1
        return
    try:
        one = from_document(kind, document)
    except BadObjectError as error:
        manifests.errors.append(f"{place}: {name} {_name(document)}: {error}")
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
