"""Traces that are tables: Helios, Acme, openb and sacct."""

from datetime import UTC, datetime

import pytest

from maar.core.model.resources import Resources
from maar.core.simulation.jobs import objects_of
from maar.core.traces.helios import read_helios_gpus
from maar.core.traces.openb import read_openb_nodes
from maar.core.traces.options import TraceOptions
from maar.core.traces.reading import TraceError, read_trace
from maar.core.traces.skips import Skips
from support.trace_samples import jobs_of, sample, skipped

GPU = "nvidia.com/gpu"


def seconds(text: str) -> float:
    """A time of day in UTC, in seconds since the epoch."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


# --- Helios


def test_a_job_of_helios_is_a_pod_for_each_node_with_its_part_of_the_totals() -> None:
    jobs, trace = jobs_of("helios.csv")
    assert trace.format == "helios"
    assert [(one.name, one.queue, one.pods, one.requests, one.run_time) for one in jobs] == [
        ("job-101", "vcred", 2, Resources({"cpu": 48_000, GPU: 8}), 3600),
        ("job-102", "vcblue", 2, Resources({"cpu": 2500}), 10),
        ("job-104", "vcred", 2, Resources({"cpu": 4000, GPU: 2}), 60),  # 3 GPUs on 2 nodes
        ("job-105", "vcblue", 1, Resources({GPU: 1}), 30),
    ]
    assert jobs[0].time == seconds("2020-06-09T18:41:01")
    assert skipped(trace) == {
        "NO_RUN_TIME": (1, 4),
        "BAD_TIME": (1, 7),
        "BAD_NUMBER": (1, 8),
        "NO_RESOURCES": (1, 9),
        "BAD_FIELDS": (1, 10),
    }


def test_times_without_a_zone_may_be_of_any_zone_and_users_may_be_queues() -> None:
    jobs, _ = jobs_of("helios.csv", TraceOptions(utc_offset=8 * 3600, queue_from="user"))
    assert jobs[0].time == seconds("2020-06-09T10:41:01")
    assert {one.queue for one in jobs} == {"ua", "ub", "uc-the-third"}


def test_the_gpus_of_queues_change_by_day() -> None:
    skips = Skips()
    first, second = read_helios_gpus(sample("helios_gpus.csv"), TraceOptions(), skips)
    assert first == (seconds("2020-06-09"), {"vcred": 64, "vcblue": 32}, 96)
    assert second == (seconds("2020-06-11"), {"vcred": 48, "vcblue": 48}, 96)
    assert [(one.reason.name, one.line) for one in skips] == [("BAD_NUMBER", 5)]


# --- Acme


def test_a_job_of_acme_is_queued_by_its_type_and_has_times_with_an_offset() -> None:
    jobs, trace = jobs_of("seren.csv")
    assert trace.format == "acme"
    assert [(one.name, one.queue, one.pods, one.requests) for one in jobs] == [
        ("s1", "pretrain", 2, Resources({"cpu": 48_000, GPU: 8})),
        ("s2", "debug", 1, Resources({"cpu": 8000})),
    ]
    assert jobs[0].time == seconds("2023-02-28T16:18:22")
    assert {one.queue for one in jobs_of("seren.csv", TraceOptions(queue_from="user"))[0]} == {"u1", "u2"}


def test_kalos_has_the_memory_of_a_pod() -> None:
    (job,), _ = jobs_of("kalos.csv")
    assert job.requests == Resources({"cpu": 48_000, "memory": 100 * 10**9, GPU: 8})


def test_a_job_of_acme_runs_from_its_start_to_its_end_whatever_its_duration_says() -> None:
    header, row = sample("kalos.csv")
    row = row.replace(",3600.0,3.0,", ",3603.0,3.0,")  # Kalos counts from the submission
    assert ",3603.0," in row
    [job] = read_trace([header, row]).jobs
    assert job.run_time == 3600.0
    never = row.replace("2023-03-01 01:18:25+08:00", "")
    trace = read_trace([header, never])
    assert list(trace.jobs) == []
    assert skipped(trace) == {"NO_RUN_TIME": (1, 2)}


# --- openb


def test_a_list_of_openb_without_times_is_refused_with_those_that_it_needs() -> None:
    lines = ["name,cpu_milli,memory_mib,num_gpu,gpu_milli", "openb-pod-0000,12000,16384,1,1000"]
    with pytest.raises(TraceError, match=r"has no times.*creation_time, deletion_time, scheduled_time"):
        read_trace(lines)


def test_a_pod_of_openb_runs_from_its_scheduling_to_its_deletion() -> None:
    jobs, trace = jobs_of("openb_pods.csv", TraceOptions(memory_per_processor=2**30))
    assert trace.format == "openb"
    assert [(one.name, one.pods, one.requests, one.time, one.run_time) for one in jobs] == [
        ("openb-pod-0000", 1, Resources({"cpu": 12_000, "memory": 16 * 2**30, GPU: 1}), 0, 110),
        ("openb-pod-0001", 1, Resources({"cpu": 6000, "memory": 12 * 2**30, GPU: 2}), 10, 80),
        ("openb-pod-0004", 1, Resources({"cpu": 1500, "memory": 3 * 2**29}), 30, 50),
    ]
    assert {one.queue for one in jobs} == {"default"}
    assert skipped(trace) == {
        "NO_RUN_TIME": (1, 4),
        "NEGATIVE_RUN_TIME": (1, 5),
        "OUT_OF_RANGE": (1, 7),
    }


def test_shared_gpus_may_be_counted_in_thousandths() -> None:
    jobs, _ = jobs_of("openb_pods.csv", TraceOptions(shared_gpus="thousandths", queue_from="qos"))
    assert [one.requests.get(f"{GPU}-milli") for one in jobs] == [460, 2000, None]
    assert [one.queue for one in jobs] == ["ls", "be", "ls"]
    nodes = list(
        read_openb_nodes(sample("openb_nodes.csv"), TraceOptions(shared_gpus="thousandths"), Skips())
    )
    assert nodes[0].status.allocatable[f"{GPU}-milli"] == 2000


def test_models_of_gpus_are_an_affinity_to_labels_that_nodes_have() -> None:
    jobs, _ = jobs_of("openb_pods.csv")
    assert [dict(one.node_labels) for one in jobs] == [{}, {"gpu-model": ("V100M16", "V100M32")}, {}]
    pod = objects_of(jobs[1])[1]
    wanted = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution  # type: ignore[attr-defined]
    assert wanted.node_selector_terms[0].match_expressions[0].values == ("V100M16", "V100M32")
    skips = Skips()
    nodes = list(read_openb_nodes(sample("openb_nodes.csv"), TraceOptions(), skips))
    assert [(one.metadata.name, dict(one.metadata.labels)) for one in nodes] == [
        ("openb-node-0000", {"gpu-model": "V100M16"}),
        ("openb-node-0001", {}),
    ]
    sizes = [{name: one.status.allocatable.get(name) for name in ("cpu", "memory", GPU)} for one in nodes]
    assert sizes == [
        {"cpu": 64_000, "memory": 256 * 2**30, GPU: 2},
        {"cpu": 32_000, "memory": 128 * 2**30, GPU: None},
    ]
    assert [(one.reason.name, one.line) for one in skips] == [("OUT_OF_RANGE", 4)]


# --- sacct


def test_a_job_of_sacct_asks_for_what_it_requested_else_for_what_it_got() -> None:
    jobs, trace = jobs_of("jobs.sacct")
    assert trace.format == "sacct"
    assert [(one.name, one.queue, one.pods, one.requests, one.run_time, one.estimate) for one in jobs] == [
        ("job-201", "physics", 2, Resources({"cpu": 8000, "memory": 32 * 2**30, GPU: 4}), 3600, 7200),
        ("job-202-4", "biology", 1, Resources({"cpu": 1000, "memory": 1500 * 2**20}), 600, None),
        ("job-204", "physics", 1, Resources({"cpu": 8000, "memory": 8 * 2**30, GPU: 3}), 60, 3600),
    ]
    assert jobs[0].time == seconds("2026-01-31T08:00:00")
    assert skipped(trace) == {
        "NO_RUN_TIME": (2, 4),  # one has not started, one has not ended
        "STEP": (1, 7),
        "NO_SUBMISSION": (1, 8),
        "BAD_NUMBER": (1, 9),
        "BAD_FIELDS": (1, 10),
    }


@pytest.mark.parametrize(
    ("field", "queues"),
    [("partition", {"gpu", "cpu"}), ("qos", {"normal", "long"}), ("user", {"ann", "bob"})],
)
def test_the_partition_the_qos_or_the_user_may_be_the_queue(field: str, queues: set[str]) -> None:
    jobs, _ = jobs_of("jobs.sacct", TraceOptions(queue_from=field))
    assert {one.queue for one in jobs} == queues


# --- columns


@pytest.mark.parametrize(
    ("text", "name", "missing"),
    [
        ("job_id,gpu_num\n", "helios", "cpu_num, submit_time, start_time, duration"),
        ("name,cpu_milli\n", "openb", "memory_mib"),
        ("JobID|Submit|Start|End|ElapsedRaw\n", "sacct", "account"),
        ("JobID|Submit|Start|End|ElapsedRaw|Account\n", "sacct", "ReqTRES"),
    ],
)
def test_a_table_without_a_column_says_which_is_missing(text: str, name: str, missing: str) -> None:
    with pytest.raises(TraceError, match=f"no column {missing}"):
        read_trace(text.splitlines(keepends=True), name)


def test_columns_may_be_in_any_order_and_quoted() -> None:
    lines = ['"JobID"|ReqTRES|END|Start|submit|ElapsedRaw|Account|more\n']
    lines.append("1|cpu=2|2026-01-01T00:00:09|2026-01-01T00:00:01|2026-01-01T00:00:00|8|a|x\n")
    (job,) = read_trace(lines).jobs
    assert (job.run_time, job.requests) == (8, Resources({"cpu": 2000}))
