"""A decision in which nothing has changed while thousands wait, on a plain and on an ordinary cluster."""

import gc
import statistics
import sys
import time

from ordinary import PARTS, ordinary
from policy_bench import NOW
from waiting_bench import GROUPS, NODES, many_wait

from maar.core.engine import Engine
from maar.core.simulation.cluster import ImaginaryCluster

TIMES = 5


def main() -> None:
    """Print how long a decision takes with each part of an ordinary cluster, beside the plain one."""
    only = sys.argv[1:]
    plain = nothing_changed(())
    print(
        f"{GROUPS:,} groups wait on {NODES:,} nodes and nothing has changed: {plain * 1e3:.0f} ms", flush=True
    )
    for name in only or PARTS:
        took = nothing_changed((name,))
        print(f"  and {PARTS[name]}: {took * 1e3:.0f} ms, {took / plain:.2f}x", flush=True)
    if not only:
        took = nothing_changed(tuple(PARTS))
        print(
            f"  and all of them: {took * 1e3:.0f} ms, {took / plain:.2f}x (target at most 1.5x)", flush=True
        )


def nothing_changed(parts: tuple[str, ...]) -> float:
    """The median of the seconds of one core that a decision takes."""
    engine = Engine()
    cluster = ImaginaryCluster(engine, NOW)
    cluster.learn(ordinary(many_wait(10, (1, 2, 4, 8)), parts))
    now = NOW.timestamp()
    for second in (1.0, 2.0, 3.0):
        cluster.apply(engine.decide(now + second))
    gc.collect()
    gc.freeze()
    took = []
    for number in range(TIMES):
        begin = time.process_time()
        engine.decide(now + 10.0 + number)
        took.append(time.process_time() - begin)
    gc.unfreeze()
    return statistics.median(took)


if __name__ == "__main__":
    main()
