"""How much a text may hold, and how it is refused."""

from dataclasses import dataclass
from typing import Final, Protocol

DEEPEST: Final = 100  # levels; objects of Kubernetes have about twenty, schemas in them about fifty


@dataclass(frozen=True)
class DocumentLimits:
    """What a text may cost: aliases count as if what they stand for were written out."""

    characters: int
    nodes: int  # scalars, lists and mappings
    depth: int = DEEPEST
    aliased: int = 1_000_000  # nodes that aliases stand for, at every use


FILES: Final = DocumentLimits(
    characters=256 << 20, nodes=20_000_000
)  # what kubectl get -o yaml prints of a cluster
OBJECT: Final = DocumentLimits(characters=3 << 20, nodes=100_000)  # one object, or one configuration


class Mark(Protocol):
    """A place in a text, as PyYAML counts: from 0."""

    line: int
    column: int


class BadYamlError(ValueError):
    """A text that is no YAML, or costs more than the limits allow: the place, and what is wrong there."""

    @classmethod
    def at(cls, mark: Mark | None, problem: str) -> "BadYamlError":
        """Name the line and the column, where they are known."""
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        return cls(f"{place}{problem}")
