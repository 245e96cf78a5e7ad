"""Random clusters in virtual time: every decision is lawful, and all finite work that fits ends."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import isnan
from typing import Final
from zlib import crc32

import pytest

from maar.core.answers.plan.ask import plan_data, whole
from maar.core.engine import Brevity
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.simulation.virtual_time import Simulation
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, recipes
from properties.cycle_histories import finite_work
from properties.cycle_outcomes import Outcome
from properties.how_many import cases
from properties.law_checkers import OF_PLANS

CLUSTERS: Final = cases(40)
LAWS: Final = ("C1", "C2", "C3")
LONGEST_RUN_S: Final = 40
START: Final = NOW.timestamp()


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def run_time(pod: Pod) -> float | None:
    """Up to forty seconds, by the pod's name; pods that are not of groups never end."""
    return (
        1.0 + crc32(pod.key.encode()) % LONGEST_RUN_S
        if GROUP_ANNOTATION in pod.metadata.annotations
        else None
    )


def with_arrivals(cluster: Cluster, *, keep_finished: float = 0.0) -> Simulation:
    """A simulation of a cluster in which half of the groups that do not run come later, one by one."""
    started = {_group(one) for one in cluster.objects if isinstance(one, Pod) and one.spec.node_name}
    later = {
        one.key: 1.0 + crc32(one.key.encode()) % 60
        for one in cluster.objects
        if isinstance(one, PodGroup) and one.key not in started and crc32(one.key.encode()) % 2
    }
    coming = dict[float, list[Object]]()
    for one in cluster.objects:
        key = _group(one) if isinstance(one, Pod) else one.key if isinstance(one, PodGroup) else ""
        coming.setdefault(later.get(key, 0.0), []).append(one)
    simulation = Simulation(coming.pop(0.0, []), run_time, start=START, keep_finished=keep_finished)
    for time in sorted(coming):
        simulation.submit(START + time, coming[time])
    return simulation


def _group(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_ANNOTATION, '')}"


def outcomes(simulation: Simulation, objects: Iterable[Object]) -> Iterator[Outcome]:
    """Every decision with the cluster as it was before it."""
    decide, made = simulation.engine.decide, list[Outcome]()
    others = [one for one in objects if not isinstance(one, Pod | PodGroup)]

    def decided(now: float, *, is_brief: Brevity = False) -> Plan:
        cluster = simulation.cluster
        before = [*others, *cluster.pods.values(), *cluster.groups.values()]
        plan = decide(now, is_brief=is_brief)
        cycle = plan_data(whole(plan, simulation.engine.tables.groups.values()))
        made.append(Outcome.of(before, cycle))
        return plan

    simulation.engine.decide = decided  # type: ignore[method-assign]
    for _ in simulation.run():
        yield from made
        made.clear()


@pytest.mark.parametrize("kept", [0.0, 30.0], ids=["nothing is kept", "ended groups are kept"])
@pytest.mark.parametrize("reach", [Reach.MODEL, Reach.BEYOND], ids=lambda reach: reach.name)
def test_every_decision_is_lawful(reach: Reach, trial: Trial, kept: float) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        simulation = with_arrivals(case.cluster, keep_finished=kept)
        for number, outcome in enumerate(islice(outcomes(simulation, case.cluster.objects), 60)):
            seen["binds later"] += bool(number and outcome.binds)
            seen["evictions later"] += bool(number and outcome.evictions)
            for law in LAWS:
                time = simulation.time - START
                yield from (f"{law} at {time} s: {breach}" for breach in OF_PLANS[law](outcome))

    trial.of(check, recipes(reach), CLUSTERS // 2)
    assert seen["binds later"] > CLUSTERS
    assert seen["evictions later"]


def test_all_finite_work_that_fits_ends(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        cluster = finite_work(case.cluster)
        simulation = with_arrivals(cluster)
        for _ in simulation.run():
            pass
        times = simulation.times()
        expected = Counter(_group(one) for one in cluster.objects if isinstance(one, Pod) and _lives(one))
        for key, started, ended in zip(times.group, times.started, times.ended, strict=True):
            if expected[key] and isnan(ended):
                yield f"group {key} never ended; it started at {started}"
        if simulation.cluster.groups.keys() & expected.keys():
            yield f"groups {sorted(simulation.cluster.groups)} are still there"

    trial.of(check, recipes(Reach.MODEL), CLUSTERS)


def _lives(pod: Pod) -> bool:
    return not pod.is_finished and not pod.is_terminating


def test_the_order_in_which_objects_are_given_does_not_matter(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        first, other = with_arrivals(case.cluster), with_arrivals(case.cluster.shuffled(case.rng))
        for (time, plan), (again_at, again) in zip(first.run(), other.run(), strict=True):
            if (time, plan_data(plan)) != (again_at, plan_data(again)):
                yield f"at {time - START} s the plan was {plan_data(plan)}, and then {plan_data(again)}"
                return

    trial.of(check, recipes(Reach.MODEL), CLUSTERS // 2)
