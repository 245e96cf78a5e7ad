"""The laws of past use (H1 to H5 and P4, docs/specification/laws.md), and the laws of plans with it on."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from fractions import Fraction
from random import Random
from typing import Final, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.core.engine import Engine
from maar.core.fairshare.queue_demand import LARGEST_WEIGHT
from maar.core.fairshare.share_out import DemandColumns, share_columns
from maar.core.fairshare.tree import QueueTree
from maar.core.fairshare.weight_factors import FACTORS, ONE, scaled_weights
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.kinds import from_document, to_json
from maar.core.model.past_use import History, Usage, history_data, read_history
from maar.core.model.plan import Plan
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec, QueueStatus
from maar.core.policy.configuration import parse
from maar.core.reporting.queue_status import queue_write
from maar.core.views.objects import Seen
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import ENOUGH_EVICTIONS, Case, Trial
from properties.clusters import WITH_USAGE, Cluster, grow, recipes
from properties.how_many import cases
from properties.law_checkers import OF_PLANS
from properties.slow_fairshare import share_out as share_out_slowly
from properties.trees import Recipe as TreeRecipe
from properties.trees import recipes as tree_recipes
from properties.virtual_time import HOUR_S, PODS_RUN_S, STEP_S, User, VirtualTime, engine_with_usage
from support.planning import plan

CLUSTERS: Final = cases(150)
HALF_LIFE_H: Final = 4  # a week is to a day as 28 hours are to this
ALL: Final = 16  # pods that a user asks for who wants everything: twice what there is


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


# --- random clusters with random pasts


def with_past(recipe: Recipe) -> Cluster:
    """A random cluster whose queues and namespaces have used something, some of them long ago."""
    cluster, rng = grow(recipe), recipe.random("the past")
    documents = deepcopy(list(cluster.documents))
    for document in documents:
        if document["kind"] == "Queue" and rng.random() < 0.8:
            document["status"] = {**document.get("status", {}), "history": a_past(rng)}
    return Cluster(documents)


def a_past(rng: Random) -> dict[str, object]:
    """Some history: of a queue and, whether it is a leaf or not, of namespaces."""
    time = NOW.timestamp() // 60 * 60 - 60 * rng.randrange(3000)
    names = rng.sample(["team-a", "team-b", "default", "gone"], rng.randrange(4))
    used, *inside = [{"cpu": rng.uniform(0, 90), "memory": rng.uniform(0, 9)} for _ in range(len(names) + 1)]
    return history_data(History(time, Usage(), used, dict(zip(names, inside, strict=True))))


@pytest.mark.parametrize("law", OF_PLANS)
def test_law_with_past_use(law: str, trial: Trial) -> None:
    """Whatever the past was: guarantees and ceilings hold (H3), and numbers and reasons are true (C6, C8)."""
    counts = trial.of(lambda case: OF_PLANS[law](case.outcome), recipes(Reach.MODEL), CLUSTERS, with_past)
    counts.require(ENOUGH_EVICTIONS)


def test_h1_p4_without_the_plugin_or_without_a_past_plans_are_the_same(trial: Trial) -> None:
    """To the byte, but for the history that a queue is said to keep."""

    def check(case: Case) -> Iterator[str]:
        objects = case.cluster.objects
        usual, with_plugin = plan(objects, None, NOW), plan(objects, WITH_USAGE, NOW)
        if to_json(usual) != to_json(with_plugin):
            yield "the plugin changes a plan where there is no past use"
        past = with_past(Recipe(7, 2, 4, 9, 2, Style.LENT, Reach.MODEL)).documents
        histories = [one["status"]["history"] for one in past if "history" in one.get("status", {})]
        documents = deepcopy(list(case.cluster.documents))
        for number, one in enumerate([one for one in documents if one["kind"] == "Queue"]):
            one["status"] = {"history": histories[number % len(histories)]}
        if to_json(plan(Cluster(documents).objects, None, NOW)) != to_json(usual):
            yield "past use changes a plan where the plugin is not configured"

    trial.of(check, recipes(Reach.BEYOND), cases(60))


# --- the arithmetic


@settings(max_examples=cases(300))
@given(recipe=tree_recipes(), seed=st.integers(0, 2**32))
def test_the_kernel_shares_out_by_factors_as_the_definition_does(recipe: TreeRecipe, seed: int) -> None:
    tree, rng = recipe.grow(), Random(seed)
    among = rng.choice([FACTORS, (ONE, 2 * ONE), (FACTORS[0], FACTORS[-1])])
    planted = QueueTree.of(tree.claims)
    factors = [rng.choice(among) for _ in planted.names]
    scaled = scaled_weights(planted, factors)
    weights = [
        scaled.of(queue) if scaled else Fraction(claim.weight) for queue, claim in enumerate(planted.claims)
    ]
    claims = DemandColumns.of(planted, tree.total)
    shares = share_columns(planted, claims, None if scaled is None else scaled.weight)
    used = {claim.name: weight / claim.weight for claim, weight in zip(planted.claims, weights, strict=True)}
    slow = share_out_slowly(tree.claims, tree.total, used)
    for queue, name in enumerate(planted.names):
        got = dict(zip(claims.resources, shares.deserved[:, queue].tolist(), strict=True))
        assert got == slow[name].deserved
    for siblings in planted.weights().values():
        exact = all(weight <= 512 for weight in siblings.values())
        for name in siblings:
            wanted = Fraction(factors[planted.row[name]], ONE)
            assert not exact or used[name] == wanted, "weights up to 512 are exact"
            largest = max(weights[planted.row[one]] for one in siblings)
            assert abs(used[name] - wanted) * siblings[name] <= largest / 2**20


def test_weights_without_factors_stay_as_they_are() -> None:
    tree = QueueTree.of([])
    assert scaled_weights(tree, [ONE]) is None
    assert LARGEST_WEIGHT * FACTORS[-1] < 2**63


# --- virtual time


def two_queues(strength: float = 1) -> VirtualTime:
    """Two queues of equal weight below one, and eight CPUs."""
    time = VirtualTime(engine_with_usage(halfLife=f"{HALF_LIFE_H}h", strength=strength))
    below = QueueSpec(parent="company")
    time.start(company=QueueSpec(), a=QueueSpec(parent="company", reclaimable=False), b=below)
    return time


def parts(plan: Plan, *queues: str) -> list[float]:
    """The parts of past use that queues have."""
    standings = [plan.queues[name].past_use for name in queues]
    return [one.used if one is not None else 0.0 for one in standings]


def test_h2_use_while_no_sibling_waits_leaves_no_trace() -> None:
    """Nor does a group that could never start make others' use count."""
    time, a, b = two_queues(), User("a"), User("b")
    plan = time.run(7 * HALF_LIFE_H * HOUR_S, {a: ALL})  # a wants more than there is, nobody else anything
    assert time.used(a) == pytest.approx(8 * 7 * HALF_LIFE_H)
    assert all(one.past_use is None and not one.history for one in plan.queues.values())
    plan = time.run(HALF_LIFE_H * HOUR_S, {a: ALL, b: ALL})
    used = [time.used(one) for one in (a, b)]
    assert used[0] == pytest.approx(used[1], rel=0.1), "the lone user is not disadvantaged afterwards"
    assert [plan.queues[one].deserved["cpu"] for one in "ab"] == [4000, 4000]


def test_h4_used_hours_of_queues_that_always_ask_even_out() -> None:
    time, a, b = two_queues(), User("a"), User("b")
    time.pods_run_s = 7 * HALF_LIFE_H * HOUR_S  # a has everything, and may keep it: it is not reclaimable
    time.step({a: 8})
    plan = time.run(time.pods_run_s - 2 * STEP_S, {a: 8, b: ALL})
    assert (round(time.used(a) / HALF_LIFE_H), time.used(b)) == (56, 0)
    assert parts(plan, "a", "b") == [1.0, 0.0]

    time.pods_run_s = PODS_RUN_S
    both = {a: ALL, b: ALL}
    plan = time.run(HALF_LIFE_H * HOUR_S, both)
    assert time.used(b) > 2 * time.used(a), "who waited comes first"
    plan = time.run(8 * HALF_LIFE_H * HOUR_S, both)
    time.used(a), time.used(b)
    plan = time.run(HALF_LIFE_H * HOUR_S, both)
    one, other = parts(plan, "a", "b")
    assert one == pytest.approx(other, rel=0.05)
    assert time.used(a) == pytest.approx(time.used(b), rel=0.05)
    assert [plan.queues[one].deserved["cpu"] for one in "ab"] == [4000, 4000]


def test_h4_used_hours_of_namespaces_that_always_ask_even_out() -> None:
    """One has used everything while the other waited, as the status of their queue says."""
    time = VirtualTime(engine_with_usage(halfLife=f"{HALF_LIFE_H}h"))
    time.start(q=QueueSpec())
    past = History(time.now - 60, Usage(HALF_LIFE_H * HOUR_S), {}, {"ns1": {"cpu": 8 * HALF_LIFE_H / 0.693}})
    with_past = QueueStatus(history=history_data(past))
    queue = Queue(metadata=QueueMetadata(name="q", uid="q"), status=with_past)
    time.engine.feed([Upserted(object=queue)])
    one, other = User("q", "ns1"), User("q", "ns2")
    both = {one: ALL, other: ALL}
    time.run(HALF_LIFE_H * HOUR_S, both)
    assert time.used(other) > 2 * time.used(one), "who waited comes first"
    time.run(8 * HALF_LIFE_H * HOUR_S, both)
    time.used(one), time.used(other)
    plan = time.run(HALF_LIFE_H * HOUR_S, both)
    assert time.used(one) == pytest.approx(time.used(other), rel=0.05)
    standings = plan.queues["q"].namespaces
    used = [standings[name].past_use for name in ("ns1", "ns2")]
    assert used[0] is not None
    assert used[1] is not None
    assert used[0].used == pytest.approx(used[1].used, rel=0.05)


def test_a_lone_namespace_leaves_no_trace() -> None:
    time = VirtualTime(engine_with_usage(halfLife=f"{HALF_LIFE_H}h"))
    time.start(q=QueueSpec())
    one, other = User("q", "ns1"), User("q", "ns2")
    plan = time.run(7 * HALF_LIFE_H * HOUR_S, {one: ALL})
    assert not plan.queues["q"].history
    time.run(PODS_RUN_S, {one: ALL, other: ALL})
    time.used(one), time.used(other)
    time.run(HALF_LIFE_H * HOUR_S, {one: ALL, other: ALL})
    assert time.used(one) == pytest.approx(time.used(other), rel=0.1)


def test_h5_a_restart_loses_at_most_the_last_minute() -> None:
    """An engine that starts from the statuses goes on with the numbers that the last one had."""
    time, a, b = two_queues(), User("a"), User("b")
    time.run(HALF_LIFE_H * HOUR_S, {a: ALL, b: 2})
    plan = time.run(HALF_LIFE_H * HOUR_S, {a: 3, b: ALL})
    tables = time.engine.tables
    known = tables.past_use.histories
    fresh = engine_with_usage(halfLife=f"{HALF_LIFE_H}h")
    for row in tables.queues.values():
        status = plan.queues[row.name].status(row.queue.status)
        queue = Queue(metadata=row.queue.metadata, spec=row.queue.spec, status=status)
        fresh.feed([Upserted(object=queue)])
    assert known
    assert known == fresh.tables.past_use.histories
    again = fresh.decide(time.now)
    assert [again.queues[one].past_use for one in "ab"] == [plan.queues[one].past_use for one in "ab"]
    assert any(one.past_use is not None and one.past_use.factor != 1 for one in again.queues.values())


def test_a_history_changes_at_most_once_a_minute_and_only_while_something_is_added() -> None:
    time, a, b = two_queues(), User("a"), User("b")
    time.run(HOUR_S, {a: ALL, b: ALL})
    engine, seen = time.engine, []
    for second in range(0, 600, 5):
        history = engine.decide(time.now + second).queues["a"].history
        assert history is not None
        seen.append(str(history))
    assert len(set(seen)) == 10 or len(set(seen)) == 11
    time.now += 600
    plan = time.run(600, {})  # nobody waits
    last = time.run(HOUR_S, {}).queues["a"].history
    assert last == plan.queues["a"].history


def test_gaps_and_clocks_that_are_set_back_add_nothing() -> None:
    time, a, b = two_queues(), User("a"), User("b")
    time.run(HOUR_S, {a: ALL, b: ALL})
    engine = time.engine
    engine.decide(time.now)
    before = dict(engine.tables.past_use.histories)
    engine.decide(time.now - 5 * HOUR_S)
    assert engine.tables.past_use.histories == before
    engine.decide(time.now + 100 * HOUR_S)  # nothing was decided meanwhile
    after = engine.tables.past_use.histories["a"]
    assert after.used["cpu"] <= before["a"].used["cpu"]


@pytest.mark.parametrize(
    "history",
    [
        "text", 7, [], {}, {"time": 3}, {"time": "soon"}, {"time": "2026-01-01T00:00:00Z", "used": []},
        {"time": "2026-01-01T00:00:00Z", "used": {"cpu": "9" * 60}},
        {"time": "2026-01-01T00:00:00Z", "used": {"cpu": "-1"}},
        {"time": "2026-01-01T00:00:00Z", "used": {"cpu": "1e40"}},
        {"time": "2026-01-01T00:00:00Z", "used": {"cpu": True}},
        {"time": "2026-01-01T00:00:00Z", "used": {f"r{number}": 1 for number in range(100)}},
        {"time": "2026-01-01T00:00:00Z", "namespaces": {"a": 3}},
        {"time": "2026-01-01T00:00:00Z", "halfLife": "0s"},
        {"time": "9999-99-99T00:00:00Z", "used": {"cpu": 1}},
    ],
)  # fmt: skip
def test_a_history_that_is_none_harms_nothing(history: object) -> None:
    assert read_history(history) is None
    engine = engine_with_usage()
    queue = Queue(metadata=QueueMetadata(name="a", uid="a"), status=QueueStatus(history=history))
    engine.feed([Upserted(object=queue)])
    standing = engine.decide(datetime(2026, 1, 2, tzinfo=UTC).timestamp()).queues["a"]
    assert (standing.past_use, standing.history) == (None, {})


def test_a_newer_history_takes_the_place_of_what_is_known_and_an_older_one_does_not() -> None:
    """So a standby follows the leader, and an administrator can reset past use."""
    engine, time = engine_with_usage(), 1_767_225_600.0

    def learn(history: object) -> None:
        queue = Queue(metadata=QueueMetadata(name="a", uid="a"), status=QueueStatus(history=history))
        engine.feed([Upserted(object=queue)])

    learn(history_data(History(time, Usage(), {"cpu": 3.5})))
    learn(history_data(History(time - 60, Usage(), {"cpu": 9.0})))
    assert engine.decide(time + 1).queues["a"].history == history_data(History(time, Usage(), {"cpu": 3.5}))
    learn({"time": "2026-01-01T00:00:30Z"})
    standing = engine.decide(time + 60).queues["a"]
    assert (standing.history, standing.past_use) == ({}, None)


def test_a_snapshot_is_decided_on_alike() -> None:
    """Also a minute that the statuses do not have yet, and entries that they never get."""
    time, a, b = two_queues(), User("a"), User("b")
    time.run(HALF_LIFE_H * HOUR_S, {a: ALL, b: 1})
    time.run(600, {a: 3, b: ALL})
    engine = time.engine
    plan = engine.decide(time.now)
    fresh = engine_with_usage(halfLife=f"{HALF_LIFE_H}h")
    fresh.feed([Upserted(object=cast("AnyObject", one)) for one in Seen.of(engine.tables).objects()])
    again = fresh.decide(time.now)
    assert again.queues == plan.queues
    assert again.binds == plan.binds
    assert any(one.past_use is not None and one.past_use.factor != 1 for one in again.queues.values())


def test_a_replay_decides_alike() -> None:
    """The same calls give the same plans: growth depends on the times that decisions are given."""
    runs = []
    for _ in range(2):
        time, a, b = two_queues(), User("a"), User("b")
        runs.append([to_json(time.step({a: ALL, b: number % 7 * 2})) for number in range(60)])
    assert runs[0] == runs[1]


def test_switched_off_a_history_stays_as_it_is() -> None:
    past = history_data(History(1_767_225_600.0, Usage(), {"cpu": 3.5}))
    status = QueueStatus(history=past, weight_factor="0.5")
    engine = Engine(parse(None))
    engine.feed([Upserted(object=Queue(metadata=QueueMetadata(name="a", uid="a"), status=status))])
    standing = engine.decide(1_767_225_700.0).queues["a"]
    assert standing.history is None
    assert (standing.status(status).history, standing.status(status).weight_factor) == (past, "")


@given(st.floats(1e-6, 1e9), st.floats(1e-6, 1e9))
def test_a_history_is_kept_as_it_is_written(cpu: float, memory: float) -> None:
    past = History(1_767_225_600.0, Usage(), {"cpu": round(cpu, 6), "memory": round(memory, 6)})
    assert read_history(history_data(past)) == past


def test_past_use_is_written_with_the_shares_and_nothing_is_where_nothing_has_changed() -> None:
    time, a, b = two_queues(), User("a"), User("b")
    plan = time.run(HOUR_S, {a: ALL, b: 2})
    queue, now = time.engine.tables.queues["b"].queue, datetime(2026, 1, 1, 1, tzinfo=UTC)
    write = queue_write(queue, plan.queues["b"], now)
    assert write is not None
    assert {"deserved", "history", "weightFactor"} <= write.status.keys()
    written = from_document(Queue, {"metadata": {"name": "b", "uid": "b"}, "status": write.status})
    assert queue_write(written, plan.queues["b"], now) is None
    gone = queue_write(written, msgspec.structs.replace(plan.queues["b"], history={}, past_use=None), now)
    assert gone is not None
    assert gone.status == {"history": None, "weightFactor": None}
