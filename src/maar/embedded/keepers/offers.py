"""What a free volume offers, and whether that is what a claim asks for."""

from typing import NamedTuple

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.policy.selectors import match_selector
from maar.embedded.calls import text
from maar.embedded.failures import Json
from maar.embedded.kinds.amounts import quantity
from maar.embedded.kinds.parts import labels, part, words
from maar.embedded.store import Key


class Offer(NamedTuple):
    """A volume that is nobody's yet."""

    capacity: int
    access_modes: frozenset[str]
    mode: str
    labels: dict[str, str]
    reserved_for: tuple[str, str] | None  # the namespace and name of the claim that may have it

    def is_open_to(self, claim: Key) -> bool:
        """Whether nobody else is to have it."""
        return self.reserved_for in (None, (claim.namespace, claim.name))


def offer_of(volume: Json) -> Offer:
    """What a volume offers."""
    spec = part(volume, "spec")
    reference = part(spec, "claimRef")
    return Offer(
        quantity(part(spec, "capacity").get("storage")).nanos,
        frozenset(words(spec, "accessModes")),
        text(spec, "volumeMode") or "Filesystem",
        dict(labels(volume)),
        (text(reference, "namespace"), text(reference, "name")) if reference else None,
    )


def fits(offer: Offer, claim: Json) -> bool:
    """Whether a volume is large enough and of the kind that a claim asks for."""
    spec = part(claim, "spec")
    asked = quantity(part(spec, "resources", "requests").get("storage")).nanos
    selector = spec.get("selector")
    return (
        offer.capacity >= asked
        and offer.access_modes.issuperset(words(spec, "accessModes"))
        and offer.mode == (text(spec, "volumeMode") or "Filesystem")
        and (selector is None or match_selector(msgspec.convert(selector, LabelSelector), offer.labels))
    )
