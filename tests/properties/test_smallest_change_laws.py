"""Every smallest change is sufficient and minimal: decided again with it the group starts, with less not."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final

import pytest

from maar.core.admission.request import Options
from maar.core.answers.explain.decision_trials import DecisionTrials, effect_now
from maar.core.answers.explain.single_changes import (
    AddTolerations,
    DeleteGroup,
    MoreNodes,
    RaiseCapability,
    SetPriority,
    SetWeight,
    SingleChange,
)
from maar.core.answers.explain.smallest_change import least, smallest_changes
from maar.core.answers.future import Present
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.whatif.changes import apply
from maar.core.cycle import decide, settle
from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.reporting.plan import plan_of
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Growing, Trial
from properties.clusters import grow, recipes
from properties.full_clusters import full_cluster
from properties.how_many import cases
from properties.manifest_changes import (
    capped_cluster,
    changed,
    configuration_of,
    declaring_cluster,
    is_allowed,
    one_step_less,
    starts,
    tainted_cluster,
)

CLUSTERS: Final = cases(20)
GROUPS: Final = 2  # of a cluster that are asked about


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


@pytest.mark.parametrize(
    ("growing", "often"),
    [
        (grow, (MoreNodes, DeleteGroup)),
        (full_cluster, (MoreNodes, SetWeight)),
        (capped_cluster, (RaiseCapability, DeleteGroup)),
        (declaring_cluster, (DeleteGroup,)),
        (tainted_cluster, (AddTolerations, SetPriority)),
    ],
    ids=["any", "full", "capped", "declaring", "tainted"],
)
def test_every_smallest_change_is_sufficient_and_minimal(
    growing: Growing, often: tuple[type[SingleChange], ...], trial: Trial
) -> None:
    seen = Counter[object]()

    def check(case: Case) -> Iterator[str]:
        configuration, objects, now = (
            configuration_of(case.cluster),
            tuple(case.cluster.objects),
            NOW.timestamp(),
        )
        engine = Engine(configuration)
        engine.feed(Upserted(object=one) for one in objects)  # type: ignore[arg-type]
        settle(engine.tables, configuration, now)
        state = decide(engine.tables, configuration, now)
        waiting = {
            key: one.refusal
            for key, one in plan_of(state).pod_groups.items()
            if one.refusal is not None and key in engine.tables.groups and engine.tables.groups[key].pods
        }
        for key in case.rng.sample(sorted(waiting), min(GROUPS, len(waiting))):
            present = Present(objects, configuration, now)
            found = smallest_changes(present, state, waiting[key], key)
            seen["asked"] += 1
            seen["nothing"] += not found.found and found.starts is None
            yield from breaches(case, key, None, must_start=found.starts is not None)
            for change, effect in found.found:
                seen[type(change)] += 1
                seen["by eviction"] += bool(effect.victims)
                yield from breaches(case, key, change, must_start=True)
                for less in one_step_less(change):
                    yield from breaches(case, key, less, must_start=False)
            seen[waiting[key].reason] += 1
            yield from contradictions(present, key, [one.change for one in found.found])

    trial.of(check, recipes(Reach.MODEL), CLUSTERS, growing)
    assert seen["asked"] > seen["nothing"]
    assert all(seen[kind] for kind in often), seen


def contradictions(present: Present, key: str, changes: Sequence[SingleChange]) -> Iterator[str]:
    """What else an answer says that is not true where it says of a group that its end starts another."""
    ends = [one.group for one in changes if isinstance(one, DeleteGroup) and one.pods]
    start = planned_starts(present, groups=[key]).get(key) if ends else None  # None: it does not wait
    because = "" if start is None else start.because
    if because.startswith("It does not start when others end"):
        yield f"{key} starts when {ends} end, and: {because}"


def breaches(case: Case, key: str, change: SingleChange | None, *, must_start: bool) -> Iterator[str]:
    """What is wrong with the claim that a group starts with a change, or does not."""
    if not is_allowed(case.cluster, change):
        if must_start:
            yield f"a cluster refuses {change}"
        return
    documents = list(case.cluster.documents) if change is None else changed(case.cluster, change)
    if starts(documents, configuration_of(case.cluster), key) != must_start:
        yield f"with {change}, {key} {'does not start' if must_start else 'starts'}"


@pytest.mark.parametrize("growing", [grow, full_cluster], ids=["any", "full"])
def test_tries_on_one_engine_equal_those_on_new_ones(growing: Growing, trial: Trial) -> None:
    seen = Counter[object]()

    def check(case: Case) -> Iterator[str]:
        objects = tuple(case.cluster.objects)
        present = Present(objects, configuration_of(case.cluster), NOW.timestamp())
        groups = [one for one in objects if isinstance(one, PodGroup)]
        key = case.rng.choice(groups).key
        trials = DecisionTrials(present, key)
        for change in (None, *some_changes(objects, key, case.rng), None):
            changes = [] if change is None else change.changes(objects)
            made = apply(objects, changes, Options()).objects
            kept, new = trials.effect(changes), effect_now(replace(present, objects=made), key)
            seen[new is None] += 1
            if kept != new:
                yield f"{key} with {change}: {kept}, and on a new engine {new}"

    trial.of(check, recipes(Reach.MODEL), CLUSTERS, growing)
    assert seen[True]
    assert seen[False]


def some_changes(objects: Sequence[Object], key: str, rng: Random) -> Iterator[SingleChange]:
    """One change of each kind."""
    node = rng.choice([one for one in objects if isinstance(one, Node)])
    queue = rng.choice([one for one in objects if isinstance(one, Queue)])
    other = rng.choice([one.key for one in objects if isinstance(one, PodGroup)])
    yield MoreNodes(like=node.key, count=rng.randint(1, 3), allocatable=node.status.allocatable)
    yield SetWeight(queue=queue.key, weight=queue.spec.weight * 5, before=queue.spec.weight)
    if other != key:
        yield DeleteGroup(group=other, job=other, pods=0, queue="")


@pytest.mark.parametrize("most", [1, 2, 7, 64, 1000])
def test_the_least_number_is_found_whether_or_not_more_always_helps(most: int) -> None:
    for number in range(1, most + 1, max(1, most // 9)):
        assert least(lambda count, enough=number: count >= enough, most) == number  # type: ignore[misc]
    odd = least(lambda count: count == most or count % 5 == 3, most)
    assert odd is not None
    assert odd == most or odd % 5 == 3
    assert odd == 1 or (odd - 1) % 5 != 3
    assert least(lambda _: False, most) is None
