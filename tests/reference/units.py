"""Units of victims, and what they take from whom: docs/specification/eviction.md, Units."""

from collections import defaultdict
from dataclasses import dataclass, field

from reference.amounts import Amounts, Tables
from reference.objects import Pod, PodGroup


@dataclass(frozen=True)
class Unit:
    """A surplus pod, a surplus subgroup or a whole gang; an incomplete subgroup has rank 0, a gang 3."""

    group: PodGroup
    pods: tuple[Pod, ...]
    surplus: bool
    starving: bool = False
    rank: int = 1


@dataclass
class Losses:
    """What units take from their pod groups, namespaces (in a queue) and queues, ancestors included."""

    groups: Tables = field(default_factory=lambda: defaultdict(Amounts))
    namespaces: dict[tuple[str, str], Amounts] = field(default_factory=lambda: defaultdict(Amounts))
    queues: Tables = field(default_factory=lambda: defaultdict(Amounts))


@dataclass(frozen=True)
class Eviction:
    """A pod that is evicted, for which pod group, by which action."""

    pod: str
    beneficiary: str
    action: str
