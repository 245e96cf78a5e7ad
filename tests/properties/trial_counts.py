"""What the trees were like that a law was tried on: a law that only met easy trees has not been tried."""

from collections import Counter
from dataclasses import dataclass, field
from statistics import quantiles

from properties.levels import Level, Shares, levels
from properties.trees import Tree


@dataclass
class TrialCounts:
    """Counts over all trees of one trial."""

    queues: list[int] = field(default_factory=list)
    depths: Counter[int] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)

    def count(self, tree: Tree, shares: Shares) -> None:
        """Add one tree and what its answer shows."""
        self.queues.append(len(tree.children) - 1)
        self.depths[max(tree.level.values())] += 1
        binding = {
            constraint
            for share in shares.values()
            for resource, constraint in share.binding.items()
            if constraint != "guarantee" or share.guarantee[resource]
        }
        self.seen.update(binding)
        self.seen["guarantee and capability"] += binding >= {"guarantee", "capability"}
        self.seen["soft guarantees that do not fit"] += any(level.is_short for level in levels(tree, shares))
        self.seen["reduced"] += any(share.reduced for share in shares.values())
        self.seen["rounding"] += any(is_rounded(level) for level in levels(tree, shares))

    def require(self, trees: int) -> None:
        """Fail unless there were enough trees, and what they are for was seen in enough of them."""
        assert len(self.queues) >= trees, f"only {len(self.queues)} trees instead of {trees}"
        assert self.seen["guarantee and capability"] >= len(self.queues) / 2, f"too easy: {self}"
        soft = min(self.seen["soft guarantee"], self.seen["soft guarantees that do not fit"])
        assert soft >= len(self.queues) / 10, f"too few soft guarantees: {self}"

    def __str__(self) -> str:
        low, middle, high = quantiles(self.queues, n=4)
        depths = " ".join(f"{depth}:{count}" for depth, count in sorted(self.depths.items()))
        parts = (
            "guarantee",
            "capability",
            "guarantee and capability",
            "soft guarantee",
            "fair share",
            "parent",
            "soft guarantees that do not fit",
            "reduced",
            "rounding",
        )
        percent = ", ".join(f"{part} {100 * self.seen[part] // len(self.queues)}%" for part in parts)
        return (
            f"{len(self.queues)} trees of {min(self.queues)} to {max(self.queues)} queues "
            f"(quartiles {low:.0f} {middle:.0f} {high:.0f}), depth {depths}; {percent}"
        )


def is_rounded(level: Level) -> bool:
    """Tell whether two siblings that nothing but the water holds do not stand at the same level."""
    free = [(s.deserved, s.claim.weight) for s in level.siblings if s.floor < s.deserved < s.ceiling]
    return any(deserved * free[0][1] != free[0][0] * weight for deserved, weight in free)
