"""Starvation: how long large jobs wait on an overloaded cluster, without and with the plugin `sla`.

The same seeded workload is simulated twice. Small jobs fill whatever room comes free, so that large
ones wait for as long as the load lasts; with `sla` room is held for who has waited too long.

By default larger jobs run for a shorter time, so that the largest tenth do a fifth of the work:
they wait for room. With `--speedup 0` they do half of it, and at more than the whole cluster's load
most of their wait is for each other, which no order of jobs mends.
"""

import argparse
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from simulation_bench import CPU, START, cluster

from maar.core.model.metadata import Object
from maar.core.policy.configuration import Configuration, parse
from maar.core.policy.grammar import USUAL_TIERS
from maar.core.simulation.group_times import Floats
from maar.core.simulation.jobs import JobArrivals, TraceJob
from maar.core.simulation.virtual_time import Simulation
from maar.core.simulation.workloads import JobMix, synthetic_jobs

FULL: Final = 0.9  # of the cluster in use: from then on it is loaded
LARGEST: Final = 0.1  # of the jobs, by the CPUs of all their pods
LONGEST_RATIO: Final = 0.5
LEAST_UTILISATION: Final = 0.98
HOUR: Final = 3600.0


@dataclass(frozen=True)
class Figures:
    """What one run shows."""

    longest_of_large: float  # seconds from submission to the first start, or to the end of the run
    mean_of_large: float
    longest: float
    mean: float
    utilisation: float  # of CPUs while the cluster is loaded
    evictions: int
    lost: float  # part of all pod-seconds
    decisions: int
    seconds: float  # of one core for each decision


def main() -> None:
    """Run the workload without and with `sla`, and compare."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=4_000)
    options.add_argument("--nodes", type=int, default=64)
    options.add_argument("--load", type=float, default=1.05)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--waiting-time", default="1h", help="sla-waiting-time")
    options.add_argument("--depth", type=int, default=1, help="how many groups may hold room at a time")
    options.add_argument(
        "--actions", default="enqueue, allocate, backfill", help="with reclaim, large jobs are evicted"
    )
    options.add_argument("--speedup", type=float, default=0.75, help="run times fall with the size")
    options.add_argument("--estimates", choices=["exact", "bound", "none"], default="bound")
    chosen = options.parse_args()
    queues = [f"queue-{index}" for index in range(4)]
    mix = JobMix(
        jobs=chosen.jobs,
        cluster_cpu=chosen.nodes * CPU,
        load=chosen.load,
        queues=dict.fromkeys(queues, 1.0),
        namespaces=2,
        largest_job_cpu=chosen.nodes * CPU // 2,
        largest_pod_cpu=CPU // 2,
        estimates=chosen.estimates,
        speedup=chosen.speedup,
    )
    jobs = synthetic_jobs(mix, random.Random(chosen.seed), START)
    ordered = sorted(jobs, key=lambda job: -job.total["cpu"])
    work = [job.total["cpu"] * job.run_time for job in ordered]
    days = (jobs[-1].time - START) / (24 * HOUR)
    print(
        f"{chosen.jobs:,} jobs of 1 to {mix.largest_job_cpu // 1000} CPUs in {days:.1f} days,"
        f" {chosen.load:.0%} of {chosen.nodes} nodes of {CPU // 1000} CPUs, 4 queues, actions"
        f" {chosen.actions}; the largest tenth do {sum(work[: len(work) // 10]) / sum(work):.0%} of the work;"
        f" a decision on the empty cluster takes {idle_ms(chosen.nodes, queues):.2f} ms"
    )
    objects = cluster(chosen.nodes, queues)
    found = [
        figures(jobs, mix.cluster_cpu, objects, configuration(chosen.actions, arguments))
        for arguments in (None, {"sla-waiting-time": chosen.waiting_time, "depth": chosen.depth})
    ]
    table(*found)


def configuration(actions: str, sla: dict[str, object] | None) -> Configuration:
    """The usual plugins, and `sla` where its arguments are given."""
    tiers = [{"plugins": [plugin(name) for name in tier]} for tier in USUAL_TIERS]
    if sla is not None:
        tiers[0]["plugins"].append({"name": "sla", "arguments": sla})
    parsed = parse({"actions": actions, "tiers": tiers})
    for warning in parsed.warnings:
        print(f"  configuration: {warning}")
    return parsed


def plugin(name: str) -> dict[str, object]:
    """A plugin with the arguments of the default configuration."""
    return {"name": name, "arguments": {"leastrequested.weight": 0} if name == "nodeorder" else {}}


def figures(
    jobs: Sequence[TraceJob], whole: int, objects: Iterable[Object], configured: Configuration
) -> Figures:
    """Simulate jobs on so many CPUs to their end, and measure."""
    workload = JobArrivals(jobs)
    simulation = Simulation(objects, workload.run_time, configured, START)
    simulation.submit_all(workload.arrivals())
    last = jobs[-1].time
    used, since, full_since, busy = 0, START, None, 0.0
    begin = time.process_time()
    for now, _ in simulation.run():
        if full_since is not None:
            busy += used * (min(now, last) - min(since, last))
        rows = simulation.engine.tables.queues.values()
        used, since = sum(row.used[0] for row in rows if row.is_leaf), now
        if full_since is None and used >= FULL * whole:
            full_since = now
    took = time.process_time() - begin
    times = simulation.times()
    started = np.where(np.isnan(times.started), simulation.time, times.started)
    waits: Floats = started - times.submitted
    sizes = np.array([job.total["cpu"] for job in jobs])  # [G] in the order of submission
    large = waits[np.argsort(-sizes, kind="stable")[: int(LARGEST * len(sizes))]]
    ran = sum(job.pods * job.run_time for job in jobs)
    return Figures(
        longest_of_large=float(large.max()),
        mean_of_large=float(large.mean()),
        longest=float(waits.max()),
        mean=float(waits.mean()),
        utilisation=busy / (whole * (last - full_since)) if full_since is not None else 0.0,
        evictions=int(times.evictions.sum()),
        lost=float(times.wasted.sum()) / ran,
        decisions=simulation.decisions,
        seconds=took / simulation.decisions,
    )


def table(without: Figures, with_sla: Figures) -> None:
    """Print both runs side by side, with their ratio."""
    print(f"  {'':<42}{'without':>12}{'with sla':>12}{'ratio':>9}")
    row(
        "longest wait of the largest tenth, h",
        without.longest_of_large / HOUR,
        with_sla.longest_of_large / HOUR,
        f"at most {LONGEST_RATIO}",
    )
    row("mean wait of the largest tenth, h", without.mean_of_large / HOUR, with_sla.mean_of_large / HOUR)
    row("longest wait of all, h", without.longest / HOUR, with_sla.longest / HOUR)
    row("mean wait of all, h", without.mean / HOUR, with_sla.mean / HOUR)
    row(
        "utilisation while loaded", without.utilisation, with_sla.utilisation, f"at least {LEAST_UTILISATION}"
    )
    row("evictions", without.evictions, with_sla.evictions)
    row("work lost, part of all", without.lost, with_sla.lost)
    row("decisions", without.decisions, with_sla.decisions)
    row("ms for each decision", without.seconds * 1e3, with_sla.seconds * 1e3)


def row(name: str, without: float, with_sla: float, target: str = "") -> None:
    """Print a figure of both runs."""
    ratio = f"{with_sla / without:.3f}" if without else "-"
    print(f"  {name:<42}{without:>12,.3f}{with_sla:>12,.3f}{ratio:>9}   {target}")


def idle_ms(nodes: int, queues: Iterable[str]) -> float:
    """The reference: milliseconds of a decision on the empty cluster, in which nothing changes."""
    simulation = Simulation(cluster(nodes, queues), lambda _: None, start=START)
    for _ in simulation.run():
        pass
    engine = simulation.engine
    begin = time.process_time()
    for cycle in range(200):
        engine.decide(START + cycle)
    return (time.process_time() - begin) / 200 * 1e3


if __name__ == "__main__":
    main()
