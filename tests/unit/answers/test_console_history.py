"""Samples of a cluster: what they count, that packing loses nothing, and how they are drawn."""

import re
from datetime import UTC, datetime
from random import Random
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Guarantee, Queue, QueueMetadata, QueueSpec, QueueStatus
from maar.core.model.resources import Percentages, Resources
from maar.core.views.console.history import (
    EvictionCounts,
    Histories,
    QueueMoment,
    Sample,
    histories,
    of_samples,
    packed,
    take_sample,
)
from maar.core.views.console.history_plots import Window, share_figures, work_figures
from maar.core.views.job_summary import EventSummary

NOW: Final = 1_800_000_000.0
CPU: Final = 1_000
QUARTER: Final = Guarantee(percentage=Percentages.parse({"cpu": "25"}))


def queue(name: str, parent: str = "", deserved: int = 0, used: int = 0, **spec: object) -> Queue:
    return Queue(
        metadata=QueueMetadata(name=name),
        spec=QueueSpec(parent=parent, **spec),  # type: ignore[arg-type]
        status=QueueStatus(deserved=Resources({"cpu": deserved}), used=Resources({"cpu": used})),
    )


def group(name: str, in_queue: str, phase: str, age_s: float) -> PodGroup:
    created = datetime.fromtimestamp(NOW - age_s, UTC)
    return PodGroup(
        metadata=Metadata(name=name, namespace="ns", creation_timestamp=created),
        spec=PodGroupSpec(queue=in_queue),
        status=PodGroupStatus(phase=phase),  # type: ignore[arg-type]
    )


QUEUES: Final = {
    one.key: one
    for one in (
        queue("root", deserved=10 * CPU, used=6 * CPU),
        queue("science", "root", 6 * CPU, 4 * CPU, guarantee=QUARTER),
        queue("lab", "science", 6 * CPU, 4 * CPU),
        queue("office", deserved=4 * CPU, used=2 * CPU),
    )
}
GROUPS: Final = [
    group("a", "lab", "Pending", 300),
    group("b", "lab", "Inqueue", 600),
    group("c", "office", "", 60),
    group("d", "lab", "Running", 9_000),
    group("e", "lost", "Pending", 9_000),
]


def test_waits_and_evictions_count_in_the_queue_and_all_above_it() -> None:
    found = take_sample(QUEUES, GROUPS, {"ns/d": 3, "ns/c": 1}, NOW).queues
    assert {name: (one.waiting, one.longest, one.evictions) for name, one in found.items()} == {
        "root": (3, 600, 4),
        "science": (2, 600, 3),
        "lab": (2, 600, 3),
        "office": (1, 60, 1),
    }


def test_amounts_are_those_of_the_rows() -> None:
    found = take_sample(QUEUES, [], {}, NOW).queues["science"]
    assert found.deserved == {"cpu": 6 * CPU}
    assert found.used == {"cpu": 4 * CPU}
    assert found.guarantee == {"cpu": 2_500}  # a quarter of what the root has


def test_queues_that_are_their_own_ancestors_harm_nothing() -> None:
    turned = {one.key: one for one in (queue("a", "b"), queue("b", "a"))}
    found = take_sample(turned, [group("g", "a", "Pending", 10)], {}, NOW)
    assert found.queues["a"].waiting == 1


def test_packing_loses_nothing() -> None:
    rng = Random(7)
    samples = []
    for number in range(30):
        queues = {
            f"queue-{name}": QueueMoment(
                {one: rng.randrange(1 << 40) for one in ("cpu", "memory")},
                {"cpu": rng.randrange(9)},
                {"nvidia.com/gpu": rng.randrange(9)} if name % 2 else {},
                rng.randrange(9),
                rng.randrange(9_000),
                rng.randrange(3),
            )
            for name in range(rng.randrange(6))
        }
        samples.append(Sample(60.0 * number, queues))
    names = [f"queue-{name}" for name in range(6)]
    known, bad = histories([packed(one) for one in reversed(samples)], names)
    assert bad == 0
    assert known.times.tolist() == [one.time for one in samples]
    for name in names:
        expected = [one.queues.get(name) for one in samples]
        for resource in ("cpu", "memory"):
            values = known.queues[name].deserved.get(resource, np.full(len(samples), np.nan))
            seen = [None if np.isnan(one) else int(one) for one in values]
            assert seen == [None if one is None else one.deserved[resource] for one in expected]
        waiting = [None if np.isnan(one) else int(one) for one in known.queues[name].waiting]
        assert waiting == [None if one is None else one.waiting for one in expected]


@pytest.mark.parametrize("data", [b"", b"\x78\x9c", b"no sample at all", packed(Sample(1.0, {}))[:-3]])
def test_bytes_that_are_no_sample_are_left_out(data: bytes) -> None:
    known, bad = histories([data, packed(Sample(5.0, {}))], ["a"])
    assert (known.times.tolist(), bad) == ([5.0], 1)


def event(name: str, about: str, count: int, reason: str = "Evict", kind: str = "PodGroup") -> EventSummary:
    return EventSummary(
        metadata=Metadata(name=name, namespace="ns"),
        reason=reason,
        count=count,
        involved_object=OwnerReference(kind=kind, name=about),
    )


def test_evictions_are_what_came_on_top_since_the_last_time() -> None:
    counts = EvictionCounts()
    assert counts.new([event("e1", "a", 5)]) == {}
    assert counts.new([event("e1", "a", 7), event("e2", "b", 1), event("e3", "b", 2)]) == {
        "ns/a": 2,
        "ns/b": 3,
    }
    assert counts.new(
        [event("e1", "a", 7), event("e4", "a", 1, kind="Pod"), event("e5", "a", 1, "Other")]
    ) == {"ns/a": 0}


def minutes(count: int, without: range = range(0)) -> list[Sample]:
    found = []
    for number in range(count):
        if number in without:
            continue
        moments = {
            "root": QueueMoment({"cpu": 8 * CPU}, {"cpu": 6 * CPU}, {}, number, 60 * number, number % 2),
            "a": QueueMoment({"cpu": 5 * CPU}, {"cpu": 4 * CPU}, {"cpu": CPU}),
            "b": QueueMoment({"cpu": 3 * CPU}, {"cpu": CPU}, {}),
        }
        found.append(Sample(NOW - 60.0 * (count - number), moments))
    return found


def known_of(samples: list[Sample]) -> Histories:
    return of_samples(samples, ["root", "a", "b"])


def drawn_points(svg: str, kind: str) -> list[list[tuple[float, float]]]:
    found = re.findall(rf'<{kind} class="(?:line|area)[^>]*points="([^"]*)"', svg)
    return [[(float(x), float(y)) for x, y in (one.split(",") for one in text.split())] for text in found]


def test_figures_of_shares_have_the_queue_and_those_below_it() -> None:
    known, window = known_of(minutes(60)), Window(NOW - 3_600, NOW)
    figures = list(share_figures(known, "root", ["a", "b"], window))
    assert [one.title for one in figures] == [
        "cpu: deserved and used",
        "cpu: use by queue",
        "cpu: shares by queue",
    ]
    for one in figures:
        assert ET.fromstring(one.svg).tag == "svg"  # noqa: S314  # our own
    use = figures[1].svg
    assert len(drawn_points(use, "polygon")) == 3  # a, b, and what others use
    assert ">others<" in use


def test_a_time_without_samples_is_a_gap_and_no_line() -> None:
    known, window = known_of(minutes(60, range(20, 40))), Window(NOW - 3_600, NOW)
    own = next(share_figures(known, "root", [], window)).svg
    assert len(drawn_points(own, "polyline")) == 4  # deserved and used, each in two parts
    whole = next(share_figures(known_of(minutes(60)), "root", [], window)).svg
    assert len(drawn_points(whole, "polyline")) == 2


def test_figures_of_work_count_evictions() -> None:
    known, window = known_of(minutes(60)), Window(NOW - 3_600, NOW)
    waiting, longest, evictions = work_figures(known, "root", window)
    assert (waiting.title, longest.title) == ("Waiting pod groups", "Longest wait")
    assert evictions.caption.endswith(": 30.")
    assert sum(map(int, re.findall(r"<title>(\d+) evicted</title>", evictions.svg))) == 30


def test_without_samples_there_are_empty_drawings() -> None:
    known, window = known_of([]), Window(NOW - 3_600, NOW)
    assert list(share_figures(known, "root", ["a"], window)) == []
    assert len(list(work_figures(known, "root", window))) == 3


def test_a_day_is_drawn_in_bounded_size() -> None:
    known, window = known_of(minutes(1_440)), Window(NOW - 86_400, NOW)
    drawn = [*share_figures(known, "root", ["a", "b"], window), *work_figures(known, "root", window)]
    assert max(len(one.svg) for one in drawn) < 60_000
