"""Metrics: the text that a scrape gives, read back; and the page that names them."""

import re
from math import inf
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics import parser as openmetrics

from maar.apps.metrics.controllers import ControllerMetrics
from maar.apps.metrics.registry import Registry, new_registry
from maar.apps.metrics.scheduler import SchedulerMetrics
from maar.apps.scheduler.observer import Observer
from maar.apps.webhooks.metrics import WebhookMetrics
from maar.core.engine import Engine
from maar.core.model.events import Deleted, Upserted
from maar.core.model.plan import (
    GroupOutcome,
    Plan,
    RoomHold,
    Share,
)
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.reasons import Reason, Refusal
from maar.core.model.writes import Bind, Evict, Nominate
from maar.core.tables.tables import Tables
from maar.kube.outcome import Conflict, Done, Unanswered
from maar.kube.watch import BadObject, Interruption
from support.all_metrics import AMOUNTS, all_families, standing
from support.cost import cost_of
from support.scraped import samples, value

PAGE: Final = Path(__file__).parents[4] / "docs" / "metrics.md"
ROW: Final = re.compile(r"^\| `(?P<name>\w+)` \| (?P<type>\w+) \|(?P<labels>[^|]*)\|", re.MULTILINE)
GIB: Final = 1 << 30


def held(reason: Reason) -> GroupOutcome:
    return GroupOutcome(phase="Pending", refusal=Refusal(reason=reason), message="it waits")


@pytest.fixture
def registry() -> Registry:
    return new_registry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> SchedulerMetrics:
    return SchedulerMetrics(registry, Tables())


def test_they_are_an_observer(metrics: SchedulerMetrics) -> None:
    observer: Observer = metrics
    observer.decided(Plan(), 0.1)


def test_amounts_come_in_volcanos_units_and_in_whole_ones(
    registry: CollectorRegistry, metrics: SchedulerMetrics
) -> None:
    used = {"cpu": 1500, "memory": GIB, "nvidia.com/gpu": 2, "pods": 4}
    metrics.decided(Plan(queues={"a": standing({"used": used})}), 0.1)
    volcano = "volcano_queue_allocated"
    assert value(registry, f"{volcano}_milli_cpu", queue_name="a") == 1500
    assert value(registry, f"{volcano}_memory_bytes", queue_name="a") == GIB
    assert value(registry, f"{volcano}_scalar_resources", queue_name="a", resource="nvidia.com/gpu") == 2000
    assert value(registry, f"{volcano}_scalar_resources", queue_name="a", resource="pods") == 4
    for resource, amount in {"cpu": 1.5, "memory": GIB, "nvidia.com/gpu": 2, "pods": 4}.items():
        assert value(registry, "maar_queue_used", queue_name="a", resource=resource) == amount


@pytest.mark.parametrize(
    ("metric", "amount"),
    [
        ("volcano_queue_allocated_milli_cpu", "used"),
        ("volcano_queue_request_milli_cpu", "request"),
        ("volcano_queue_deserved_milli_cpu", "deserved"),
        ("volcano_queue_real_capacity_milli_cpu", "real_capability"),
    ],
)
def test_each_metric_shows_its_own_amount(
    registry: CollectorRegistry, metrics: SchedulerMetrics, metric: str, amount: str
) -> None:
    numbers = {name: {"cpu": 1000 + place} for place, name in enumerate(AMOUNTS)}
    metrics.decided(Plan(queues={"a": standing(numbers)}), 0.1)
    assert value(registry, metric, queue_name="a") == numbers[amount]["cpu"]


def test_ours_have_the_names_of_the_amounts(registry: CollectorRegistry, metrics: SchedulerMetrics) -> None:
    numbers = {name: {"cpu": 1000 + place} for place, name in enumerate(AMOUNTS)}
    metrics.decided(Plan(queues={"a": standing(numbers)}), 0.1)
    for name in AMOUNTS:
        shown = value(registry, f"maar_queue_{name}", queue_name="a", resource="cpu")
        assert shown == numbers[name]["cpu"] / 1000


@pytest.mark.parametrize(
    ("share", "used", "number", "overused"),
    [(0.5, 500, 0.5, 0), (1.0, 1000, 1.0, 0), (1.5, 1500, 1.5, 1), ("inf", 1500, inf, 1)],
)
def test_share_weight_and_overuse_of_a_queue(
    registry: CollectorRegistry,
    metrics: SchedulerMetrics,
    share: Share,
    used: int,
    number: float,
    overused: int,
) -> None:
    metrics.decided(
        Plan(queues={"a": standing({"used": {"cpu": used}, "deserved": {"cpu": 1000}}, share)}),
        0.1,
    )
    assert value(registry, "volcano_queue_share", queue_name="a") == number
    assert value(registry, "volcano_queue_overused", queue_name="a") == overused
    assert value(registry, "volcano_queue_weight", queue_name="a") == 7
    assert value(registry, "maar_queue_weight_factor", queue_name="a") == 0.5


def test_a_namespace_has_one_weight_and_a_share_in_each_queue(
    registry: CollectorRegistry, metrics: SchedulerMetrics
) -> None:
    metrics.decided(Plan(queues={"a": standing({}), "b": standing({})}), 0.1)
    assert value(registry, "volcano_namespace_weight", namespace_name="team") == 3
    for queue in ("a", "b"):
        where = {"namespace_name": "team", "queue_name": queue}
        assert value(registry, "volcano_namespace_share", **where) == 0.375
        assert value(registry, "volcano_namespace_weighted_share", **where) == 0.125


def test_a_queue_that_is_gone_takes_its_series_away(
    registry: CollectorRegistry, metrics: SchedulerMetrics
) -> None:
    cpu = {"cpu": 1000, "memory": GIB, "pods": 1}
    metrics.decided(
        Plan(queues={"gone": standing({"used": cpu, "deserved": cpu}), "stays": standing({"used": cpu})}), 0.1
    )
    assert 'queue_name="gone"' in generate_latest(registry).decode()
    metrics.decided(Plan(queues={"stays": standing({"used": cpu})}), 0.1)
    assert 'queue_name="gone"' not in generate_latest(registry).decode()
    assert value(registry, "volcano_queue_allocated_milli_cpu", queue_name="stays") == 1000


def test_queues_come_and_go_with_the_engines_own_plans(
    registry: CollectorRegistry, metrics: SchedulerMetrics
) -> None:
    engine = Engine()
    engine.feed([Upserted(object=Queue(metadata=QueueMetadata(name=name))) for name in ("a", "b")])
    metrics.decided(engine.decide(0.0), 0.1)
    assert {labels["queue_name"] for labels, _ in samples(registry)["volcano_queue_weight"]} >= {"a", "b"}
    engine.feed([Deleted(kind="Queue", key="b")])
    metrics.decided(engine.decide(1.0), 0.1)
    assert "b" not in {labels["queue_name"] for labels, _ in samples(registry)["volcano_queue_weight"]}


def test_a_cycle_is_timed_in_both_units(registry: CollectorRegistry, metrics: SchedulerMetrics) -> None:
    metrics.decided(Plan(), 0.03)
    metrics.decided(Plan(), 0.03)
    assert value(registry, "maar_cycle_seconds_sum") == pytest.approx(0.06)
    assert value(registry, "maar_cycle_seconds_bucket", le="0.025") == 0
    assert value(registry, "maar_cycle_seconds_bucket", le="0.05") == 2
    assert value(registry, "volcano_e2e_scheduling_latency_milliseconds_sum") == pytest.approx(60)
    assert value(registry, "volcano_e2e_scheduling_latency_milliseconds_bucket", le="40.0") == 2


def test_decisions_are_counted_by_action(registry: CollectorRegistry, metrics: SchedulerMetrics) -> None:
    binds = (Bind(pod="a/1", node="n"), Bind(pod="a/2", node="n"))
    evictions = (
        Evict(pod="a/3", action="preempt", beneficiary="a/x"),
        Evict(pod="a/4", action="preempt", beneficiary="a/x"),
        Evict(pod="a/5", action="preempt", beneficiary="a/y"),
        Evict(pod="a/6", action="reclaim", beneficiary="a/z"),
        Evict(pod="a/7", action="cleanup"),
    )
    metrics.decided(Plan(binds=binds, evictions=evictions), 0.1)
    metrics.decided(Plan(binds=binds[:1]), 0.1)
    counts = {"bind": 3, "preempt": 3, "reclaim": 1, "cleanup": 1}
    found = {action: value(registry, "maar_decisions_total", action=action) for action in counts}
    assert found == counts
    assert value(registry, "volcano_total_preemption_attempts") == 2
    assert value(registry, "volcano_pod_preemption_victims") == 3


def test_a_group_that_stays_held_is_counted_once_and_shown_as_long_as_it_waits(
    registry: CollectorRegistry, metrics: SchedulerMetrics
) -> None:
    room, share = Reason.NOT_ENOUGH_RESOURCES, Reason.QUEUE_AT_FAIR_SHARE
    well = GroupOutcome(phase="Running")
    metrics.decided(Plan(pod_groups={"a/1": held(room), "a/2": held(room), "a/3": well}), 0.1)
    metrics.decided(Plan(pod_groups={"a/1": held(room), "a/2": held(share)}), 0.1)
    assert value(registry, "volcano_unschedule_job_count") == 2
    assert value(registry, "maar_pod_groups_waiting", reason="NotEnoughResources") == 1
    assert value(registry, "maar_pod_groups_waiting", reason="QueueAtFairShare") == 1
    metrics.decided(Plan(pod_groups={"a/1": well}), 0.1)
    assert value(registry, "volcano_unschedule_job_count") == 0
    assert value(registry, "maar_pod_groups_waiting", reason="NotEnoughResources") == 0
    assert value(registry, "maar_pod_groups_held_total", reason="NotEnoughResources") == 2
    assert value(registry, "maar_pod_groups_held_total", reason="QueueAtFairShare") == 1


def test_groups_that_hold_room_are_counted_by_whether_their_start_is_known(
    registry: CollectorRegistry, metrics: SchedulerMetrics
) -> None:
    known, unknown = (RoomHold(pod_group="a/1", start=start, nodes={"n": 1}) for start in (9.0, None))
    metrics.decided(Plan(held_room=(known, unknown, known)), 0.1)
    assert value(registry, "maar_pod_groups_holding_room", planned_start="known") == 2
    assert value(registry, "maar_pod_groups_holding_room", planned_start="unknown") == 1
    metrics.decided(Plan(), 0.1)
    assert value(registry, "maar_pod_groups_holding_room", planned_start="known") == 0


def test_writes_are_counted_and_timed_by_what_became_of_them(
    registry: CollectorRegistry, metrics: SchedulerMetrics
) -> None:
    bind = Bind(pod="a/1", node="n")
    metrics.answered(bind, Done(b""), 0.004)
    metrics.answered(bind, Conflict("somebody was first"), 0.004)
    metrics.answered(Nominate(pod="a/1", node="n"), Unanswered("?"), 7)
    assert value(registry, "maar_writes_total", write="Bind", outcome="Done") == 1
    assert value(registry, "maar_writes_total", write="Bind", outcome="Conflict") == 1
    assert value(registry, "maar_writes_total", write="Nominate", outcome="Unanswered") == 1
    assert value(registry, "maar_writes_total", write="Evict", outcome="Done") == 0
    assert value(registry, "volcano_schedule_attempts_total", result="scheduled") == 1
    assert value(registry, "volcano_schedule_attempts_total", result="error") == 1
    assert value(registry, "maar_write_seconds_bucket", write="Bind", le="0.005") == 2
    assert value(registry, "maar_write_seconds_sum", write="Nominate") == 7


def test_watches_have_a_lag_and_troubles(registry: CollectorRegistry, metrics: SchedulerMetrics) -> None:
    metrics.follow(lambda: {"Pod": 2.5, "Queue": 0.0})
    metrics.learned(12, 0.06)
    metrics.troubled(Interruption(kind="Pod", problem="gone"))
    metrics.troubled(BadObject(kind="Queue", key="q", problem="no"))
    assert value(registry, "maar_watch_lag_seconds", kind="Pod") == 2.5
    assert value(registry, "maar_watch_lag_seconds", kind="Queue") == 0
    assert value(registry, "maar_watch_events_total") == 12
    assert value(registry, "maar_watch_delay_seconds_sum") == 0.06
    assert value(registry, "maar_watch_interruptions_total", kind="Pod") == 1
    assert value(registry, "maar_watch_bad_objects_total", kind="Queue") == 1


def test_the_process_shows_its_memory_and_processor_time(registry: CollectorRegistry) -> None:
    assert value(registry, "process_resident_memory_bytes") > 1 << 20
    assert value(registry, "process_cpu_seconds_total") > 0


def test_nothing_has_a_series_of_its_creation(registry: CollectorRegistry, metrics: SchedulerMetrics) -> None:
    metrics.decided(Plan(), 0.1)
    assert not [name for name in samples(registry) if name.endswith("_created")]


def test_openmetrics_accepts_all_of_it(registry: CollectorRegistry, metrics: SchedulerMetrics) -> None:
    ControllerMetrics(other := new_registry(), {}, {})
    WebhookMetrics(other)
    metrics.decided(Plan(queues={"a": standing({"used": {"cpu": 1}}, "inf")}), 0.1)
    encode, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
    for one in (registry, other):
        text = encode(one).decode()
        assert list(openmetrics.text_string_to_metric_families(text))  # type: ignore[no-untyped-call]  # the library's own


def test_a_thousand_queues_cost_a_cycle_next_to_nothing(
    registry: Registry, metrics: SchedulerMetrics
) -> None:
    amounts = {f"r{number}": number for number in range(5)}
    one = standing(dict.fromkeys(AMOUNTS, amounts))
    plan = Plan(queues={f"q{number}": one for number in range(1000)})
    metrics.decided(plan, 0.1)
    library = cost_of(lambda: generate_latest(registry))
    assert 50 * cost_of(lambda: metrics.decided(plan, 0.1), 20) < library


@pytest.mark.usefixtures("others_frozen")
def test_a_scrape_of_a_thousand_queues_takes_a_fraction_of_what_the_library_takes(
    registry: Registry, metrics: SchedulerMetrics
) -> None:
    amounts = {f"r{number}": number * GIB for number in range(5)}
    plan = Plan(queues={f"q{number}": standing(dict.fromkeys(AMOUNTS, amounts)) for number in range(1000)})
    metrics.decided(plan, 0.1)
    library = cost_of(lambda: generate_latest(registry))
    first = cost_of(lambda: registry.exposition(""))
    again = cost_of(lambda: registry.exposition(""), 3)
    assert 2 * first < library
    assert 8 * again < library


def test_the_page_names_exactly_the_metrics_that_exist() -> None:
    exist = {name: (kind, labels) for name, kind, labels in all_families()}
    named = {row["name"]: (row["type"], set(re.findall(r"`(\w+)`", row["labels"]))) for row in rows()}
    assert named == exist


def test_the_page_asks_only_for_what_exists() -> None:
    queries = re.findall(r"^```promql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(queries) >= 3
    exist = {name for name, _, _ in all_families()}
    for query in queries:
        asked = {
            re.sub("_bucket$", "", name) for name in re.findall(r"\b(?:maar|volcano|process)_\w+", query)
        }
        assert asked
        assert asked <= exist


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(PAGE.read_text(encoding="utf-8")))
