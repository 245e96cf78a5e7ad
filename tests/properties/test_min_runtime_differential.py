"""Minimum run times: the engine against the reference model, on one node and with all groups admitted.

Compared are evictions, and where nobody is evicted the times of `VictimsProtectedUntil`: the model
works them out while others may still be served, the engine afterwards. Whatever else the two differ
in is not a matter of minimum run times, so only clusters are compared on which they agree without
them.

Both search greedily, and may miss later a set that they find with fewer units. The model tries
every time, the engine looks at the last one first (decision 50), so the times of groups for which
that happens in the model are not compared.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Final

import pytest

from maar.core.model.reasons import Reason
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach, Recipe
from properties.cluster_trials import Case, Trial, planned
from properties.clusters import Cluster, grow, recipes
from properties.cycle_histories import Cycle
from properties.cycle_outcomes import Outcome
from properties.how_many import cases
from properties.reference_model import advised_cycle
from properties.run_times import with_run_times, without_run_times
from properties.test_model_differential import are_counted_differently, evictions
from reference import shown_cycle

CLUSTERS: Final = cases(120)
TIMED: Final = Reason.VICTIMS_PROTECTED_UNTIL


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where the two are compared."""
    return Trial(seed, record_property)


def test_minimum_run_times_are_those_of_the_reference_model(trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        plain = without_run_times(case.cluster)
        before = planned(plain)
        if not agree(before, asked(plain, before)[0]):
            return
        theirs, unsteady = asked(case.cluster, case.cycle)
        if are_counted_differently(case.outcome, Outcome(case.outcome.reading, theirs)):
            return
        seen["evictions"] += bool(case.cycle["evictions"])
        seen["fewer"] += evictions(before) != evictions(case.cycle)
        if not agree(case.cycle, theirs):
            yield f"the engine evicts {evictions(case.cycle)}, the model {evictions(theirs)}"
        elif not case.cycle["evictions"]:
            ours, expected = times(case.cycle), times(theirs)
            for group in unsteady:
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


def asked(cluster: Cluster, ours: Cycle) -> tuple[Cycle, set[str]]:
    """What the model decides, and for which groups it finds victims at some time, and later none."""
    cycle = advised_cycle(cluster.documents, NOW, {**ours["nominations"], **ours["binds"]})
    return shown_cycle(cycle), cycle.unsteady


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
