"""What a queue brings to the sharing: its place in the tree, its weight, and what it claims."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from maar.core.model.queue import ROOT

LARGEST_WEIGHT: Final = 65_535  # the API's bound; exact arithmetic in 64 bits leans on it
LARGEST_AMOUNT: Final = 2**62 - 1  # what is more counts as this much, so that two of them still add up
HUNDRED_PERCENT: Final = 100_000


class BadQueueDemandError(ValueError):
    """A claim that cannot take part in any sharing."""


@dataclass(frozen=True, kw_only=True)
class QueueDemand:
    """One queue's part in the sharing; amounts are whole units by resource name.

    `request` counts for a leaf only: an inner queue asks for what its children may get.
    """

    name: str
    parent: str = ROOT
    weight: int = 1
    guarantee: Mapping[str, int] = field(default_factory=dict)
    percentage: Mapping[str, int] = field(default_factory=dict)  # thousandths of a percent of the total
    soft_guarantee: Mapping[str, int] = field(
        default_factory=dict
    )  # what it is entitled to while it asks for it
    capability: Mapping[str, int] = field(default_factory=dict)
    request: Mapping[str, int] = field(default_factory=dict)
    created: float = 0.0  # the older of two equals gets the odd unit

    def __post_init__(self) -> None:
        if isinstance(self.weight, bool) or not isinstance(self.weight, int):
            raise BadQueueDemandError(f"queue {self.name}: weight {self.weight!r} is not a whole number")
        if not 1 <= self.weight <= LARGEST_WEIGHT:
            raise BadQueueDemandError(
                f"queue {self.name}: weight {self.weight} is out of range: a weight is 1 to {LARGEST_WEIGHT}"
            )
        for field_name in ("guarantee", "percentage", "soft_guarantee", "capability", "request"):
            for resource, amount in getattr(self, field_name).items():
                if amount < 0:
                    raise BadQueueDemandError(
                        f"queue {self.name}: {field_name} of {resource} is {amount}: it is 0 or more"
                    )
