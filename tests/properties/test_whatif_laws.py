"""Laws of what-if: a change at rest is as in a cluster that is read anew, and no change does nothing."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from maar.core.admission.request import Options
from maar.core.answers.future import Future, Present
from maar.core.answers.whatif.ask import WhatIf, objects_at_rest, what_if
from maar.core.answers.whatif.changes import Change, DeleteObject, SetField, apply
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.model.events import Upserted
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.resources import Resources
from properties import crowds
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Trial
from properties.clusters import recipes
from properties.full_clusters import full_cluster
from properties.how_many import cases
from properties.manifest_changes import configuration_of

CLUSTERS: Final = cases(120)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def present_of(case: Case) -> Present:
    """The cluster of a case."""
    return Present(tuple(case.cluster.objects), configuration_of(case.cluster), NOW.timestamp())


def some_change(objects: tuple[Object, ...], choice: random.Random) -> Change:
    """A field of a queue or a node, or a group or node that goes."""
    queues = [one.key for one in objects if isinstance(one, Queue) and one.key != "root"] or ["default"]
    nodes = [one.key for one in objects if isinstance(one, Node)]
    groups = [one.key for one in objects if isinstance(one, PodGroup)]
    queue = choice.choice(queues)
    changes: list[Change] = [
        SetField(f"queue/{queue}.weight", choice.randint(1, 9)),
        SetField(f"queue/{queue}.capability.cpu", choice.randint(0, 16)),
        SetField(f"queue/{queue}.guarantee.percentage.cpu", choice.randint(0, 40)),
        SetField(f"queue/{queue}.reclaimable", choice.random() < 0.5),
        SetField(f"queue/{queue}.priority", choice.randint(0, 3)),
    ]
    changes += [SetField(f"node/{one}.unschedulable", "true") for one in nodes[:2]]
    changes += [DeleteObject(f"podgroup/{one}") for one in groups[:3]]
    return choice.choice(changes)


def test_a_change_of_a_cluster_at_rest_is_as_of_one_that_is_read_anew(trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        present = present_of(case)
        change = some_change(present.objects, case.rng)
        try:
            answer = what_if(present, [change])
        except BadChangeError:
            seen["refused"] += 1
            return
        seen[type(change).__name__] += 1
        seen["with evictions"] += answer.evicts
        before = Future(present, victims_return_later=True)
        before.now()
        changed = apply(objects_at_rest(present.objects, before), [change], Options())
        after = Future(
            Present(changed.objects, present.configuration, present.now), victims_return_later=True
        )
        plans = after.now()
        evicted = [one.pod for plan in plans for one in plan.evictions]
        if evicted != answer.evictions.pod:
            yield f"{change}: evicts {answer.evictions.pod}, and read anew {evicted}"
        nodes = {key: one.spec.node_name for key, one in after.simulation.cluster.pods.items()}
        started = dict(zip(answer.binds.pod, answer.binds.node, strict=True))
        wrong = {pod: node for pod, node in started.items() if nodes.get(pod) != node}
        if wrong:
            yield f"{change}: binds {wrong}, and read anew {[nodes.get(one) for one in wrong]}"
        last = after.simulation.engine.decide(present.now).queues
        deserved = {name: one.deserved for name, one in last.items()}
        if deserved != deserved_after(answer, deserved):
            yield f"{change}: {deserved_after(answer, deserved)} is deserved, and read anew {deserved}"

    counts = trial.of(check, recipes(Reach.MODEL), CLUSTERS, full_cluster)
    trial.record("seen", str(seen))
    assert seen["refused"] < counts.clusters / 2, seen
    assert seen["with evictions"], seen


def deserved_after(answer: WhatIf, names: dict[str, Resources]) -> dict[str, Resources]:
    """What queues deserve with the change, with the resources that they have."""
    found: dict[str, dict[str, int]] = {name: {} for name in names}
    columns = answer.queues
    rows = zip(columns.queue, columns.resource, columns.deserved_after.tolist(), strict=True)
    for name, resource, units in rows:
        if name in names and resource in names[name]:
            found[name][resource] = units
    return {name: Resources(units) for name, units in found.items()}


def test_a_change_of_nothing_does_nothing(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        present = present_of(case)
        queue = next(one for one in present.objects if isinstance(one, Queue) and one.key != "root")
        try:
            answer = what_if(present, [SetField(f"queue/{queue.key}.weight", queue.spec.weight)])
        except BadChangeError:
            return
        if answer.evicts or answer.binds.pod:
            yield f"nothing changes, and {answer!r}"
        if (answer.queues.deserved_before != answer.queues.deserved_after).any():
            yield "nothing changes, and queues deserve something else"

    trial.of(check, recipes(Reach.MODEL), CLUSTERS, full_cluster)


def test_victims_that_return_are_not_evicted_over_and_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the plugin gang cleanup evicted pods that backfill then placed again."""
    rounds, return_victims = list[int](), Future._return_victims  # noqa: SLF001

    def returned(future: Future) -> None:
        rounds.append(len(rounds))
        return_victims(future)

    monkeypatch.setattr(Future, "_return_victims", returned)
    rng = random.Random(59)
    crowd = crowds.ContestedCrowd(rng, crowds.configuration(rng))
    for _ in crowd.live(8):
        pass
    objects = tuple(event.object for event in crowd.events() if isinstance(event, Upserted))
    present = Present(objects, crowd.configuration, crowd.time)
    queue = min(one.metadata.name for one in objects if isinstance(one, Queue) and one.key != "root")
    what_if(present, [SetField(f"queue/{queue}.weight", 7)])
    assert len(rounds) < 5, "of 141 groups, as law 6 has it"
