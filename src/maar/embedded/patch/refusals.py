"""The messages for patches that cannot be applied, as Kubernetes has them."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import ParamSpec, TypeVar

from maar.embedded.failures import ApiError, bad_request

_P = ParamSpec("_P")
_R = TypeVar("_R")

_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}


def named_type(value: object) -> str:
    """What JSON calls the type of a value."""
    return _JSON_NAMES.get(type(value), "number")


def as_go_prints(value: object) -> str:
    """The value as it stands in Kubernetes' messages."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{as_go_prints(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(as_go_prints, value))}]"
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def unprocessable(why: str) -> ApiError:
    """A patch that does not fit the object; Kubernetes does not say why, the cause does."""
    cause = {"reason": "FieldValueInvalid", "message": why, "field": "patch"}
    message = "the server rejected our request due to an error in our request"
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, {"causes": [cause]})


def unexpected(message: str) -> ApiError:
    """A mistake of the client that Kubernetes answers with 500 and without a reason; so do we."""
    return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)


def bounded_in_depth(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Refuse what is nested more deeply than the interpreter can follow."""

    @wraps(function)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            raise bad_request("the object or the patch is nested too deeply; flatten it") from None

    return guarded
