"""Cycles of this tree beside those of another one: `python bench/compare_cycles.py ../other --rounds 5`.

Processes of both trees take turns, each decides a case on a few engines, and the least time of
one core counts: whatever else runs on the machine makes a process slower, never faster. The other tree may be
older than a policy; then it decides without it, which is what the targets of `everything on` are about.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, count
from pathlib import Path

import cycle_bench as bench
import policy_bench as policy

from maar.core.engine import Engine
from maar.core.model.events import Event

HERE = Path(__file__).resolve().parent
REPETITIONS = 3
TARGETS = {"off": 1.05, "on": 1.25}
CASES: dict[str, Callable[[], Iterable[Event]]] = {
    "gangs of 10": lambda: chain(bench.cluster(1_000), bench.queues(), bench.work(10_000, 10)),
    "single pods": lambda: chain(bench.cluster(1_000), bench.queues(), bench.work(10_000, 1)),
    "nothing changed": lambda: chain(
        bench.cluster(10_000), bench.many_queues(1_000), bench.running(100_000, 1_000)
    ),
    "reclaim": bench.one_gpu_jobs,
    "ten queues": partial(bench.ten_queues, 1_000),
    "one queue": partial(bench.one_queue, 1_000),
    "few victims": partial(bench.few_victims, 1_000),
    "at the gate": lambda: map(policy.not_admitted, bench.ten_queues(1_000)),
    "neighbours": bench.shards,
}


def main() -> None:
    """Compare, or in a process of one tree, measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path, help="a checkout of the commit to compare with")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each tree and case")
    parser.add_argument("--only", choices=CASES, nargs="*", help="the cases to compare")
    parser.add_argument(
        "--measure", choices=TARGETS, help="measure in this process, with more plugins on or off"
    )
    given = parser.parse_args()
    cases = given.only or list(CASES)
    if given.measure:
        print(json.dumps(measured(cases[0], is_on=given.measure == "on")))
        return
    for name in cases:
        compare(name, given.other, given.rounds)


def compare(name: str, other: Path, rounds: int) -> None:
    """Print the least times of a case in both trees."""
    trees = {"before": (other, "off"), "off": (HERE.parent, "off"), "on": (HERE.parent, "on")}
    least: dict[str, list[float]] = {}
    for _ in range(rounds):
        for which, (tree, policies) in trees.items():
            took = in_process(tree, name, policies)
            least[which] = list(map(min, least.get(which, took), took))
    for cycle, before in zip(("first", "next"), least["before"], strict=True):
        ratios = [
            f"{which} {now * 1e3:.1f} ms, {now / before:.2f}x (target {TARGETS[which]})"
            for which, now in ((which, least[which][cycle == "next"]) for which in TARGETS)
        ]
        print(f"{name}, {cycle} cycle: before {before * 1e3:.1f} ms; {'; '.join(ratios)}", flush=True)


def in_process(tree: Path, name: str, policies: str) -> list[float]:
    """Measure in a process that imports one tree."""
    command = [sys.executable, __file__, str(tree), "--measure", policies, "--only", name]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)  # noqa: S603  # ourselves
    return list(json.loads(done.stdout))


def measured(name: str, *, is_on: bool) -> list[float]:
    """The least seconds of one core that the first cycle and the next one take."""
    least: list[float] = []
    configuration = policy.with_usual_plugins(*(policy.MORE if is_on else ()))
    for _ in range(REPETITIONS):
        engine, events = Engine(configuration), CASES[name]()
        took = policy.first_and_next(engine, map(policy.some_young, events, count()) if is_on else events)
        least = list(map(min, least or took, took))
        del engine
        gc.collect()
    return least


if __name__ == "__main__":
    main()
