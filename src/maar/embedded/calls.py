"""One request to the API, free of HTTP: the caller, and how it is to be carried out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, NamedTuple, cast

from maar.embedded.failures import ApiError, Json
from maar.embedded.resources import Resource

Operation = Literal["CREATE", "UPDATE", "DELETE"]
Stage = Literal["fill in", "judge"]  # before and after the object is checked against its schema
Strictness = Literal["Ignore", "Warn", "Strict"]
Propagation = Literal["Background", "Foreground", "Orphan"]


class Caller(NamedTuple):
    """The user of a valid token."""

    name: str
    groups: tuple[str, ...] = ()


SYSTEM = Caller("system:maar", ("system:masters",))  # the server itself


@dataclass
class Call:
    """How a write is asked for; warnings are collected for the answer."""

    caller: Caller = SYSTEM
    manager: str = "maar"
    dry_run: bool = False
    strictness: Strictness = "Warn"
    force: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Deletion:
    """The options of a deletion."""

    grace: int | None = None
    propagation: Propagation | None = None
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True)
class Admission:
    """A write before it is stored, which admission may change or refuse."""

    operation: Operation
    resource: Resource
    subresource: str
    namespace: str
    name: str
    old: Json | None
    new: Json | None  # may be changed in place while things are filled in
    call: Call


Admit = Callable[[Stage, Admission], None]  # refuses by raising ApiError; adds warnings to the call


def section(value: Json, name: str) -> Json:
    """A part of an object that is itself an object, made where it is missing."""
    part = value.get(name)
    if part is None:
        part = value[name] = {}
    if not isinstance(part, dict):
        raise ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", f"{name} must be an object, not {part!r}")
    return cast(Json, part)


def metadata(value: Json) -> Json:
    """The metadata of an object."""
    return section(value, "metadata")


def text(value: Json, name: str) -> str:
    """A field that is text, or nothing."""
    found = value.get(name)
    return found if isinstance(found, str) else ""
