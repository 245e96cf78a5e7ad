"""Try a law on many random trees, against the kernel or the slow implementation, and count the cases."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from maar.core.fairshare import QueueTree
from maar.core.fairshare import Share as KernelShare
from maar.core.fairshare import share_out as kernel
from maar.core.model.queue import ROOT
from properties.how_many import cases
from properties.levels import Level, Rolled, Shares, levels, roll_up
from properties.slow_fairshare import Share
from properties.slow_fairshare import share_out as share_out_slowly
from properties.trees import Recipe, Tree, recipes
from properties.trial_counts import TrialCounts

Engine = Callable[[Tree], Shares]


def by_kernel(tree: Tree) -> Shares:
    """Ask the fast kernel."""
    return {
        name: as_plain_data(share) for name, share in kernel(QueueTree.of(tree.claims), tree.total).items()
    }


def as_plain_data(share: KernelShare) -> Share:
    """Keep what both implementations say of a queue."""
    return Share(
        deserved=dict(share.deserved),
        real_capability=dict(share.real_capability),
        guarantee=dict(share.guarantee),
        floor=dict(share.floor),
        request=dict(share.request),
        ceiling=dict(share.ceiling),
        binding={resource: str(constraint) for resource, constraint in share.binding.items()},
        reduced=share.reduced,
    )


def by_definition(tree: Tree) -> Shares:
    """Share out by the slow implementation."""
    return share_out_slowly(tree.claims, tree.total)


ENGINES: Final[dict[str, tuple[Engine, int]]] = {
    "kernel": (by_kernel, cases(1000)),
    "slow": (by_definition, cases(60)),
}


@dataclass(frozen=True)
class Case:
    """A random tree, and the answer to it."""

    recipe: Recipe
    tree: Tree
    engine: Engine

    @cached_property
    def shares(self) -> Shares:
        """The answer for the tree as it is."""
        return self.engine(self.tree)

    @cached_property
    def rng(self) -> Random:
        """For what a law changes about the tree."""
        return self.recipe.random("the law's own")

    @cached_property
    def rolled(self) -> dict[str, dict[str, Rolled]]:
        """What every queue claims of a resource with all that is below it."""
        return {resource: roll_up(self.tree, resource) for resource in self.shares[ROOT].deserved}

    def levels(self) -> Iterator[Level]:
        """Every group of siblings, resource by resource."""
        return levels(self.tree, self.shares)

    @cached_property
    def short(self) -> set[tuple[str, str]]:
        """The queues and resources whose children's soft guarantees do not all fit."""
        return {(level.parent, level.resource) for level in self.levels() if level.is_short}

    def borrows_claims(self, name: str, resource: str, among: Collection[str]) -> bool:
        """Whether one of these above a queue claims what its children do, on a short level."""
        return any(
            (self.tree.by_name[above].parent, resource) in self.short
            for above in self.tree.above(name)
            if above in among and above != ROOT and resource not in self.tree.by_name[above].soft_guarantee
        )


Law = Callable[[Case], None]


@dataclass(frozen=True)
class Trial:
    """Where and how often a law is tried; `record` makes what was seen part of pytest's report."""

    engine: Engine
    examples: int
    seed: int
    record: Callable[[str, object], None]

    def of(self, law: Law, drawn: st.SearchStrategy[Recipe]) -> None:
        """Try the law on as many trees; the trees must have been worth it."""
        trial_counts = TrialCounts()

        @seeded(f"{self.seed} {law.__name__}")
        @settings(max_examples=self.examples)
        @given(recipe=drawn)
        def holds(recipe: Recipe) -> None:
            case = Case(recipe, recipe.grow(), self.engine)
            try:
                law(case)
                trial_counts.count(case.tree, case.shares)
            except Exception as failure:
                failure.add_note(f"{recipe}.grow():\n{case.tree}")
                raise

        self.record("seed", self.seed)
        holds()
        self.record("counts", str(trial_counts))
        trial_counts.require(self.examples)


def for_all_trees(
    drawn: st.SearchStrategy[Recipe] | None = None, engines: Iterable[str] = ENGINES
) -> Callable[[Law], Callable[[Trial], None]]:
    """Make a test of a law."""

    def make(law: Law) -> Callable[[Trial], None]:
        @pytest.mark.parametrize("trial", engines, indirect=True)
        def test(trial: Trial) -> None:
            trial.of(law, recipes() if drawn is None else drawn)

        test.__name__, test.__doc__ = law.__name__, law.__doc__
        return test

    return make
