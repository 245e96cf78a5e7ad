"""What a random cluster grows from: a style, how far it goes, and a few numbers."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Style(StrEnum):
    """What a cluster is like."""

    QUIET = "room for most"
    MIXED = "anything"
    LENT = "a queue or two hold what the others are now entitled to"
    RANKED = "the unimportant holds what the important asks for"
    CROWDED = "one namespace holds what the others of its queue ask for"
    STARVED = "gangs have lost pods, and hold what they have for nothing"


class Reach(StrEnum):
    """How far clusters go."""

    SINGLE = "what the reference model covers, with one node: nobody chooses between nodes"
    MODEL = "what the reference model covers"
    BEYOND = "taints, ports, affinities, spread, overhead and budgets as well"


@dataclass(frozen=True)
class Recipe:
    """What a cluster grows from; the smaller the numbers, the simpler the cluster."""

    seed: int
    nodes: int
    queues: int
    groups: int
    resources: int
    style: Style
    reach: Reach

    def random(self, part: object) -> Random:
        """Return random numbers for one part, so that the rest stays as it is while the recipe shrinks."""
        return Random(f"{self.seed} {part}")
