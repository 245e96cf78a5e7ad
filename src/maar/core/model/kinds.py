"""The kinds Maar reads, and how their objects come in: API bytes, or documents that people write."""

import re
from functools import cache
from typing import Final, TypeVar

import msgspec

from maar.core.model.events import ALL_KINDS, AnyObject
from maar.core.model.job import Job
from maar.core.model.metadata import Metadata, Object
from maar.core.model.resources import BadAmountError, Percentages, Resources
from maar.core.model.workload import WORKLOADS, BatchJob, Workload

KINDS: Final[tuple[type[AnyObject], ...]] = tuple(kind for kind in ALL_KINDS if kind not in WORKLOADS)
KINDS_BY_NAME: Final[dict[str, type[AnyObject]]] = {
    **{kind.__name__: kind for kind in KINDS},
    BatchJob.kind_name(): BatchJob,
}

ObjectT = TypeVar("ObjectT", bound=Object)

_PLAIN: Final = {"str": str, "int": int}
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_STEP: Final = re.compile(r"([^.\[\]]+)|\[(\d{1,6})\]")
_BEGINS_NUMBER: Final = tuple("+-.0123456789")
_LONGEST_SHOWN: Final = 40
_PROBLEM: Final = re.compile(r"(?P<problem>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)


class BadObjectError(ValueError):
    """An object that cannot be read: the field, and what is wrong with it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path, self.problem = path, problem


def kind_of(api_version: str, kind: str) -> type[Object] | None:
    """Find the type for an object's apiVersion and kind; None where Maar does not read that kind."""
    return _BY_NAME.get((api_version, kind))


def from_json(kind: type[ObjectT], data: bytes | msgspec.Raw) -> ObjectT:
    """Read an object as an API server sends it; fields that Maar does not read are passed over."""
    if issubclass(kind, Workload):
        return from_document(kind, plain(data))
    decoder: msgspec.json.Decoder[ObjectT] = _decoder(kind)
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return from_document(kind, plain(data))  # knows nulls, and names what is wrong


def metadata_from_json(kind: type[ObjectT], data: bytes | msgspec.Raw) -> ObjectT:
    """Read an object of which only the metadata matters, and which may have come as that alone."""
    return kind(metadata=metadata_of(data))


def metadata_of(data: bytes | msgspec.Raw) -> Metadata:
    """Read the metadata of an object of any kind."""
    try:
        return _METADATA_ONLY.decode(data).metadata
    except _UNREADABLE as error:
        raise BadObjectError("metadata", f"cannot be read: {error}") from None


def from_document(kind: type[ObjectT], document: object) -> ObjectT:
    """Read an object from plain values; null means unset, as in Kubernetes."""
    try:
        value = without_nulls(document)
        if issubclass(kind, Workload) and isinstance(value, dict):
            value["kind"] = kind.kind_name()  # `Job` is the name of two kinds
        elif kind is Job:
            _encode_templates(value)
        return msgspec.convert(value, kind, dec_hook=_checked_amounts)
    except msgspec.ValidationError as error:
        raise _explained(error, document) from None
    except RecursionError:
        raise BadObjectError("", "nested too deeply to be an object of Kubernetes") from None
    except UnicodeEncodeError:
        raise BadObjectError("", "a text in it is no Unicode: it has half of a pair") from None


def _encode_templates(job: object) -> None:
    """Write the templates of a job down as they would have come from a server."""
    spec = job.get("spec") if isinstance(job, dict) else None
    tasks = spec.get("tasks") if isinstance(spec, dict) else None
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict) and isinstance(template := task.get("template"), dict):
            task["template"] = msgspec.Raw(to_json(template))


def plain(data: bytes | msgspec.Raw) -> object:
    """Read JSON into plain values."""
    try:
        return msgspec.json.decode(data)
    except _UNREADABLE as error:
        raise BadObjectError("", f"not JSON: {error}") from None


def to_json(value: object) -> bytes:
    """Write an object, an event or a plan as JSON."""
    return msgspec.json.encode(value, enc_hook=_quantities)


def without_nulls(value: object) -> object:
    """Drop what is null, at any depth."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    return value


def _amounts(kind: type, value: object) -> object:
    if kind is not Resources and kind is not Percentages:
        return value  # part of a template, kept as it was written
    if not isinstance(value, dict):
        raise TypeError(f"Expected a map of amounts, got {value!r}")
    return Resources.parse(value) if kind is Resources else Percentages.parse(value)


def _checked_amounts(kind: type, value: object) -> object:
    """As `_amounts`, for documents that people write: in YAML, unlike JSON, a name may be no text."""
    if (
        kind in (Resources, Percentages)
        and isinstance(value, dict)
        and not all(type(name) is str for name in value)
    ):
        raise TypeError(f"Expected a map of amounts, got {value!r}")
    return _amounts(kind, value)


def _quantities(value: object) -> object:
    if isinstance(value, Resources | Percentages):
        return value.quantities()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _explained(error: msgspec.ValidationError, document: object = None) -> BadObjectError:
    match = _PROBLEM.fullmatch(str(error))
    path, problem = (match["path"] or "", match["problem"]) if match else ("", str(error))
    problem = problem.replace("Expected `raw`", "Expected `object`")  # a template, which is read later
    if isinstance(error.__cause__, BadAmountError):
        return BadObjectError(f"{path}.{error.__cause__.resource}", error.__cause__.problem)
    place = _with_key(path, problem, document)
    hint = _number_like(document, place) if "got `str`" in problem else ""
    return BadObjectError(place, problem[:1].lower() + problem[1:] + hint)


def _number_like(document: object, path: str) -> str:
    """A text where a number belongs and that looks like one: too large a number, or one in quotes."""
    here = document
    for name, index in _STEP.findall(path):
        if isinstance(here, dict):
            here = here.get(name)
        elif isinstance(here, list) and index and int(index) < len(here):
            here = here[int(index)]
    is_number = isinstance(here, str) and len(here) < _LONGEST_SHOWN and here.startswith(_BEGINS_NUMBER)
    return f" ({here}: quoted, or larger than any number may be)" if is_number else ""


def _with_key(path: str, problem: str, document: object) -> str:
    """Name the key of a map where msgspec only says that one of its values is wrong."""
    before, found, after = path.partition("[...]")
    wanted = next((kind for name, kind in _PLAIN.items() if f"Expected `{name}`" in problem), None)
    here = document
    for part in before.split(".") if found and not after and wanted else ():
        here = here.get(part) if isinstance(here, dict) else None
    culprits = (
        [key for key, value in here.items() if type(value) is not wanted] if isinstance(here, dict) else []
    )
    return f"{before}.{culprits[0]}" if found and culprits else path


class _MetadataOnly(msgspec.Struct):
    metadata: Metadata = Metadata()


_METADATA_ONLY: Final = msgspec.json.Decoder(_MetadataOnly)
_BY_NAME: Final[dict[tuple[str, str], type[Object]]] = {
    **{(kind.api_version, kind.__name__): kind for kind in KINDS},
    (BatchJob.api_version, BatchJob.kind): BatchJob,
}


@cache
def _decoder(kind: type[ObjectT]) -> msgspec.json.Decoder[ObjectT]:
    return msgspec.json.Decoder(kind, dec_hook=_amounts)
