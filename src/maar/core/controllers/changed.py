"""What an event has changed in what controllers know: an object before and after."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Changed(Generic[T]):
    """An object of which something has changed; None where there was none, or is none any more."""

    key: str
    before: T | None
    after: T | None
