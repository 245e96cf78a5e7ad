"""Decisions of this tree beside those of another: `python bench/compare_cycles.py ../other`.

Each row is measured on a plain cluster and on an ordinary one (`ordinary.py`), with both trees. The
events come from this tree, the engine from the tree that is measured. A process measures one figure
once, processes of the trees take turns, and the least time of one core counts: whatever else runs
on the machine makes a process slower, never faster. Where a tree is older than what a row needs,
the table has a dash.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from time import process_time
from typing import Final

import cycle_bench as bench
import policy_bench as policy
from ordinary import PARTS, both, ordinary
from ordinary_bench import nothing_changed
from waiting_bench import decisions, many_wait

from maar.core.engine import Engine
from maar.core.model.events import Event
from maar.core.policy.configuration import Configuration

HERE: Final = Path(__file__).resolve().parent
NO_FIGURE: Final = "\N{EN DASH}"
TREES: Final = ("old", "new")
CLUSTERS: Final = ("plain", "ordinary")

Events = Iterable[Event]
Measure = Callable[[str], float]  # of a kind of cluster; gives seconds


@dataclass(frozen=True)
class Figures:
    """The least seconds of each row by its name, the tree and the kind of cluster."""

    least: Mapping[tuple[str, str, str], float]

    def ratio(self, one: tuple[str, str, str], other: tuple[str, str, str]) -> float | None:
        """One figure beside another, where both are there."""
        if one in self.least and other in self.least:
            return self.least[one] / self.least[other]
        return None


@dataclass(frozen=True)
class Target:
    """What a row is to reach: the ratio of two figures is at most so much."""

    says: str
    at_most: float
    tree: str = "new"
    cluster: str = "plain"
    beside_row: str = ""  # the same row where it is empty
    beside_tree: str = "new"
    beside_cluster: str = "plain"

    def reached(self, row: str, figures: Figures) -> str:
        """The target, and whether it is reached."""
        beside = (self.beside_row or row, self.beside_tree, self.beside_cluster)
        ratio = figures.ratio((row, self.tree, self.cluster), beside)
        if ratio is None:
            return f"{self.says}: not measured"
        return f"{self.says}: {'reached' if ratio <= self.at_most else 'missed'}"


@dataclass(frozen=True)
class Row:
    """What is measured, and what it is to reach."""

    measure: Measure
    targets: Sequence[Target] = ()


def main() -> None:
    """Print the table, or in a process of one tree, measure one figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path, help="a checkout of the commit to compare with")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each figure")
    parser.add_argument("--only", choices=(*ROWS, *MORE_ROWS), nargs="*", help="the rows to measure")
    parser.add_argument("--measure", choices=CLUSTERS, help="measure in this process, on this cluster")
    given = parser.parse_args()
    names = given.only or list(ROWS)
    if given.measure:
        sys.path.insert(0, str(given.other / "bench"))  # questions are asked as that tree asks them
        print(json.dumps({**ROWS, **MORE_ROWS}[names[0]].measure(given.measure)))
        return
    print(f"  {'milliseconds of one core':<44}{'plain':>27}{'ordinary':>29}{'ordinary/plain':>18}")
    columns = 2 * f"{'old':>10}{'new':>10}{'new/old':>8} "
    print(f"  {'':<44}{columns}{'old':>8}{'new':>8}")
    least: dict[tuple[str, str, str], float] = {}
    for name in names:
        compare(name, given.other, given.rounds, least)


def compare(name: str, other: Path, rounds: int, least: dict[tuple[str, str, str], float]) -> None:
    """Print a row: the least times of both trees on both clusters."""
    trees = {"old": other, "new": HERE.parent}
    for _ in range(rounds):
        for cluster in CLUSTERS:
            for tree, folder in trees.items():
                took = in_process(folder, name, cluster)
                if took is not None:
                    at = (name, tree, cluster)
                    least[at] = min(least.get(at, took), took)
    figures = Figures(least)
    cells = []
    for cluster in CLUSTERS:
        cells += [f"{milliseconds(least.get((name, tree, cluster))):>10}" for tree in TREES]
        cells.append(f"{shown(figures.ratio((name, 'new', cluster), (name, 'old', cluster))):>8} ")
    for tree in TREES:
        cells.append(f"{shown(figures.ratio((name, tree, 'ordinary'), (name, tree, 'plain'))):>8}")
    print(f"  {name:<44}{''.join(cells)}")
    for target in {**ROWS, **MORE_ROWS}[name].targets:
        print(f"      target: {target.reached(name, figures)}")
    sys.stdout.flush()


def milliseconds(seconds: float | None) -> str:
    """A figure of the table."""
    return NO_FIGURE if seconds is None else f"{seconds * 1e3:,.1f}"


def shown(ratio: float | None) -> str:
    """A ratio of the table."""
    return NO_FIGURE if ratio is None else f"{ratio:.2f}x"


def in_process(tree: Path, name: str, cluster: str) -> float | None:
    """Measure in a process that imports one tree; nothing where the tree cannot do it."""
    command = [sys.executable, __file__, str(tree), "--measure", cluster, "--only", name]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)  # noqa: S603  # ourselves
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or ["no message"]
        print(f"{name}, {cluster}, {tree}: {why[0]}", file=sys.stderr)
        return None
    return float(json.loads(done.stdout))


def on(cluster: str, events: Events) -> Events:
    """The events of a plain cluster, or of an ordinary one."""
    return ordinary(events) if cluster == "ordinary" else events


def waits_quietly(cluster: str) -> float:
    """Thousands of groups wait and nothing has changed."""
    return nothing_changed(tuple(PARTS) if cluster == "ordinary" else ())


def one_ended(queues: int, sizes: Sequence[int], cluster: str, *more: dict[str, object]) -> float:
    """Thousands of groups wait and one pod has ended; with more plugins, or the usual ones."""
    engine = Engine(policy.with_usual_plugins(*more)) if more else Engine()
    return statistics.median(decisions(engine, on(cluster, many_wait(queues, sizes))).took)


def one_ended_with_plugins(queues: int, sizes: Sequence[int], cluster: str) -> float:
    """The same with the plugins `sla` and `usage`."""
    return one_ended(queues, sizes, cluster, *policy.MORE)


def first(events: Callable[[], Events], cluster: str) -> float:
    """The first decision of an engine."""
    return cycles(events, cluster)[0]


def following(events: Callable[[], Events], cluster: str) -> float:
    """The one after it, in which nothing has changed but what the first has bound."""
    return cycles(events, cluster)[1]


def cycles(
    events: Callable[[], Events], cluster: str, configuration: Configuration | None = None
) -> tuple[float, float]:
    """The seconds that the first decision and the next one take."""
    engine = Engine() if configuration is None else Engine(configuration)
    return policy.first_and_next(engine, on(cluster, events()))


def quiet(cluster: str) -> float:
    """A large cluster in which everything runs: the least of several decisions."""
    engine, now = Engine(), policy.NOW.timestamp()
    running = bench.running(100_000, 1_000)
    engine.feed(on(cluster, chain(bench.cluster(10_000), bench.many_queues(1_000), running)))
    engine.decide(now)
    gc.collect()
    gc.freeze()
    took = []
    for cycle in range(bench.TIMES):
        begin = process_time()
        engine.decide(now + 1.0 + cycle)
        took.append(process_time() - begin)
    return min(took)


def starts(nodes: int, groups: int, cluster: str) -> float:
    """The planned starts of all groups that wait, asked as the measured tree asks."""
    bench_of_starts, whatif = import_module("starts_bench"), import_module("whatif_bench")
    objects, now = [*bench_of_starts.cluster(nodes, groups)], bench_of_starts.NOW
    kinds = dict(zip(CLUSTERS, both(objects, now), strict=True))
    present = whatif.at_rest(kinds[cluster][1], now)
    gc.collect()
    gc.freeze()
    begin = process_time()
    bench_of_starts.starts.planned_starts(present, precision=0.05)
    return process_time() - begin


def answer(path: str, value: int, cluster: str) -> float:
    """What another value would do on a full cluster where thousands wait, asked as the measured tree asks."""
    whatif = import_module("whatif_bench")
    kinds = dict(
        zip(CLUSTERS, both(whatif.full_cluster(whatif.Size(1_000, 10_000)), whatif.START), strict=True)
    )
    present, found = whatif.at_rest(kinds[cluster][1]), list[object]()
    gc.collect()
    begin = process_time()
    whatif.ask(present, [whatif.SetField(path, value)], 0, found)
    return process_time() - begin


def work(gang: int) -> Events:
    """All pods of a large cluster wait, in gangs or alone."""
    return chain(bench.cluster(10_000), bench.queues(), bench.work(100_000, gang))


def at_most_old(ratio: float, cluster: str = "plain") -> Target:
    """A part of the time that the old tree takes on the same cluster."""
    says = f"{cluster} at most {ratio}x old"
    return Target(says, ratio, cluster=cluster, beside_tree="old", beside_cluster=cluster)


def faster_than_old(times: float) -> Target:
    """So many times as fast as the old tree."""
    return Target(f"plain at least {times}x the speed of old", 1 / times, beside_tree="old")


def ordinary_at_most(ratio: float) -> Target:
    """What an ordinary cluster may cost."""
    return Target(f"ordinary at most {ratio}x plain", ratio, cluster="ordinary")


def ended_rows() -> dict[str, Row]:
    """One pod has ended while few, some and many classes wait; then again with more plugins."""
    rows: dict[str, Row] = {}
    cases = ((10, (10,), 600, 1.0), (10, (1, 2, 4, 8), 2_373, 1.0), (100, (1, 4), 6_769, 0.5))
    for queues, sizes, kinds, ratio in cases:
        name = f"one pod ended, {kinds:,} classes"
        rows[name] = Row(partial(one_ended, queues, sizes), (at_most_old(ratio),))
    for queues, sizes, kinds, _ in cases:
        name = f"one pod ended, {kinds:,} classes"
        target = Target("sla and usage at most 3x plain without", 3.0, beside_row=name)
        rows[f"{name}, sla and usage"] = Row(partial(one_ended_with_plugins, queues, sizes), (target,))
    return rows


_WORK_TARGET: Final = Target("ordinary at least 80 % of the speed of plain", 1.25, cluster="ordinary")
_QUESTION_TARGETS: Final = (at_most_old(0.6), at_most_old(0.6, "ordinary"))
ROWS: Final[dict[str, Row]] = {
    "nothing changed, 10,000 groups wait": Row(waits_quietly, (ordinary_at_most(1.5), at_most_old(1.0))),
    **ended_rows(),
    "nothing changed, 10,000 nodes, 100,000 pods": Row(quiet, (at_most_old(0.7),)),
    "100,000 pods on 10,000 nodes, gangs": Row(
        partial(first, partial(work, 10)), (faster_than_old(1.3), _WORK_TARGET)
    ),
    "100,000 pods on 10,000 nodes, single": Row(
        partial(first, partial(work, 1)), (faster_than_old(1.8), _WORK_TARGET)
    ),
    "anti-affinity and spread, 5,000 nodes": Row(partial(first, bench.shards), (faster_than_old(2.0),)),
    "reclaim, 4,000 for 4,000": Row(partial(first, bench.one_gpu_jobs), (at_most_old(0.65),)),
    "planned starts, 1,000 groups wait": Row(partial(starts, 100, 1_000), _QUESTION_TARGETS),
    "what-if, 149 evictions": Row(partial(answer, "queue/queue-0.capability.cpu", 1_000), _QUESTION_TARGETS),
    "what-if, 329 evictions": Row(partial(answer, "queue/queue-0.weight", 2), _QUESTION_TARGETS),
}
_GANGS: Final[dict[str, Callable[[], Events]]] = {
    "ten queues": partial(bench.ten_queues, 1_000),
    "one queue": partial(bench.one_queue, 1_000),
    "few victims": partial(bench.few_victims, 1_000),
    "at the gate": lambda: map(policy.not_admitted, bench.ten_queues(1_000)),
}
# Measured where they are named: gangs wait in a full cluster, in the first decision and in the next; and
# what takes minutes on an ordinary cluster.
MORE_ROWS: Final[dict[str, Row]] = {
    "planned starts, 10,000 groups wait": Row(partial(starts, 1_000, 10_000), _QUESTION_TARGETS),
} | {
    f"{name}, {which}": Row(partial(measure, events))
    for name, events in _GANGS.items()
    for which, measure in (("first", first), ("next", following))
}


if __name__ == "__main__":
    main()
