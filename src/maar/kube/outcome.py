"""The outcome of a write: expected outcomes are values, not exceptions."""

from typing import Final

import msgspec

from maar.kube.errors import Cause

_NAMESPACE_ENDS: Final = "NamespaceTerminating"


class Done(msgspec.Struct, frozen=True):
    """The write was carried out; the body is the answer, in most cases the object as it is now."""

    body: bytes


class Gone(msgspec.Struct, frozen=True):
    """The object, or its namespace, does not exist."""

    message: str


class Conflict(msgspec.Struct, frozen=True):
    """A conflict: it exists, has changed, is another object of that name, or is bound already."""

    message: str
    may_be_ours: bool = False  # an attempt of ours that went unheard may have done it


class Protected(msgspec.Struct, frozen=True):
    """A disruption budget does not allow it now."""

    message: str


class Refused(msgspec.Struct, frozen=True):
    """The server refuses it for good, or this process may no longer write."""

    code: int
    reason: str
    message: str
    causes: tuple[Cause, ...] = ()

    @property
    def is_of_ending_namespace(self) -> bool:
        """Whether its namespace is being deleted, and with it whatever it was to be written for."""
        return any(cause.reason == _NAMESPACE_ENDS for cause in self.causes)


class Unanswered(msgspec.Struct, frozen=True):
    """No answer came: it may have been carried out or not; the watch will show it."""

    message: str


Outcome = Done | Gone | Conflict | Protected | Refused | Unanswered
