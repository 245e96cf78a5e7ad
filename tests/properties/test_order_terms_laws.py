"""The terms of the order are those that the cycle used: from them alone its turns follow."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pytest

from maar.core.answers.explain.order_terms import (
    OrderTerms,
    place_in_order,
    places_in_queues,
    terms_of_all,
)
from maar.core.cycle import allocate, classes, enqueue
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.inspect import OrderKind
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import Phase, TurnOrder
from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.names import natural
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Growing, Trial
from properties.clusters import grow, recipes
from properties.full_clusters import full_cluster
from properties.how_many import cases
from properties.manifest_changes import configuration_of

CLUSTERS: Final = cases(80)


class RecordedTurns(TurnOrder):
    """The order of the engine itself, which keeps whose turn it was until pods were placed."""

    all: Final[list["RecordedTurns"]] = []

    def __init__(
        self, state: State, phase: Phase, groups: list[GroupState], hopeless: Sequence[GroupState] = ()
    ) -> None:
        super().__init__(state, phase, groups, hopeless)
        self.members = {group.row.key for group in groups}
        self.phase, self.keys_in_order, self.is_over = phase, list[str](), False
        self._placed = len(state.bound), len(state.promised)
        self.all.append(self)

    def next(self) -> GroupState | None:
        """Note whose turn it is, while it is as at the beginning."""
        group = super().next()
        self.is_over |= self._placed != (len(self.state.bound), len(self.state.promised))
        if group is not None and not self.is_over:
            self.keys_in_order.append(group.row.key)
        return group

    def stop(self, leaf: int, which: Callable[[GroupState], bool] | None = None) -> list[GroupState]:
        """Note that groups have left without a turn."""
        self.is_over = True
        return super().stop(leaf, which)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def in_order(terms: Mapping[str, OrderTerms]) -> list[str]:
    """Whose turn is next, again and again, from the terms alone."""
    left, found = dict(terms), list[str]()
    while left:
        oldest: dict[tuple[str, str], float] = {}
        for one in left.values():
            place = (one.queues[-1].queue, one.namespace.namespace)
            oldest[place] = min(oldest.get(place, one.job.created), one.job.created)
        first = min(left, key=lambda key: compared(key, left[key], oldest))
        found.append(first)
        del left[first]
    return found


def phase_of(kind: OrderKind) -> Phase:
    """The phase that an order belongs to."""
    return "lent" if kind == "lent" else "fair"


def compared(key: str, one: OrderTerms, oldest: Mapping[tuple[str, str], float]) -> tuple[object, ...]:
    """What groups are compared by, as the specification says it."""
    queues = [(-each.priority, float(each.share), each.created, natural(each.queue)) for each in one.queues]
    space, job = one.namespace, one.job
    age = oldest[one.queues[-1].queue, space.namespace]
    own = (-job.priority, job.is_ready, job.share, job.created, natural(f"{space.namespace}/{job.name}"))
    return (queues, (space.share, age, natural(space.namespace)), own, natural(key))


@pytest.mark.parametrize("growing", [grow, full_cluster], ids=["any", "full"])
def test_the_turns_of_the_engine_follow_from_the_terms(
    growing: Growing, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        configuration, now = configuration_of(case.cluster), NOW.timestamp()
        engine = Engine(configuration)
        engine.feed(Upserted(object=one) for one in case.cluster.objects)  # type: ignore[arg-type]
        RecordedTurns.all.clear()
        with monkeypatch.context() as patched:
            patched.setattr(classes, "signature_of", lambda *_: None)  # every group has its own turn
            patched.setattr(enqueue, "TurnOrder", RecordedTurns)
            patched.setattr(allocate, "TurnOrder", RecordedTurns)
            engine.decide(now)
        turns = list(RecordedTurns.all)
        kinds: list[OrderKind] = ["admission", "fair", "lent"]
        for kind in kinds:
            terms = terms_of_all(engine.tables, configuration, now, kind)
            expected = in_order(terms)
            matching = [one for one in turns if one.members == set(expected) and one.phase == phase_of(kind)]
            if not expected or (kind == "admission" and not engine.tables.not_enqueued):
                continue
            if not matching:
                yield f"the engine has no order of {expected} ({kind})"
                continue
            recorded = matching[0].keys_in_order
            seen[kind] += len(recorded) > 1
            if recorded != expected[: len(recorded)]:
                yield f"{kind}: the engine's turns were {recorded}, the terms say {expected}"
        for key in engine.tables.groups:
            place = place_in_order(engine.tables, configuration, now, key)
            if place is not None:
                expected = in_order(terms_of_all(engine.tables, configuration, now, place.kind))
                if expected[place.place - 1] != key or list(place.first) != expected[: place.place - 1][:3]:
                    yield f"{key} is not the {place.place}th of {expected}"

    trial.of(check, recipes(Reach.MODEL), CLUSTERS, growing)
    assert seen["admission"] > CLUSTERS // 4
    assert seen["fair"] + seen["lent"] > CLUSTERS // 4


@pytest.mark.parametrize("growing", [grow, full_cluster], ids=["any", "full"])
@pytest.mark.parametrize("is_full", [False, True], ids=["with-turns", "without-turns"])
def test_places_of_all_groups_are_those_of_each(growing: Growing, trial: Trial, *, is_full: bool) -> None:
    seen = Counter[OrderKind]()

    def check(case: Case) -> Iterator[str]:
        configuration, now = configuration_of(case.cluster), NOW.timestamp()
        engine = Engine(configuration)
        engine.feed(Upserted(object=one) for one in case.cluster.objects)  # type: ignore[arg-type]
        places = places_in_queues(engine.tables, configuration, now, is_full=is_full)
        expected = dict[str, int]()
        for key in engine.tables.groups:
            order = place_in_order(engine.tables, configuration, now, key, is_full=is_full)
            if order is not None:
                expected[key] = order.in_queue
                seen[order.kind] += order.in_queue > 1
        if places != expected:
            yield f"all at once: {places}; one by one: {expected}"

    trial.of(check, recipes(Reach.MODEL), CLUSTERS // 2, growing)
    assert seen["admission"] > CLUSTERS // 16
    assert seen["fair"] + seen["lent"] > CLUSTERS // 16
