"""Minimum run times: the engine against the reference model, on one node and with all groups admitted.

Compared are evictions, and where nobody is evicted the times of `VictimsProtectedUntil`: the model works them
out while others may still be served, the engine afterwards. Whatever else the two differ in is not a matter
of minimum run times, so only clusters are compared on which they agree without them.

Both search greedily, and may miss later a set that they find with fewer units. The model tries every time,
the engine looks at the last one first (decision 50), so the times of groups for which that happens in the
model are not compared.

The model is asked with two changes, where docs/specification says more: since when a group is ready does not
change while a cycle evicts pods of it, and a group that is ready has not waited, whatever its condition says.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import pytest

from maar.core.model.reasons import Reason
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach, Recipe
from properties.cluster_trials import Case, Trial, planned
from properties.clusters import Cluster, grow, recipes
from properties.cycle_histories import Cycle
from properties.cycle_outcomes import Outcome
from properties.how_many import cases
from properties.reference_model import FOLDER, IS_THERE, ReferenceModel
from properties.run_times import with_run_times, without_run_times
from properties.test_model_differential import are_counted_differently, evictions

CLUSTERS: Final = cases(120)
UNSTEADY: Final[set[str]] = set()  # groups for which the model finds a set at some time, and later none
TIMED: Final = Reason.VICTIMS_PROTECTED_UNTIL


@cache
def model() -> ReferenceModel:
    """The model with the changes above."""
    found = ReferenceModel()
    cycle, runs_since = found.parts["cycle"].Cycle, found.parts["cycle"].Cycle.runs_since
    too_young = found.parts["cycle"].Attempt.too_young

    def from_the_snapshot(self: Any, pod: Any) -> datetime:  # noqa: ANN401
        evicted, self.evicted = self.evicted, set()
        since: datetime = runs_since(self, pod)
        self.evicted = evicted
        return since

    def unless_ready(self: Any, pod: Any) -> bool:  # noqa: ANN401
        since = self.group.unschedulable_since
        if self.cycle.ready(self.group):
            self.group.unschedulable_since = None
        is_young = bool(too_young(self, pod))
        self.group.unschedulable_since = since
        return is_young

    def until(self: Any) -> datetime | None:  # noqa: ANN401
        now, moments = self.moment, sorted(time for time in candidates(self) if time > self.moment)
        finds = []
        for self.moment in moments:
            finds.append(bool(self.search()))
        self.moment = now
        if finds != sorted(finds):
            UNSTEADY.add(self.group.name)
        return next((moment for moment, is_found in zip(moments, finds, strict=True) if is_found), None)

    attempt = found.parts["cycle"].Attempt
    cycle.runs_since, attempt.too_young, attempt.until = from_the_snapshot, unless_ready, until
    return found


def candidates(attempt: Any) -> Iterator[datetime]:  # noqa: ANN401
    """When minimum run times end, of pods that run and of those that wait."""
    cycle = attempt.cycle
    for group in cycle.cluster.groups.values():
        least = cycle.min_runtime(group.queue, attempt.action) if group.queue in cycle.leaves else None
        for pod in cycle.running(group) if least else []:
            yield cycle.runs_since(pod) + least
            yield (attempt.group.unschedulable_since or attempt.moment) + least


pytestmark = pytest.mark.skipif(
    not IS_THERE or "min_runtime" not in (FOLDER / "cycle.py").read_text(encoding="utf-8"),
    reason=f"no reference model with minimum run times is in {FOLDER}",
)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where the two are compared."""
    return Trial(seed, record_property)


def test_minimum_run_times_are_those_of_the_reference_model(trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        plain = without_run_times(case.cluster)
        before = planned(plain)
        if not agree(before, asked(plain, before)):
            return
        theirs = asked(case.cluster, case.cycle)
        if are_counted_differently(case.outcome, Outcome(case.outcome.reading, theirs)):
            return
        seen["evictions"] += bool(case.cycle["evictions"])
        seen["fewer"] += evictions(before) != evictions(case.cycle)
        if not agree(case.cycle, theirs):
            yield f"the engine evicts {evictions(case.cycle)}, the model {evictions(theirs)}"
        elif not case.cycle["evictions"]:
            ours, expected = times(case.cycle), times(theirs)
            for group in UNSTEADY:
                ours.pop(group, None), expected.pop(group, None)
            seen["times"] += bool(ours)
            if ours != expected:
                yield f"the engine says {ours}, the model {expected}"

    trial.of(check, recipes(Reach.SINGLE), CLUSTERS, admitted)
    assert min(seen["evictions"], seen["fewer"], seen["times"]) >= CLUSTERS // 20, seen


def admitted(recipe: Recipe) -> Cluster:
    """A random cluster with minimum run times, and nobody at the gate."""
    cluster = with_run_times(grow(recipe), recipe, ("2m", "1h"), chance=0.8)
    documents = deepcopy(list(cluster.documents))
    for document in documents:
        if document["kind"] == "PodGroup":
            document["spec"].pop("minResources", None)
    return Cluster(documents)


def asked(cluster: Cluster, ours: Cycle) -> Cycle:
    """What the model decides."""
    UNSTEADY.clear()
    return model().advised_plan(cluster.documents, NOW, {**ours["nominations"], **ours["binds"]})


def agree(ours: Cycle, theirs: Cycle) -> bool:
    """Whether both bind and evict the same."""
    same = sorted(evictions(ours), key=str) == sorted(evictions(theirs), key=str)
    return same and ours["binds"] == theirs["binds"]


def times(cycle: Cycle) -> dict[str, datetime]:
    """Until when which group waits for a minimum run time; the engine's are whole seconds."""
    texts = {
        key: one.get("until") or one["message"]
        for key, one in cycle["podGroups"].items()
        if one["reason"] == TIMED
    }
    return {key: rounded(datetime.fromisoformat(text)) for key, text in texts.items()}


def rounded(time: datetime) -> datetime:
    """The next whole second."""
    return time if not time.microsecond else time.replace(microsecond=0) + timedelta(seconds=1)
