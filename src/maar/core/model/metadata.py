"""What every object has: the record all others derive from, its metadata, conditions and selectors."""

from datetime import datetime
from typing import Annotated, ClassVar, Final, Literal

import msgspec

FIELD_MANAGER: Final = "maar"  # by which API servers know what Maar wrote

Time = Annotated[datetime, msgspec.Meta(tz=True)]  # one without a zone could not be compared with others


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A value with Kubernetes' spelling outside and Python's inside."""


class OwnerReference(Record, frozen=True):
    """The object that another belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False

    @property
    def batch_job(self) -> str:
        """Its uid, where it is a Job of batch/v1."""
        return self.uid if self.kind == "Job" and self.api_version == "batch/v1" else ""


class Metadata(Record, frozen=True):
    """The part of ObjectMeta that Maar reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0  # of the spec
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that made the object and looks after it."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class ManagedFields(Record, frozen=True):
    """The fields that one client wrote last, and when; `fields_v1` is a tree of f:name keys."""

    manager: str = ""
    time: Time | None = None
    fields_v1: dict[str, object] = {}


class Object(Record, frozen=True, tag_field="kind"):
    """An object of the API: it has a kind, a place in a group and metadata."""

    api_version: ClassVar[str]
    plural: ClassVar[str]  # as in the paths of the API
    namespaced: ClassVar[bool]
    metadata: Metadata = Metadata()

    @property
    def key(self) -> str:
        """Name the object as people do: namespace/name, or the name where there is no namespace."""
        metadata = self.metadata  # as in key_of; it is read several times for every object
        return f"{metadata.namespace or 'default'}/{metadata.name}" if self.namespaced else metadata.name

    @classmethod
    def kind_name(cls) -> str:
        """The name of the kind in the API; a summary of a kind has the name of the kind."""
        return str(cls.__struct_config__.tag)

    @classmethod
    def key_of(cls, namespace: str, name: str) -> str:
        """The key of an object of this kind."""
        return f"{namespace or 'default'}/{name}" if cls.namespaced else name

    @property
    def is_terminating(self) -> bool:
        """Whether its deletion has been requested."""
        return self.metadata.deletion_timestamp is not None


class Summary(Object, frozen=True):
    """An object of which only the metadata is read: API servers send no more of it."""


class Condition(Record, frozen=True):
    """One statement about an object, as conditions of Kubernetes are written."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class Requirement(Record, frozen=True):
    """One line of a selector: a key, an operator and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Record, frozen=True):
    """Which objects are meant, by their labels; an empty selector means all."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


def mark(metadata: Metadata, name: str) -> str | None:
    """Read a value that can be an annotation or a label; the annotation wins."""
    return metadata.annotations.get(name, metadata.labels.get(name))
