"""The interface of controllers, and the objects that they observe."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from maar.embedded.store import Key


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner of an object."""

    uid: str = ""
    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The metadata that controllers read."""

    uid: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[Owner, ...] | None = None

    @property
    def is_terminating(self) -> bool:
        """Whether its deletion has been requested."""
        return self.deletion_timestamp is not None

    @property
    def owners(self) -> tuple[Owner, ...]:
        """The owners of the object."""
        return self.owner_references or ()


class Observed(NamedTuple):
    """An object as it is, or as it was when it went."""

    key: Key
    meta: Meta
    body: bytes
    is_gone: bool = False


class WorkItem(NamedTuple):
    """An object to be reconciled, now or some seconds from now."""

    key: Key
    after: float = 0.0


class Controller(Protocol):
    """Observes every object once at the start and at every change, and reconciles some of them."""

    def observe(self, observed: Observed) -> Iterable[WorkItem]:
        """Take note of an object; say which ones to reconcile."""

    def reconcile(self, key: Key) -> Iterator[WorkItem | None]:
        """Reconcile one object in small steps; other work may run between them."""


class _Header(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()


_HEADER = msgspec.json.Decoder(_Header)


def meta_of(body: bytes) -> Meta:
    """The metadata of an object as it is stored."""
    return _HEADER.decode(body).metadata
