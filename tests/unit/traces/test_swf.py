"""The Standard Workload Format: what becomes of every line of a sample, and a round trip."""

from random import Random

import pytest

from maar.core.model.resources import Resources
from maar.core.simulation.jobs import TraceJob
from maar.core.traces.lublin import LublinModel, lublin_jobs
from maar.core.traces.options import TraceOptions
from maar.core.traces.reading import TraceError, read_trace
from maar.core.traces.swf import write_swf
from support.trace_samples import jobs_of, sample, skipped

START = 1_700_000_000.0
KIB = 1024


def test_jobs_come_in_order_of_submission_with_the_queues_and_nodes_of_the_header() -> None:
    jobs, trace = jobs_of("jobs.swf")
    assert trace.format == "swf"
    assert (trace.nodes, trace.processors) == (4, 32)
    assert trace.queues == ("batch", "interactive-jobs")
    assert [one.name for one in jobs] == ["job-1", "job-3", "job-2", "job-7", "job-8", "job-10"]
    assert [one.time - START for one in jobs] == [0, 7, 10, 50, 70, 90]
    assert [one.queue for one in jobs] == [
        "batch", "default", "interactive-jobs", "batch", "queue-7", "batch",
    ]  # fmt: skip
    assert [one.run_time for one in jobs] == [100, 60, 300, 80, 250, 0]
    assert [one.estimate for one in jobs] == [200, None, 3600, 200, 200, 200]


def test_a_job_becomes_as_many_pods_as_it_needs_nodes() -> None:
    jobs, _ = jobs_of("jobs.swf")  # nodes have 8 processors
    sizes = {one.name: (one.pods, one.requests) for one in jobs}
    assert sizes["job-1"] == (1, Resources({"cpu": 8000, "memory": 8 * 1024 * KIB}))
    assert sizes["job-2"] == (3, Resources({"cpu": 7000}))  # 20 processors
    assert sizes["job-8"] == (2, Resources({"cpu": 8000}))  # requested is not known, 16 were allocated


def test_a_pod_may_have_one_processor_and_a_default_of_memory() -> None:
    jobs, _ = jobs_of("jobs.swf", TraceOptions(processors_per_pod=1, memory_per_processor=2**30))
    sizes = {one.name: (one.pods, one.requests) for one in jobs}
    assert sizes["job-1"] == (8, Resources({"cpu": 1000, "memory": 1024 * KIB}))
    assert sizes["job-2"] == (20, Resources({"cpu": 1000, "memory": 2**30}))


def test_what_is_left_out_is_counted_with_the_reason_and_the_first_line() -> None:
    _, trace = jobs_of("jobs.swf")
    assert skipped(trace) == {
        "NO_RUN_TIME": (2, 14),  # -1, and cancelled with 0 before it started
        "NO_RESOURCES": (1, 16),
        "PARTIAL": (2, 17),
        "DUPLICATE": (1, 20),
        "NEGATIVE_RUN_TIME": (1, 22),
        "BAD_NUMBER": (1, 25),
        "BAD_FIELDS": (1, 26),
    }
    assert trace.skips.read == 15 == trace.skips.jobs + trace.skips.total
    assert "1 skipped: it ends before it starts (first in line 22: -20 s)" in trace.skips.sentences()


@pytest.mark.parametrize(
    ("field", "queues"),
    [
        ("partition", {"main"}),
        ("user", {"user-3", "user-4", "user-5"}),
        ("group", {"group-1"}),
        ("executable", {"default"}),
        ("none", {"default"}),
    ],
)
def test_another_field_may_name_the_queue(field: str, queues: set[str]) -> None:
    jobs, _ = jobs_of("jobs.swf", TraceOptions(queue_from=field))
    assert {one.queue for one in jobs} == queues


def test_a_field_that_cannot_name_a_queue_is_refused_with_those_that_can() -> None:
    with pytest.raises(TraceError, match="choose one of queue, partition, user, group, executable, none"):
        read_trace(sample("jobs.swf"), options=TraceOptions(queue_from="vc"))


def test_users_may_be_namespaces() -> None:
    jobs, _ = jobs_of("jobs.swf", TraceOptions(namespace_from="user"))
    assert {one.namespace for one in jobs} == {"user-3", "user-4", "user-5"}


def test_a_job_that_ran_longer_than_was_stated_may_be_ended_then() -> None:
    jobs, _ = jobs_of("jobs.swf", TraceOptions(stops_at_estimate=True))
    assert {one.name: one.run_time for one in jobs}["job-8"] == 200


def test_jobs_that_would_never_fit_are_counted_and_left_out() -> None:
    options = TraceOptions(
        processors_per_pod=8,
        largest_node=Resources({"cpu": 7000, "memory": 2**40}),
        cluster=Resources({"cpu": 20_000, "memory": 2**40}),
        queues=frozenset({"batch", "default", "interactive-jobs"}),
    )
    jobs, trace = jobs_of("jobs.swf", options)
    assert [one.name for one in jobs] == ["job-3", "job-10"]
    found = skipped(trace)
    assert found["LARGER_THAN_NODE"] == (3, 11)
    assert found["LARGER_THAN_CLUSTER"] == (1, 12)
    assert found["NO_QUEUE"] == (1, 21)


def test_the_first_job_may_be_submitted_at_another_time_and_only_some_be_read() -> None:
    jobs, trace = jobs_of("jobs.swf", TraceOptions(start=5000.0, most_jobs=3))
    assert [one.time for one in jobs] == [5000, 5007, 5010]
    assert trace.skips.jobs == 3


@pytest.mark.parametrize(
    ("most", "read", "left_out"),
    [(1, 1, 0), (2, 3, 0), (3, 3, 0), (4, 9, 5), (5, 11, 6), (6, 13, 7), (7, 15, 9)],
)
def test_nothing_after_the_last_job_that_is_wanted_counts(most: int, read: int, left_out: int) -> None:
    _, trace = jobs_of("jobs.swf", TraceOptions(most_jobs=most))  # jobs 2 and 3 are not in order
    assert trace.skips.jobs == min(most, 6)
    assert (trace.skips.read, trace.skips.total) == (read, left_out)


def test_more_fields_than_18_are_passed_over() -> None:
    lines = [line.rstrip() for line in sample("jobs.swf")]
    longer = [
        line if line.startswith(";") or len(line.split()) < 18 else f"{line} {{1,2}} q 1:ppn=8"
        for line in lines
    ]
    trace = read_trace(longer)
    assert trace.format == "swf"
    jobs, _ = jobs_of("jobs.swf")
    assert list(trace.jobs) == jobs


def test_jobs_that_are_written_are_read_again() -> None:
    model = LublinModel(
        jobs=300,
        memory_per_processor=3 * 2**20,
        queues={"red": 1.0, "blue": 2.0},
        namespaces=3,
        processors_per_pod=4,
    )
    jobs = [
        one for one in lublin_jobs(model, Random(1), START) if one.requests["cpu"] == 4000 or one.pods == 1
    ]
    lines = list(write_swf(jobs))
    options = TraceOptions(processors_per_pod=4, namespace_from="user")
    again = list(read_trace(lines, options=options).jobs)
    assert len(jobs) > 100
    assert [one._replace(name="") for one in again] == [one._replace(name="") for one in jobs]
    assert list(write_swf(again)) == lines


def test_what_has_no_field_is_not_written() -> None:
    job = TraceJob("a", 0.5, "team", "q", 2, Resources({"nvidia.com/gpu": 8}), 1.5, None, priority=7)
    assert list(write_swf([job]))[-1] == "1 0.5 -1 1.5 2 -1 -1 2 -1 -1 1 1 -1 -1 1 -1 -1 -1\n"
