"""Documents that people keep in files: every one of them with the place where it stands."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from maar.api.errors import InputError, why
from maar.parsing.limits import FILES, BadYamlError
from maar.parsing.yaml_documents import documents as yaml_documents

_ENDINGS: Final = (".yaml", ".yml", ".json")
_STANDARD_INPUT: Final = Path("-")


@dataclass(frozen=True)
class ReadDocuments:
    """What was found, in the order of the files, and what is no document."""

    placed: list[tuple[str, object]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def read_documents(paths: list[Path], *, as_kubectl: bool = False) -> ReadDocuments:
    """Read every document of files and folders, `-` being standard input; lists are taken apart.

    With `as_kubectl` scalars are what kubectl would send: it reads y and n without quotes as booleans.
    """
    documents = ReadDocuments()
    for path in paths:
        for file in _files(path):
            name = "standard input" if file == _STANDARD_INPUT else str(file)
            try:
                read = _documents(file, as_kubectl=as_kubectl)
                documents.placed.extend((f"{name}, {place}", document) for place, document in read)
            except BadYamlError as error:
                documents.errors.append(f"{name}: not YAML: {error}")
            except OSError as error:
                documents.errors.append(f"{name}: cannot be read: {why(error)}; name another file")
    return documents


def _files(path: Path) -> Iterator[Path]:
    if path == _STANDARD_INPUT or (path.exists() and not path.is_dir()):  # a shell's <(…) is a pipe
        yield path
    elif path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS and file.is_file())
        if not files:
            raise InputError(f"{path}: the folder has no {', '.join(_ENDINGS)} files; name one that has")
        yield from files
    else:
        raise InputError(f"{path}: there is no such file or folder{_nearest(path)}")


def _nearest(path: Path) -> str:
    """What may have been meant, or where the path ends."""
    try:
        beside = [file.name for file in path.parent.iterdir()]
    except OSError:
        beside = []  # no folder, or one that may not be looked into
    close = get_close_matches(path.name, beside, 1)
    return f"; did you mean {path.parent / close[0]}?" if close else f" in {path.parent.absolute()}"


def _documents(file: Path, *, as_kubectl: bool) -> Iterator[tuple[str, object]]:
    """Give every document with its place in the file."""
    most = FILES.characters + 1  # no more than it takes to see that it is too much
    if file == _STANDARD_INPUT:
        data = sys.stdin.buffer.read(most)
    else:
        with file.open("rb") as opened:
            data = opened.read(most)
    for number, document in enumerate(yaml_documents(data, as_kubectl=as_kubectl), start=1):
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            for index, item in enumerate(document["items"], start=1):
                yield f"document {number}, item {index}", item
        elif document is not None:
            yield f"document {number}", document
