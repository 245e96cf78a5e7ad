"""Law E11 on random clusters of half gangs: none waits for another that waits for it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

import pytest

from maar.core.cycle.evicting.half_gangs import HalfGangs
from maar.core.model.pod import Pod
from properties.cluster_manifests import NOW, Document, GroupPlan, node, pod_group, pods_of, queue
from properties.cluster_reading import Moment
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, recipes
from properties.cycle_outcomes import (
    Outcome,
    fits_together,
    given_away,
    placed_somewhere,
    request,
    turn,
    within,
)
from properties.eviction_checkers import cleanup_takes_only_who_starves, starved_long
from properties.how_many import cases

EXAMPLES: Final = cases(200)
LONG_AGO: Final = (NOW - timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def half_gangs(recipe: Recipe) -> Cluster:
    """Grow a cluster whose nodes gangs hold that have lost some of their pods."""
    rng = recipe.random("half gangs")
    leaves = [f"q{number}" for number in range(1 + recipe.queues % 3)]
    idle = {f"n{number}": rng.randint(1, 6) for number in range(1 + recipe.nodes)}
    documents: list[Document] = [
        node(name, {"cpu": 1000 * size, "pods": 110}, {}) for name, size in idle.items()
    ]
    for name in leaves:
        spec: Document = {"weight": rng.randint(1, 2)}
        if rng.random() < 0.2:
            spec["capability"] = {"cpu": rng.randint(3, 9)}
        if rng.random() < 0.2:
            spec["guarantee"] = {"resource": {"cpu": rng.randint(1, 2)}}
        documents.append(queue(name, spec, 50_000))
    for number in range(2 + recipe.groups % 4):
        size, cores = rng.randint(2, 6), rng.choice((1, 1, 2))
        plan = GroupPlan(
            name=f"g{number}",
            namespace="alpha",
            queue=rng.choice(leaves),
            size=size,
            min_member=size,
            request={"cpu": 1000 * cores},
            age=rng.randrange(1000, 9000),
        )
        group, pods = pod_group(plan, "Running"), pods_of(plan)
        stuck = {"type": "Unschedulable", "status": "True", "lastTransitionTime": LONG_AGO}
        group["status"] = {"phase": "Running", "conditions": [stuck]}
        for pod in pods[: rng.randint(1, size - 1)]:
            roomy = [name for name, left in idle.items() if left >= cores]
            if roomy:
                place = rng.choice(roomy)
                idle[place] -= cores
                pod["spec"]["nodeName"], pod["status"]["phase"] = place, "Running"
        documents += [group, *pods]
    return Cluster(documents)


def e11_no_half_gangs_wait_for_each_other(outcome: Outcome) -> Iterator[str]:
    """E11: none that has starved for long could be ready with what others of them hold.

    Within deserved it may take from all of them; on loan from those that would be on loan too.
    """
    reading, after = outcome.reading, outcome.after
    halves = {
        key: {pod.key for pod in after.running(key)}
        for key in reading.groups
        if after.is_starving(key) and starved_long(reading, key, NOW)
    }
    halves = {
        key: pods
        for key, pods in halves.items()
        if pods and not any(pod.key in outcome.nominations for pod in reading.pods_of[key])
    }
    for key in halves:
        chosen = next_turn(after, key)
        if not chosen or fits_together(after, chosen) is not None:
            continue  # else it starts once victims are gone
        others = [other for other in halves if other != key]
        lent = [other for other in others if not is_deserved(after, other)]
        for makers, is_allowed in ((others, is_deserved), (lent, is_lent)):
            alone = after.without([pod for other in makers for pod in halves[other]])
            if is_allowed(alone, key) and fits_together(alone, chosen) is not None:
                yield f"group {key} could start with what {makers} hold"
                break


def is_deserved(moment: Moment, group: str) -> bool:
    """Whether its queues stay within deserved once a group is ready."""
    leaf, wanted = moment.reading.groups[group].spec.queue, request(next_turn(moment, group))
    return not any(within(moment, leaf, wanted, "deserved"))


def is_lent(moment: Moment, group: str) -> bool:
    """Whether allocate would lend what a group needs to be ready."""
    leaf, pods = moment.reading.groups[group].spec.queue, next_turn(moment, group)
    wanted, there = request(pods), placed_somewhere(moment, pods)
    return not any(within(moment, leaf, wanted, "real_capability")) and not given_away(
        moment, there, leaf, wanted.keys()
    )


def next_turn(moment: Moment, group: str) -> list[Pod]:
    """The pods that make a group ready."""
    return turn(moment, group, moment.waiting(group))


def test_e11_half_gangs_make_room_for_each_other(trial: Trial) -> None:
    seen = {"evictions": 0}

    def check(case: Case) -> Iterator[str]:
        seen["evictions"] += any(one.beneficiary for one in case.outcome.evictions if one.action == "cleanup")
        yield from e11_no_half_gangs_wait_for_each_other(case.outcome)
        yield from cleanup_takes_only_who_starves(case.outcome)

    trial.of(check, recipes(Reach.MODEL), EXAMPLES, half_gangs)
    assert seen["evictions"] >= EXAMPLES // 10


def test_e11_notices_half_gangs_that_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HalfGangs, "make_room", lambda _: None)
    made = [
        half_gangs(Recipe(seed, 1 + seed % 3, seed, 4 + seed, 1, Style.MIXED, Reach.MODEL))
        for seed in range(40)
    ]
    assert sum(any(e11_no_half_gangs_wait_for_each_other(Case.of(one).outcome)) for one in made) >= 3
