"""Whatever is in a file, reading it ends with jobs and counts, or with a sentence that says what is wrong."""

from collections.abc import Callable
from math import isfinite
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.core.model import name_rules
from maar.core.simulation.jobs import objects_of
from maar.core.traces.helios import read_helios_gpus
from maar.core.traces.lines import text_lines
from maar.core.traces.openb import read_openb_nodes
from maar.core.traces.options import TraceOptions
from maar.core.traces.philly import read_philly_machines
from maar.core.traces.reading import FORMATS, read_trace
from maar.core.traces.records import LAST_TIME, LONGEST_RUN_TIME, MOST_PODS
from maar.core.traces.skips import Skips, TraceError
from maar.core.traces.swf import write_swf
from properties.how_many import cases
from properties.reference_schedules import RigidJob, easy, fcfs
from support.trace_samples import FORMATS_OF, SAMPLES

TRIALS = cases(400)
LARGEST = 2**63 - 1
PARTS = [
    b"-1", b"", b"nan", b"inf", b"1e308", b"-1e308", b"9" * 30, b"9" * 5000, b"0", b"\0", b"\xff\xfe", b"\r",
    b"\n", b"\n\n", b",", b"|", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b";", b" ", b"\t", b"None",
    b"Unknown", b"0001-01-01 00:00:00", b"9999-12-31T23:59:59-23:59", b"1_0", "٣".encode(), b"1.5",
    b"x" * 300, b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"; MaxNodes: 0", b"; MaxProcs: 99999999999999999999",
    b"cpu=1K,mem=,=,node=0",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """A file in which some parts were replaced, removed, repeated or cut off."""
    for _ in range(draw(st.integers(1, 8))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.sampled_from([0, 1, 1, 2, 5, 20, 200])))
        repeated = data[begin:end] * draw(st.integers(0, 3))
        new = draw(st.one_of(st.sampled_from(PARTS), st.binary(max_size=6), st.just(repeated)))
        data = data[:begin] + new + data[end:]
    return data


def read_all(data: bytes, format_name: str, options: TraceOptions) -> None:
    """Read a file, and check everything that is promised of it."""
    chunks = [data[begin : begin + 100] for begin in range(0, len(data), 100)]
    try:
        trace = read_trace(text_lines(chunks), format_name, options)
    except TraceError:
        return  # a sentence for the whole file
    jobs = list(trace.jobs)
    assert trace.skips.jobs == len(jobs)
    if options.most_jobs is None:
        assert trace.skips.read == len(jobs) + trace.skips.total
    assert all(str(one).isprintable() for one in trace.skips)
    assert len({one.key for one in jobs}) == len(jobs)
    assert [one.time for one in jobs] == sorted(one.time for one in jobs)
    for job in jobs:
        assert not name_rules.label(job.name)
        assert not name_rules.label(job.namespace)
        assert not name_rules.label(job.queue)
        assert isfinite(job.time)
        assert 0 <= job.time <= LAST_TIME
        assert 0 <= job.run_time <= LONGEST_RUN_TIME
        assert job.estimate is None or 1 <= job.estimate <= LONGEST_RUN_TIME
        assert 1 <= job.pods <= MOST_PODS
        assert job.requests
        assert all(type(amount) is int and 0 < amount <= LARGEST for amount in job.total.values())
        if job.pods < 100:
            assert len(objects_of(job)) == job.pods + 1
    assert len(list(write_swf(jobs))) > len(jobs)


OPTIONS = st.builds(
    TraceOptions,
    namespace_from=st.sampled_from(["", "user"]),
    processors_per_pod=st.sampled_from([None, 1, 7]),
    memory_per_processor=st.sampled_from([0, 2**30]),
    shared_gpus=st.sampled_from(["whole", "thousandths"]),
    utc_offset=st.sampled_from([0.0, 28_800.0]),
    stops_at_estimate=st.booleans(),
    window=st.sampled_from([1, 3, 100]),
)


@pytest.mark.parametrize("name", FORMATS_OF)
def test_a_damaged_trace_is_read_as_far_as_it_can_be(name: str) -> None:
    data = (SAMPLES / name).read_bytes()

    @settings(max_examples=TRIALS)
    @given(damaged=mutated(data), is_known=st.booleans(), options=OPTIONS)
    def holds(damaged: bytes, is_known: bool, options: TraceOptions) -> None:  # noqa: FBT001
        read_all(damaged, FORMATS_OF[name] if is_known else "", options)

    holds()


@settings(max_examples=TRIALS)
@given(data=st.binary(max_size=400), format_name=st.sampled_from(["", *FORMATS]))
def test_any_bytes_are_read_as_any_format(data: bytes, format_name: str) -> None:
    read_all(data, format_name, TraceOptions())


@pytest.mark.parametrize("name", FORMATS_OF)
@pytest.mark.parametrize("format_name", FORMATS)
def test_every_sample_may_be_taken_for_every_format(name: str, format_name: str) -> None:
    read_all((SAMPLES / name).read_bytes(), format_name, TraceOptions())


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("openb_nodes.csv", read_openb_nodes),
        ("philly_machines.csv", read_philly_machines),
        ("helios_gpus.csv", read_helios_gpus),
    ],
)
def test_damaged_tables_of_nodes_and_queues_are_read_as_far_as_they_can_be(
    name: str, reader: Callable[..., object]
) -> None:
    data = Path(SAMPLES / name).read_bytes()

    @settings(max_examples=TRIALS // 2)
    @given(damaged=mutated(data))
    def holds(damaged: bytes) -> None:
        skips = Skips()
        try:
            rows = list(reader(text_lines([damaged]), TraceOptions(), skips))  # type: ignore[call-overload]
        except TraceError:
            return
        assert skips.read >= len(rows) + skips.total

    holds()


# --- the reference schedules are what they say


@st.composite
def rigid_jobs(draw: st.DrawFn) -> list[RigidJob]:
    """Jobs in order of submission whose estimates are upper bounds."""
    jobs, time = list[RigidJob](), 0.0
    for _ in range(draw(st.integers(1, 12))):
        time += draw(st.integers(0, 5))
        run_time = draw(st.integers(0, 9))
        jobs.append((time, draw(st.integers(1, 4)), run_time, run_time + draw(st.integers(0, 6))))
    return jobs


@settings(max_examples=TRIALS)
@given(jobs=rigid_jobs())
def test_reference_schedules_never_use_more_than_there_is(jobs: list[RigidJob]) -> None:
    for starts in (fcfs(jobs, 4), easy(jobs, 4)):
        runs = [(start, start + job[2], job[1]) for start, job in zip(starts, jobs, strict=True)]
        assert all(start >= job[0] for start, job in zip(starts, jobs, strict=True))
        for moment, _, _ in runs:
            assert sum(size for begin, end, size in runs if begin <= moment < end) <= 4


@settings(max_examples=TRIALS)
@given(jobs=rigid_jobs())
def test_fcfs_starts_in_order_and_each_as_early_as_that_allows(jobs: list[RigidJob]) -> None:
    starts = fcfs(jobs, 4)
    assert starts == sorted(starts)
    for index, (submitted, needed, _, _) in enumerate(jobs):
        earliest = max(submitted, starts[index - 1] if index else 0.0)
        ends = [starts[other] + jobs[other][2] for other in range(index)]
        moments = sorted({earliest, *(end for end in ends if end > earliest)})
        free = [
            4 - sum(jobs[other][1] for other in range(index) if ends[other] > moment) for moment in moments
        ]
        assert starts[index] == next(
            moment for moment, room in zip(moments, free, strict=True) if room >= needed
        )


def test_easy_lets_a_small_job_go_before_a_large_one_that_it_does_not_delay() -> None:
    long, large = (0.0, 2, 10.0, 10.0), (1.0, 4, 5.0, 5.0)
    short, too_long = (2.0, 2, 8.0, 8.0), (2.0, 2, 9.0, 9.0)
    assert fcfs([long, large, short], 4) == [0, 10, 15]
    assert easy([long, large, short], 4) == [0, 10, 2]
    assert easy([long, large, too_long], 4) == [0, 10, 15]


def test_easy_uses_processors_that_the_first_will_not_need() -> None:
    long, large, small = (0.0, 2, 10.0, 10.0), (1.0, 3, 5.0, 5.0), (2.0, 1, 99.0, 99.0)
    assert easy([long, large, small], 4) == [0, 10, 2]


def test_easy_goes_by_estimates_and_starts_the_first_when_room_comes_early() -> None:
    long, large, small = (0.0, 2, 4.0, 10.0), (1.0, 4, 5.0, 5.0), (2.0, 2, 7.0, 8.0)
    assert easy([long, large, small], 4) == [0, 9, 2]  # the reservation was for 10
