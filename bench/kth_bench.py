"""FCFS and EASY on a whole log, KTH-SP2-1996-2.1-cln: the time, and the figures beside those of a reference.

The reference is another program, which knows nothing of Maar: the figures are in the file beside
the log. The time is that of one core, beside a count to a million in the same run, as cores differ.
"""

import sys
from gzip import open as open_packed
from pathlib import Path
from time import process_time
from typing import Final

from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.resources import CPU, Resources
from maar.core.simulation.experiment import Cluster, Outcome, PolicyRun, SubmittedJobs
from maar.core.simulation.jobs import TraceJob
from maar.core.simulation.policies import NAMED
from maar.core.traces.options import TraceOptions
from maar.core.traces.reading import read_trace

LOG: Final = "shared/traces/KTH-SP2-1996-2.1-cln.swf.gz"  # in a folder above the checkout
PROCESSORS: Final = 100
KNOWN: Final = {  # mean wait in seconds, mean bounded slowdown, utilisation
    "fcfs": ("353,943.09", "6,825.67", "69.67%"),
    "easy": ("6,837.23", "92.87", "69.71%"),
}
COUNTS: Final = 1_000_000


def main() -> None:
    """Print times and figures; figures that differ end it with status 1."""
    file = next((one / LOG for one in Path(__file__).resolve().parents if (one / LOG).is_file()), None)
    if file is None:
        print(f"  skipped: there is no {LOG} above the checkout")
        return
    with open_packed(file, "rt") as lines:
        options = TraceOptions(processors_per_pod=PROCESSORS, stops_at_estimate=True)
        jobs = list(read_trace(lines, "swf", options).jobs)
    together, is_right = 0.0, True
    for name, known in KNOWN.items():
        begin = process_time()
        outcome = simulated(name, jobs)
        took = process_time() - begin
        together += took
        of = outcome.figures
        found = f"{of.wait.mean:,.2f}", f"{of.slowdown.mean:,.2f}", f"{of.utilisation[CPU]:.2%}"
        is_right &= found == known
        print(f"  {name}, {len(jobs):,} jobs, {outcome.decisions:,} decisions: {took:.0f} s of one core")
        print(f"    wait, slowdown, utilisation: {', '.join(found)}; reference: {', '.join(known)}")
    counted = counting()
    print(f"  both: {together:.0f} s, as long as counting to a million {together / counted:,.0f} times")
    if not is_right:
        sys.exit(1)


def simulated(policy: str, jobs: list[TraceJob]) -> Outcome:
    """All jobs on one node, so that only the number of processors counts."""
    size = Resources({CPU: PROCESSORS * 1000, "pods": 100_000, "memory": 2**60})
    ready = (Condition(type="Ready", status="True"),)
    node = Node(metadata=Metadata(name="n"), status=NodeStatus(allocatable=size, conditions=ready))
    submitted = SubmittedJobs(Cluster((node,)), NAMED[policy], jobs, jobs[0].time)
    run = PolicyRun(NAMED[policy], submitted, ())
    for _ in run.moments():
        pass
    return run.outcome()


def counting() -> float:
    """Seconds of this core for counting to a million."""
    begin, count = process_time(), 0
    while count < COUNTS:
        count += 1
    return process_time() - begin


if __name__ == "__main__":
    main()
