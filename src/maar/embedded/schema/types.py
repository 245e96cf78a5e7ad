"""What a kind's objects look like: one tree for validation, patches, apply and documentation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
TIME: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
MICRO_TIME: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"


class Merge(StrEnum):
    """How lists are combined by a patch or by server-side apply."""

    ATOMIC = "atomic"  # one value, replaced whole
    SET = "set"  # of plain values, each owned by itself
    MAP = "map"  # of objects, told apart by their keys


@dataclass(frozen=True)
class Rule:
    """A CEL rule of a custom resource."""

    expression: str
    message: str
    field_path: str = ""
    reason: str = "FieldValueInvalid"
    message_expression: str = ""  # gives a message that tells more; where it fails, `message` is used


@dataclass(frozen=True, eq=False)
class Schema:
    """One value's place in an object; `eq=False` because trees are compared by identity."""

    type: str = ""  # object, array, string, integer, number, boolean; empty means anything
    description: str = ""
    format: str = ""
    properties: Mapping[str, "Schema"] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    values: "Schema | None" = None  # of a map with any keys
    items: "Schema | None" = None  # of an array
    merge: Merge = Merge.ATOMIC  # of an array, for server-side apply
    keys: tuple[str, ...] = ()  # of an array merged as a map, for server-side apply
    patch_key: str = ""  # of an array, for strategic merge patches; on plain values the word "*"
    retain_keys: bool = False  # of an object: a strategic merge patch names all that stay
    replace: bool = False  # of an object: a strategic merge patch gives it whole
    atomic: bool = False  # of an object: applied whole
    int_or_string: bool = False
    open: bool = False  # keeps fields that it does not describe
    nullable: bool = False
    default: object = None
    enum: tuple[object, ...] = ()
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    unique: bool = False
    rules: tuple[Rule, ...] = ()
    name: str = ""  # in OpenAPI, of a schema that has one: io.k8s.api.core.v1.Pod
