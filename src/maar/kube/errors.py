"""Errors of requests: the API server refuses, gives no answer, or this process may not write."""

from http import HTTPStatus
from typing import Final, Self

import msgspec

from maar.core.model.metadata import Record
from maar.core.model.whole_numbers import whole_number

LONGEST_TEXT: Final = 500  # of an answer that is no Status, such as the page of a proxy

_BUDGET: Final = "DisruptionBudget"
_PASSING: Final = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


class Cause(Record, frozen=True):
    """One thing that is wrong with an object, and in which field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(Record, frozen=True):
    """Which object a Status is about, and what is wrong with it."""

    name: str = ""
    kind: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class ApiError(Exception):
    """The API server answered with an error."""

    def __init__(
        self, code: int, reason: str, message: str, details: Details, retry_after_s: float = 0
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details
        self.retry_after_s = retry_after_s
        # It failed half-way, or an earlier attempt did, and this may be the echo of what that has done.
        self.may_be_done = code >= HTTPStatus.INTERNAL_SERVER_ERROR

    def __str__(self) -> str:
        return self.message

    @classmethod
    def of(cls, body: bytes | msgspec.Raw, code: int = 0, retry_after: str = "") -> Self:
        """Read an error answer: a Status, or the text of a proxy before the API server."""
        try:
            status = _STATUS.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            status = _Status(reason="NoStatus")
        text = bytes(body).decode(errors="replace").strip()[:LONGEST_TEXT]
        message = status.message or text or "the server gave no explanation"
        details = status.details or Details()
        seconds = whole_number(retry_after)
        wait = details.retry_after_seconds if seconds is None else seconds
        return cls(code or status.code, status.reason, message, details, wait)

    @property
    def is_by_budget(self) -> bool:
        """Whether a disruption budget refuses it."""
        return any(cause.reason == _BUDGET for cause in self.details.causes)

    @property
    def is_about_another(self) -> bool:
        """Whether a patch was for an object with another uid: to the server that looks like changing it."""
        return any(cause.field == "metadata.uid" for cause in self.details.causes)

    @property
    def is_passing(self) -> bool:
        """Whether the same request may well succeed a little later."""
        if self.code == HTTPStatus.TOO_MANY_REQUESTS:
            return not self.is_by_budget
        if self.code == HTTPStatus.INTERNAL_SERVER_ERROR:
            return self.reason != ""  # without one it is about the object: two budgets over one pod
        return self.code in _PASSING


class UnansweredError(Exception):
    """No answer came from the API server."""

    retry_after_s: Final = 0.0

    def __init__(self, message: str, *, may_be_done: bool, is_passing: bool = True) -> None:
        super().__init__(message)
        self.may_be_done, self.is_passing = may_be_done, is_passing


class FencedError(Exception):
    """A write that was not sent, because this process does not hold its lease at the moment."""

    def __init__(self) -> None:
        super().__init__("not written: this process does not hold its lease at the moment")


class _Status(Record, frozen=True):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: Details | None = None


_STATUS: Final = msgspec.json.Decoder(_Status)
