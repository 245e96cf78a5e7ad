"""Try a law on many random clusters, and count what they were like."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from random import Random

import msgspec
from hypothesis import example, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from properties.cluster_manifests import NOW
from properties.cluster_recipe import Recipe
from properties.clusters import Cluster, TrialCounts, cut_down, grow
from properties.cycle_histories import Cycle, Planner
from properties.cycle_outcomes import Outcome
from properties.how_many import cases
from support.planning import plan

Check = Callable[["Case"], Iterable[str]]
Growing = Callable[[Recipe], Cluster]
ENOUGH_EVICTIONS = 0.3  # of the clusters


@dataclass(frozen=True)
class Case:
    """A random cluster, and the plan for it."""

    cluster: Cluster
    cycle: Cycle
    outcome: Outcome

    @classmethod
    def of(cls, cluster: Cluster) -> "Case":
        """Ask the engine."""
        cycle = planned(cluster)
        return cls(cluster, cycle, Outcome.of(cluster.objects, cycle))

    @property
    def rng(self) -> Random:
        """For what a law changes about the cluster."""
        return Random(str(self.cluster))


def planned(cluster: Cluster) -> Cycle:
    """What the engine decides in one cycle."""
    return by_engine(cluster.configuration)(cluster, NOW)


def by_engine(configuration: object = None) -> Planner:
    """Return one cycle of the engine as a planner."""

    def planner(cluster: Cluster, now: datetime) -> Cycle:
        decided = plan(cluster.objects, configuration, now)["cycles"]
        assert isinstance(decided, list)
        cycle: Cycle = decided[0]
        return cycle

    return planner


@lru_cache(maxsize=cases(500))  # as many as the laws of plans are tried on, one law after the other
def case_of(recipe: Recipe, growing: Growing) -> Case:
    """The cluster of a recipe and its plan; the laws are tried on the same ones."""
    return Case.of(growing(recipe))


@dataclass(frozen=True)
class Trial:
    """Where and how often a law is tried; `record` makes what was seen part of pytest's report."""

    seed: int
    record: Callable[[str, object], None]

    def of(
        self,
        check: Check,
        recipes: st.SearchStrategy[Recipe],
        examples: int,
        growing: Growing = grow,
        *,
        kept: Iterable[Recipe] = (),
    ) -> TrialCounts:
        """Try the law on those kept and as many others; a breach is shown with the smallest cluster."""
        trial_counts = TrialCounts()
        broken = list[Case]()

        @seeded(self.seed)
        @settings(max_examples=examples)
        @given(recipe=recipes)
        def holds(recipe: Recipe) -> None:
            case = case_of(recipe, growing)
            trial_counts.count(case.cycle)
            before = msgspec.json.encode(case.cluster.documents)
            breaches = list(check(case))
            if msgspec.json.encode(case.cluster.documents) != before:
                raise ValueError("the law changes a cluster, which other laws are tried on too")
            if breaches:
                broken.append(case)
                raise AssertionError("\n".join(breaches))

        for recipe in kept:
            holds = example(recipe=recipe)(holds)
        self.record("seed", self.seed)
        try:
            holds()
        except AssertionError as breach:
            smallest = smallest_with(next(iter(check(broken[-1]))), broken[-1].cluster, check)
            for sentence in check(Case.of(smallest)):
                breach.add_note(f"smallest: {sentence}")
            breach.add_note(str(smallest))
            raise
        self.record("counts", str(trial_counts))
        return trial_counts


def smallest_with(breach: str, cluster: Cluster, check: Check) -> Cluster:
    """Cut a cluster down to what shows a breach that begins like this one."""
    kind = breach.split()[:2]
    return cut_down(cluster, lambda cut: any(one.split()[:2] == kind for one in check(Case.of(cut))))
