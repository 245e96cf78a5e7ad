"""Acme: `trace_seren.csv` and `trace_kalos.csv`, with the columns of Helios but for `vc`.

The type of the work or its user is the queue. Times have an offset from UTC. Kalos has the memory of a pod.
A job ran from its start to its end: the `duration` of Kalos includes its wait.
"""

from maar.core.traces.columns import column_names
from maar.core.traces.helios import read_gpu_jobs
from maar.core.traces.lines import Numbered
from maar.core.traces.options import TraceOptions
from maar.core.traces.skips import Skips
from maar.core.traces.sources import Source


def looks_like_acme(lines: list[str]) -> bool:
    """Whether a first line has the columns of Acme."""
    columns = set(column_names(lines[0], ","))
    return {"job_id", "type", "gpu_num", "submit_time"} <= columns and "vc" not in columns


def read_acme(lines: Numbered, options: TraceOptions, skips: Skips) -> Source:
    """Read the header, and prepare to read the jobs."""
    return read_gpu_jobs(lines, options, skips, "Acme", ("type", "user"), ends_at="end_time")
