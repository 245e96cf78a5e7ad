"""Snapshots in files: everything a scheduler sees, and what it takes to plan from that as it did."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import ClassVar, Final, Self

import msgspec
import yaml

from maar.core.model.kinds import BadObjectError, from_json, kind_of, plain, to_json
from maar.core.model.metadata import Object, Time
from maar.core.model.workload import Workload
from maar.parsing.limits import FILES, DocumentLimits
from maar.parsing.plain_values import excess

ENDINGS: Final = (".yaml", ".yml", ".json", ".json.gz")

_HEAD: Final = b'{"apiVersion":"v1","kind":"List","items":[\n{"apiVersion":"maar.sh/v1","kind":"Snapshot"'
_LATER: Final = re.compile(rb'\{"apiVersion":"v1","kind":"List","items":\[\n\{"apiVersion":"maar\.sh/(v\w+)"')
_FAST: Final = 1  # gzip's own name for it; three times the speed for a few percent
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the one in C is several times faster


class Snapshot(Object, frozen=True, kw_only=True, tag="Snapshot"):
    """What is not in the objects: the moment, the scheduler, and what it decided then."""

    api_version: ClassVar[str] = "maar.sh/v1"
    namespaced: ClassVar[bool] = False

    time: Time
    scheduler_name: str = "volcano"
    configuration: dict[str, object] = {}  # noqa: RUF012  msgspec copies an empty default
    resources: tuple[str, ...] = ()  # in the order in which the scheduler came to know them
    plan: dict[str, object] | None = None  # as `maar plan -o json` prints a cycle
    version: str = ""


class UnreadableSnapshotError(ValueError):
    """A file that is not a snapshot, or a damaged one, or one of another version of Maar."""

    @classmethod
    def of_another_version(cls, api_version: str) -> Self:
        """A snapshot in a form that this version of Maar does not know."""
        return cls(
            f"a snapshot of {api_version}, and this version of Maar reads {Snapshot.api_version}; use the"
            " version that took it"
        )


def write(file: Path, snapshot: Snapshot, objects: Iterable[Object]) -> None:
    """Write a file, in the form that its name ends in; it is there as a whole or not at all."""
    with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as unfinished:
        try:
            if file.name.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", compresslevel=_FAST, fileobj=unfinished) as packed:
                    packed.writelines(_json(snapshot, objects))
            else:
                text = _json if file.suffix == ".json" else as_yaml
                unfinished.writelines(text(snapshot, objects))
            unfinished.close()
            Path(unfinished.name).replace(file)
        except BaseException:
            Path(unfinished.name).unlink(missing_ok=True)
            raise


def as_yaml(snapshot: Snapshot, objects: Iterable[Object]) -> Iterator[bytes]:
    """The documents, as people like to read them."""
    for one in (snapshot, *objects):
        text: str = yaml.dump(plain(document(one)), Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
        yield f"---\n{text}".encode()


def document(one: Object) -> bytes:
    """An object in JSON, with its apiVersion and the kind that this has in the API."""
    data = to_json(one)
    if isinstance(one, Workload):
        data = data.replace(b'"kind":"%b"' % one.kind_name().encode(), b'"kind":"%b"' % one.kind.encode(), 1)
    return b'{"apiVersion":"%b",%b' % (one.api_version.encode(), data[1:])


def read(file: Path, limits: DocumentLimits = FILES) -> tuple[Snapshot, list[Object]] | None:
    """Read a snapshot in JSON within limits; None where the file is something else, for others to read."""
    try:
        with file.open("rb") as opened:
            is_packed = opened.read(2) == b"\x1f\x8b"
        with gzip.open(file) if is_packed else file.open("rb") as opened:
            if (head := opened.read(len(_HEAD))) != _HEAD:
                if later := _LATER.match(head):
                    raise UnreadableSnapshotError.of_another_version(f"maar.sh/{later[1].decode()}")
                if is_packed:
                    raise UnreadableSnapshotError("it is packed and no snapshot of Maar; unpack it first")
                return None
            rest = opened.read(limits.characters)  # a packed megabyte may unpack to a thousand
            if len(_HEAD) + len(rest) > limits.characters:
                raise UnreadableSnapshotError(_too_large(f"{limits.characters >> 20:,} MiB, unpacked"))
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableSnapshotError(f"cannot be read: {error}") from None
    if rest.count(b",") >= limits.nodes:
        raise UnreadableSnapshotError(_too_large(f"{limits.nodes:,} values"))
    try:
        first, *others = _LIST.decode(_HEAD + rest).items
        return _checked(from_json(Snapshot, first), limits), [_object(one) for one in others]
    except RecursionError:
        raise UnreadableSnapshotError("nested too deeply to be a snapshot of Maar; take it again") from None
    except (msgspec.DecodeError, UnicodeDecodeError, BadObjectError) as error:
        raise UnreadableSnapshotError(f"cannot be read: {error}; take it again") from None


def _too_large(limit: str) -> str:
    return f"larger than a snapshot may be ({limit}); leave objects out of it"


def _checked(snapshot: Snapshot, limits: DocumentLimits) -> Snapshot:
    """Refuse plain values, which others walk through by recursion, where they are too deep."""
    for name, value in (("configuration", snapshot.configuration), ("plan", snapshot.plan)):
        if problem := excess(value, limits):
            raise BadObjectError(name, problem)
    return snapshot


def _json(snapshot: Snapshot, objects: Iterable[Object]) -> Iterator[bytes]:
    """A list with an object in each line."""
    yield _HEAD + document(snapshot)[len(_HEAD.splitlines()[1]) :]
    for one in objects:
        yield b",\n" + document(one)
    yield b"\n]}\n"


def _object(data: msgspec.Raw) -> Object:
    header = _HEADER.decode(data)
    kind = kind_of(header.api_version, header.kind)
    if kind is None:
        raise BadObjectError("kind", f"{header.api_version} {header.kind} is not a kind that Maar reads")
    return from_json(kind, data)


class _List(msgspec.Struct):
    items: list[msgspec.Raw]


class _Header(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str


_LIST: Final = msgspec.json.Decoder(_List)
_HEADER: Final = msgspec.json.Decoder(_Header)
