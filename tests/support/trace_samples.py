"""Samples in the formats of public traces, made for these tests."""

from pathlib import Path

from maar.core.simulation.jobs import TraceJob
from maar.core.traces.options import TraceOptions
from maar.core.traces.reading import Trace, read_trace

SAMPLES = Path(__file__).with_name("traces")
FORMATS_OF = {
    "jobs.swf": "swf",
    "helios.csv": "helios",
    "seren.csv": "acme",
    "kalos.csv": "acme",
    "philly.json": "philly",
    "openb_pods.csv": "openb",
    "jobs.sacct": "sacct",
}


def sample(name: str) -> list[str]:
    """The lines of a sample."""
    return (SAMPLES / name).read_text(encoding="utf-8").splitlines(keepends=True)


def jobs_of(name: str, options: TraceOptions | None = None) -> tuple[list[TraceJob], Trace]:
    """All jobs of a sample, and the trace when it has been read."""
    trace = read_trace(sample(name), options=options)
    return list(trace.jobs), trace


def skipped(trace: Trace) -> dict[str, tuple[int, int]]:
    """How many records were left out by reason, and in which line the first is."""
    return {one.reason.name: (one.records, one.line) for one in trace.skips}
