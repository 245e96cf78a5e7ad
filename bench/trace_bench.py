"""Readers of traces: a file of each format, beside passing over its lines.

`--lines 10000000 --format swf` reads one long file that is made while it is read, and prints the
memory.
"""

import argparse
import resource
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from random import Random
from time import perf_counter

from measure import line, median_ms

from maar.core.traces.lines import text_lines
from maar.core.traces.lublin import LublinModel, lublin_jobs
from maar.core.traces.reading import FORMATS, read_trace

LINES = 50_000
CHUNK = 2**20


def main() -> None:
    """Print how fast each format is read."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, help="read one file of so many lines")
    options.add_argument("--format", choices=FORMATS, default="swf")
    chosen = options.parse_args()
    if chosen.lines:
        read_long_file(chosen.format, chosen.lines)
        return
    for name in FORMATS:
        data = "".join(text_of(name, LINES)).encode()
        pieces = [data[begin : begin + CHUNK] for begin in range(0, len(data), CHUNK)]
        plain = median_ms(partial(pass_over_lines, pieces), 3)
        ms = median_ms(partial(pass_over_jobs, pieces), 3)
        line(f"{name}, {LINES * 1000 / ms:,.0f} jobs/s", ms, plain, "")
    ms = median_ms(lambda: pass_over(lublin_jobs(LublinModel(jobs=LINES), Random(1))), 3)
    line(f"Lublin-Feitelson, {LINES * 1000 / ms:,.0f} jobs/s", ms, plain, "")


def read_long_file(name: str, lines: int) -> None:
    """Read a file that is too long to be held, and say how long that took and how much memory it needed."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = perf_counter()
    made = sum(len(one) for one in text_of(name, lines))
    making = perf_counter() - begin
    begin = perf_counter()
    trace = read_trace(text_of(name, lines), name)
    pass_over(trace.jobs)
    took = max(1e-9, perf_counter() - begin - making)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"  {name}: {lines:,} lines, {made / 1e6:,.0f} MB, {trace.skips.jobs:,} jobs in {took:.1f} s"
        f" ({lines / took:,.0f} lines/s), memory {before / 1024:.0f} MB before, {after / 1024:.0f} after"
    )
    for sentence in trace.skips.sentences():
        print(f"  {sentence}")


def pass_over_lines(pieces: list[bytes]) -> None:
    """Split a file into lines."""
    pass_over(text_lines(pieces))


def pass_over_jobs(pieces: list[bytes]) -> None:
    """Read the jobs of a file."""
    pass_over(read_trace(text_lines(pieces)).jobs)


def pass_over(items: Iterable[object]) -> None:
    """Ask for everything, and keep nothing."""
    deque(items, maxlen=0)


def text_of(name: str, lines: int) -> Iterator[str]:
    """A file of a format, line by line; jobs come every three seconds."""
    header, record = WRITERS[name]
    yield header
    for number in range(1, lines + 1):
        yield record(number, 3 * number)
    if name == "philly":
        yield "{}]\n"


def _time(seconds: int, separator: str = " ") -> str:
    return datetime.fromtimestamp(1_500_000_000 + seconds, UTC).isoformat(separator)[:19]


def _swf(number: int, time: int) -> str:
    return (
        f"{number} {time} 12 {number % 5000} {1 + number % 64} -1 -1 {1 + number % 64} 3600 -1 1"
        f" {number % 90} 1 -1 {number % 7} 1 -1 -1\n"
    )


def _helios(number: int, time: int) -> str:
    begin, end, size = _time(time), _time(time + 600), f"{8 * (number % 3)},32,2"
    return f"{number},u{number % 90},vc{number % 7},{size},COMPLETED,{begin},{begin},{end},600,0\n"


def _acme(number: int, time: int) -> str:
    begin, end = f"{_time(time)}+08:00", f"{_time(time + 600)}+08:00"
    return f"{number},u{number % 90},2,16,96,type{number % 7},COMPLETED,{begin},{begin},{end},600.0,0.0,1.0\n"


def _philly(number: int, time: int) -> str:
    attempt = (
        f'{{"start_time": "{_time(time)}", "end_time": "{_time(time + 600)}", "detail":'
        ' [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0"]}]}'
    )
    return (
        f'{{"status": "Pass", "vc": "v{number % 7}", "jobid": "application_1_{number:06}", "attempts":'
        f' [{attempt}], "submitted_time": "{_time(time)}", "user": "u{number % 90}"}},\n'
    )


def _openb(number: int, time: int) -> str:
    return f"pod-{number:07},12000,16384,1,460,V100M16|T4,LS,{time},{time + 700},{time + 10}.0\n"


def _sacct(number: int, time: int) -> str:
    begin, end = _time(time, "T"), _time(time + 600, "T")
    tres = "billing=16,cpu=16,gres/gpu=8,mem=64G,node=2"
    return f"{number}|u|a{number % 7}|gpu|{begin}|{begin}|{end}|600|60|{tres}|{tres}|2|COMPLETED|normal\n"


WRITERS: dict[str, tuple[str, Callable[[int, int], str]]] = {
    "swf": ("; MaxNodes: 64\n", _swf),
    "helios": (
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n",
        _helios,
    ),
    "acme": (
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n",
        _acme,
    ),
    "philly": ("[\n", _philly),
    "openb": (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time\n",
        _openb,
    ),
    "sacct": (
        "JobID|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES|NNodes|State|QOS\n",
        _sacct,
    ),
}

if __name__ == "__main__":
    main()
