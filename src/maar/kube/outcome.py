"""What became of a write: ordinary outcomes are values, so that nobody has to catch what is no surprise."""

import msgspec

from maar.kube.errors import Cause


class Done(msgspec.Struct, frozen=True):
    """It is done; the body is the server's answer, in most cases the object as it is now."""

    body: bytes


class Gone(msgspec.Struct, frozen=True):
    """The object is not there, or what it should go into is not."""

    message: str


class Conflict(msgspec.Struct, frozen=True):
    """Somebody was there first: it exists, has changed, is another one of that name, or is bound already."""

    message: str
    may_be_ours: bool = False  # an attempt of ours that went unheard may have done it


class Protected(msgspec.Struct, frozen=True):
    """A disruption budget does not allow it now."""

    message: str


class Refused(msgspec.Struct, frozen=True):
    """The server will not do it, and would not the next time either; or we no longer may ask."""

    code: int
    reason: str
    message: str
    causes: tuple[Cause, ...] = ()


class Unanswered(msgspec.Struct, frozen=True):
    """No answer came: it may have been done or not, and what is watched will tell."""

    message: str


Outcome = Done | Gone | Conflict | Protected | Refused | Unanswered
