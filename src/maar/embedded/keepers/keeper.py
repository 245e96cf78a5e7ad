"""What a keeper is, and what it is told about objects."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from maar.embedded.store import Key


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One whom an object belongs to."""

    uid: str = ""
    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The metadata that keepers read."""

    uid: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[Owner, ...] | None = None

    @property
    def is_going(self) -> bool:
        """Whether somebody has asked for its deletion."""
        return self.deletion_timestamp is not None

    @property
    def owners(self) -> tuple[Owner, ...]:
        """Those whom the object belongs to."""
        return self.owner_references or ()


class Seen(NamedTuple):
    """An object as it is, or as it was when it went."""

    key: Key
    meta: Meta
    body: bytes
    is_gone: bool = False


class Visit(NamedTuple):
    """An object to be looked at, now or some seconds from now."""

    key: Key
    after: float = 0.0


class Keeper(Protocol):
    """Sees every object once at the start and whenever one changes, and sets right what it is there for."""

    def hear(self, seen: Seen) -> Iterable[Visit]:
        """Take note of an object; say which ones are worth a look."""

    def look(self, key: Key) -> Iterator[Visit | None]:
        """Set one object right in small pieces, after each of which others may have their turn."""


class _Header(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()


_HEADER = msgspec.json.Decoder(_Header)


def meta_of(body: bytes) -> Meta:
    """The metadata of an object as it is stored."""
    return _HEADER.decode(body).metadata
