"""The messages for invalid fields, as Kubernetes has them."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from maar.embedded.failures import Cause


def shown(value: object) -> str:
    """A value as JSON on one line."""
    return msgspec.json.encode(value).decode()


def invalid(field: str, value: object, why: str) -> Cause:
    """The value breaks a rule."""
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}")


def violations(field: str, value: object, problems: Sequence[str]) -> Iterator[Cause]:
    """The value breaks these rules."""
    for problem in problems:
        yield invalid(field, value, problem)


def required(field: str, why: str = "") -> Cause:
    """There must be a value."""
    return Cause(field, "FieldValueRequired", f"Required value: {why}" if why else "Required value")


def unsupported(field: str, value: object, supported: Iterable[object]) -> Cause:
    """The value is not one of those there are."""
    known = ", ".join(f'"{one}"' for one in supported)
    message = f"Unsupported value: {shown(value)}: supported values: {known}"
    return Cause(field, "FieldValueNotSupported", message)


def duplicate(field: str, value: object, why: str = "") -> Cause:
    """There is one like it already."""
    message = f"Duplicate value: {shown(value)}"
    return Cause(field, "FieldValueDuplicate", f"{message}: {why}" if why else message)


def not_found(field: str, value: object, why: str = "") -> Cause:
    """What the value names is not there."""
    message = f"Not found: {shown(value)}"
    return Cause(field, "FieldValueNotFound", f"{message}: {why}" if why else message)


def forbidden(field: str, why: str) -> Cause:
    """There must be no such value, or no such change."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def too_long(field: str, longest: int) -> Cause:
    """The text is too long to be shown."""
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {longest} bytes")


def too_many(field: str, count: int, most: int) -> Cause:
    """The list or map has too many entries."""
    return Cause(field, "FieldValueTooMany", f"Too many: {count}: must have at most {most} items")


def mistyped(field: str, found: str, wanted: str) -> Cause:
    """The value is of another type."""
    message = f'Invalid value: "{found}": {field} in body must be of type {wanted}: "{found}"'
    return Cause(field, "FieldValueTypeInvalid", message)


def without_field(value: object, why: str) -> Cause:
    """A remark about an object that names no field."""
    return Cause("<nil>", "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}")
