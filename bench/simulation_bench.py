"""A simulation in virtual time beside the engine alone: the same events and decisions, replayed."""

import argparse
import cProfile
import gc
import pstats
import random
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from maar.api.simulation.report import csv_lines
from maar.core.answers.simulate.page import Heading, page
from maar.core.answers.simulate.tables import job_columns, series_columns
from maar.core.engine import Engine
from maar.core.model.events import Event
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.resources import Resources
from maar.core.simulation.experiment import Cluster, Outcome, PolicyRun, SubmittedJobs
from maar.core.simulation.jobs import JobArrivals
from maar.core.simulation.policies import NAMED
from maar.core.simulation.virtual_time import Simulation
from maar.core.simulation.workloads import JobMix, synthetic_jobs

GIB = 2**30
START = 1_700_000_000.0
CPU = 16_000  # of a node, in thousandths
TARGET_S = 600
TARGET_MB = 1_000
REFERENCE = 20_000  # jobs of the run that is replayed


def main() -> None:
    """Simulate single-pod jobs on 500 nodes, and say where the time goes."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=100_000)
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--load", type=float, default=0.9)
    options.add_argument("--profile", action="store_true", help="where the time goes, function by function")
    chosen = options.parse_args()
    if chosen.profile:
        profiled(partial(simulated, chosen.jobs, chosen.nodes, chosen.load))
        return
    reference(min(REFERENCE, chosen.jobs), chosen.nodes, chosen.load)
    begin = time.process_time()
    outcome, seconds = reported(chosen.jobs, chosen.nodes, chosen.load)
    took = time.process_time() - begin
    print(
        f"{outcome.figures.ended:,} of {chosen.jobs:,} single-pod jobs on {chosen.nodes} nodes at"
        f" {chosen.load:.0%}, with a report: {took:.0f} s of one core (target {TARGET_S}), of which"
        f" {seconds:.1f} s for figures, page and CSV; {outcome.decisions:,} decisions,"
        f" {took / outcome.decisions * 1e3:.2f} ms each, {resident()} MB (target {TARGET_MB})"
    )


def reported(jobs: int, nodes: int, load: float) -> tuple[Outcome, float]:
    """What `maar simulate` does, and the seconds that it took after the last decision."""
    objects = cluster(nodes, (f"queue-{index}" for index in range(4)))
    on = Cluster(
        tuple(one for one in objects if isinstance(one, Node)),
        tuple(one for one in objects if isinstance(one, Queue)),
    )
    policy, drawn = NAMED["default"], synthetic_jobs(mixed(jobs, nodes, load), random.Random(1), START)
    run = PolicyRun(policy, SubmittedJobs(on, policy, drawn, START), on.queues)
    for _ in run.moments():
        pass
    begin = time.process_time()
    outcome = run.outcome()
    for pieces in (
        page(Heading("bench", [], []), [outcome]),
        csv_lines(job_columns(outcome)),
        csv_lines(series_columns(outcome)),
    ):
        for _ in pieces:
            pass
    return outcome, time.process_time() - begin


def reference(jobs: int, nodes: int, load: float) -> None:
    """Record what a simulation feeds and when it decides, and replay that on an engine alone."""
    begin = time.process_time()
    plain = simulated(jobs, nodes, load)
    took = time.process_time() - begin
    calls = list[tuple[list[Event], float | None]]()
    recorded(calls, jobs, nodes, load)
    engine = Engine()
    gc.collect()
    gc.freeze()
    begin = time.process_time()
    for events, now in calls:
        engine.feed(events)
        if now is not None:
            engine.decide(now)
    bare = time.process_time() - begin
    gc.unfreeze()
    print(
        f"{jobs:,} jobs: simulated in {took:.1f} s; the same {plain.decisions:,} decisions and"
        f" {sum(len(events) for events, _ in calls):,} events replayed on an engine in {bare:.1f} s:"
        f" {took / bare:.2f}x"
    )


def recorded(calls: list[tuple[list[Event], float | None]], jobs: int, nodes: int, load: float) -> None:
    """Simulate, and write down every call of the engine."""
    simulation, collected = prepared(jobs, nodes, load), list[Event]()
    learn, decide = simulation.engine.feed, simulation.engine.decide

    def feed(events: Iterable[Event]) -> None:
        listed = list(events)
        collected.extend(listed)
        learn(listed)

    def decided(now: float) -> object:
        calls.append((list(collected), now))
        collected.clear()
        return decide(now)

    simulation.engine.feed = feed  # type: ignore[method-assign]
    simulation.engine.decide = decided  # type: ignore[method-assign, assignment]
    for _ in simulation.run():
        pass


def simulated(jobs: int, nodes: int, load: float) -> Simulation:
    """A simulation that has run to its end."""
    simulation = prepared(jobs, nodes, load)
    for _ in simulation.run():
        pass
    return simulation


def prepared(jobs: int, nodes: int, load: float) -> Simulation:
    """Nodes of 16 CPUs, four queues, and single pods that arrive."""
    mix = mixed(jobs, nodes, load)
    workload = JobArrivals(synthetic_jobs(mix, random.Random(1), START))
    simulation = Simulation(cluster(nodes, mix.queues), workload.run_time, start=START)
    simulation.submit_all(workload.arrivals())
    return simulation


def mixed(jobs: int, nodes: int, load: float) -> JobMix:
    """Single pods in four queues."""
    names = {f"queue-{index}": 1.0 for index in range(4)}
    return JobMix(jobs=jobs, cluster_cpu=nodes * CPU, load=load, queues=names, largest_job_cpu=CPU, sigma=1.0)


def cluster(nodes: int, queues: Iterable[str]) -> list[Object]:
    """Nodes of 16 CPUs, and queues of equal weight."""
    size = Resources({"cpu": CPU, "memory": 64 * GIB, "pods": 110})
    status = NodeStatus(allocatable=size, conditions=(Condition(type="Ready", status="True"),))
    machines = [Node(metadata=Metadata(name=f"node-{index:04}"), status=status) for index in range(nodes)]
    return [*machines, *(Queue(metadata=QueueMetadata(name=name)) for name in queues)]


def profiled(work: partial[Simulation]) -> None:
    """Print the functions in which the time is spent."""
    profile = cProfile.Profile()
    profile.runcall(work)
    statistics = pstats.Stats(profile)
    statistics.sort_stats("cumulative").print_stats(60)
    statistics.sort_stats("tottime").print_stats(40)


def resident() -> int:
    """The memory of this process now, in MB."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4 // 1024


if __name__ == "__main__":
    main()
