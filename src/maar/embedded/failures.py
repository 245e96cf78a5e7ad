"""Refusals of the API server: Status objects with the messages of Kubernetes."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

Json = dict[str, object]

_MOST_CAUSES: Final = 100  # of one object
_LONGEST_CAUSE: Final = 20_000  # characters; some show the whole object


class Cause(NamedTuple):
    """One thing that is wrong with one field of an object."""

    field: str
    reason: str  # FieldValueInvalid, FieldValueRequired, FieldValueNotSupported, ...
    message: str


class ApiError(Exception):
    """A refusal that the client gets as a Status object."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details or {}

    def status(self) -> Json:
        """The Status object."""
        reason = {"reason": self.reason} if self.reason else {}
        details = {"details": self.details} if self.details else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **reason,
            **details,
            "code": self.code,
        }


def bad_request(message: str) -> ApiError:
    """The request cannot be understood."""
    return ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def too_large(why: str) -> ApiError:
    """A request or an object has more bytes than are taken."""
    message = f"Request entity too large: {why}"
    return ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", message)


def not_found(resource: str, name: str) -> ApiError:
    """There is no such object; the resource with its group, as in podgroups.scheduling.volcano.sh."""
    return ApiError(
        HTTPStatus.NOT_FOUND, "NotFound", f'{resource} "{name}" not found', _details(resource, name)
    )


def already_exists(resource: str, name: str) -> ApiError:
    """An object of that name is there."""
    return ApiError(
        HTTPStatus.CONFLICT, "AlreadyExists", f'{resource} "{name}" already exists', _details(resource, name)
    )


def conflict(resource: str, name: str, why: str) -> ApiError:
    """The object has changed since the client read it, or is not in a state that allows the request."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiError(HTTPStatus.CONFLICT, "Conflict", message, _details(resource, name))


def forbidden(resource: str, name: str, why: str) -> ApiError:
    """A rule of the cluster does not allow it, a quota for example."""
    message = f'{resource} "{name}" is forbidden: {why}'
    return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", message, _details(resource, name))


def namespace_ends(resource: str, name: str, namespace: str) -> ApiError:
    """Nothing is created in a namespace that is being deleted."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    error = forbidden(resource, name, why)
    message = f"namespace {namespace} is being terminated"
    cause = {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
    error.details["causes"] = [cause]
    return error


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """The object breaks rules, each named with its field."""
    more = len(causes) - _MOST_CAUSES
    if more > 0:
        causes = [*causes[:_MOST_CAUSES], Cause("", "FieldValueInvalid", f"and {more} more problems")]
    causes = [cause._replace(message=_short(cause.message)) for cause in causes]
    messages = [f"{cause.field}: {cause.message}" for cause in causes]
    problem = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    shown = f"{kind}.{group}" if group else kind
    details: Json = {
        "name": name,
        "kind": kind,
        "causes": [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes],
    }
    if group:
        details["group"] = group
    message = f'{shown} "{name}" is invalid: {problem}'
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def _short(text: str) -> str:
    more = len(text) - _LONGEST_CAUSE
    return f"{text[:_LONGEST_CAUSE]}... and {more} more characters" if more > 0 else text


def _details(resource: str, name: str) -> Json:
    plural, _, group = resource.partition(".")
    return {"name": name, "group": group, "kind": plural} if group else {"name": name, "kind": plural}
