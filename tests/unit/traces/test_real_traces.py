"""Files of real machines are read as their authors count them."""

from collections.abc import Iterator
from gzip import decompress

import pytest

from maar.core.traces.options import TraceOptions
from maar.core.traces.reading import Trace, TraceError, read_trace
from support.real_traces import real_trace


def lines_of(name: str) -> Iterator[str]:
    """The lines of a file, unpacked."""
    data = real_trace(name).read_bytes()
    return iter((decompress(data) if name.endswith(".gz") else data).decode().splitlines())


def trace_of(name: str, options: TraceOptions | None = None) -> Trace:
    """A file as it is read; its format is recognised."""
    return read_trace(lines_of(name), options=options)


@pytest.mark.parametrize(
    ("name", "jobs", "hours"),
    [
        ("KTH-SP2-1996-2.1-cln.swf.gz", 28_475, 558_686.5),
        ("CTC-SP2-1996-3.1-cln.swf.gz", 77_222, 2_315_235.6),
        ("SDSC-SP2-1998-4.2-cln.swf.gz", 54_034, 1_868_765.3),
        ("NASA-iPSC-1993-3.1-cln.swf.gz", 18_239, 131_732.8),
    ],
)
def test_logs_of_the_archive_have_the_jobs_and_the_work_that_are_known(
    name: str, jobs: int, hours: float
) -> None:
    found = list(trace_of(name, TraceOptions(processors_per_pod=1_000)).jobs)
    assert len(found) == jobs
    work = sum(one.pods * one.requests["cpu"] * one.run_time for one in found) / 1000 / 3600
    assert work == pytest.approx(hours, abs=0.05)


def test_a_log_with_more_than_18_fields_is_read_by_its_first_18() -> None:
    trace = trace_of("alea-wagap-2013.swf")
    assert trace.format == "swf"
    first = next(trace.jobs)
    assert (first.name, first.run_time, first.estimate) == ("job-0", 56_011.0, 86_400.0)
    assert sum(1 for _ in trace.jobs) == 17_898 - 1
    assert (trace.skips.read, trace.skips.total) == (17_900, 2)  # two end before they start


def test_gpu_hours_of_openb_are_those_that_are_known() -> None:
    for how, hours in (("whole", 59_612.21), ("thousandths", 51_470.67)):
        jobs = list(trace_of("openb_pod_list_default.csv", TraceOptions(shared_gpus=how)).jobs)  # type: ignore[arg-type]
        assert len(jobs) == 7_255
        resource, one_has = ("nvidia.com/gpu", 1) if how == "whole" else ("nvidia.com/gpu-milli", 1000)
        total = sum(job.requests.get(resource, 0) * job.run_time for job in jobs) / one_has / 3600
        assert total == pytest.approx(hours, abs=0.005)


def test_a_list_of_openb_without_times_says_that_it_has_none() -> None:
    with pytest.raises(TraceError, match="this list of openb has no times"):
        trace_of("openb_pod_list_multigpu50.csv")


def test_pods_of_openb_that_are_all_made_at_once_are_read() -> None:
    jobs = list(trace_of("openb_fgd130_seed42_made.csv").jobs)
    assert len(jobs) == 10_813
    assert {job.time for job in jobs} == {0.0}


def test_jobs_of_acme_run_from_their_start_to_their_end() -> None:
    assert [job.run_time for job in trace_of("kalos_readme.csv").jobs] == [8.0, 70.0]
    assert [job.run_time for job in trace_of("seren_readme.csv").jobs] == [117.0, 2693.0]


def test_records_of_philly_that_were_published_are_read_or_counted() -> None:
    trace = trace_of("philly_published.json")
    jobs = list(trace.jobs)
    assert len(jobs) + trace.skips.total == trace.skips.read == 3
