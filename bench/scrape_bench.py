"""A scrape of a scheduler's metrics with 1,000 queues: the text that Prometheus gets, compressed."""

import gc
import gzip
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import count

from cycle_bench import full_of_gangs, ready_node

from maar.apps.metrics.registry import Registry, new_registry
from maar.apps.metrics.scheduler import SchedulerMetrics
from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.plan import NamespaceStanding, Plan, QueueStanding
from maar.core.model.resources import Resources
from maar.core.tables.tables import Tables

QUEUES = 1_000
MIB, GIB = 1 << 20, 1 << 30
RESOURCES = {  # the most that a queue has of each, and in which steps
    "cpu": (64_000, 100), "memory": (512 * GIB, 256 * MIB), "pods": (200, 1),
    "ephemeral-storage": (4096 * GIB, GIB), "nvidia.com/gpu": (64, 1),
}  # fmt: skip
NAMESPACES = 2  # of each queue
ACCEPT = "application/openmetrics-text;version=1.0.0"
ROUNDS = 9
TARGET_MS = 100
NODES = 500


def main() -> None:
    """Print how long a scrape takes, beside the library's own rendering of the same samples."""
    rng, registry = random.Random(1), new_registry()
    metrics = SchedulerMetrics(registry, Tables())
    queues = {f"team-{number}": standing(rng) for number in range(QUEUES)}
    metrics.decided(Plan(queues=queues), 0.01)
    reference = processor_ms(lambda: None, partial(gathered, registry))
    nothing = processor_ms(lambda: None, partial(scraped, registry))

    def ten_change() -> None:
        queues.update({f"team-{rng.randrange(QUEUES)}": standing(rng) for _ in range(10)})
        metrics.decided(Plan(queues=dict(queues)), 0.01)

    def all_change() -> None:
        queues.update({name: standing(rng) for name in queues})
        metrics.decided(Plan(queues=dict(queues)), 0.01)

    lines, size = gathered(registry).count(b"\n"), len(scraped(registry))
    print(f"a scrape of {lines:,} lines for {QUEUES:,} queues, {size / 1e6:.1f} MB compressed:")
    some, every = (processor_ms(one, partial(scraped, registry)) for one in (ten_change, all_change))
    for what, took in (("nothing has changed", nothing), ("ten queues have", some), ("all have", every)):
        print(
            f"  {what:<20}{took:>7.0f} ms (target {TARGET_MS}), the library's text alone {reference:.0f} ms:"
            f" {took / reference:.2f}x"
        )


def of_an_engine() -> None:
    """The same with the plans of a real engine: when a node comes, all queues deserve something else."""
    engine, registry = Engine(), new_registry()
    metrics = SchedulerMetrics(registry, engine.tables)
    engine.feed(full_of_gangs(NODES, queues=QUEUES, namespaces=1))
    size, names = Resources({"cpu": 32_000, "memory": 128 * GIB, "pods": 110}), count()

    def node_comes() -> None:
        engine.feed([Upserted(object=ready_node(f"new-{next(names)}", size, {}))])
        metrics.decided(engine.decide(1.0), 0.01)

    came = processor_ms(node_comes, partial(scraped, registry))
    nothing = processor_ms(lambda: None, partial(scraped, registry))
    reference = processor_ms(lambda: None, partial(gathered, registry))
    print(
        f"a scrape of an engine with {QUEUES:,} queues of three resources: {nothing:.0f} ms, after a node has"
        f" come {came:.0f} ms (target {TARGET_MS}), the library's text alone {reference:.0f} ms:"
        f" {came / reference:.2f}x"
    )


def scraped(registry: Registry) -> bytes:
    """What a scrape of the status server gets."""
    return gzip.compress(registry.exposition(ACCEPT)[1], compresslevel=1)


def gathered(registry: Registry) -> bytes:
    """The reference: the same series through the library, one by one."""
    other_names = f"{ACCEPT};escaping=dots"  # the library renders all of it then, as ours
    return registry.exposition(other_names)[1]


def processor_ms(before: Callable[[], None], work: Callable[[], object]) -> float:
    """The median of the processor time in milliseconds; what comes before is not counted."""
    took = list[float]()
    for _ in range(ROUNDS):
        before()
        gc.collect()
        gc.freeze()  # as the daemons do with what they know
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
        gc.unfreeze()
    return statistics.median(took) * 1_000


def standing(rng: random.Random) -> QueueStanding:
    """Random amounts."""

    def amounts() -> Resources:
        return Resources({name: rng.randrange(0, most, step) for name, (most, step) in RESOURCES.items()})

    inside = {
        f"namespace-{rng.randrange(300)}": NamespaceStanding(weight=1, used=amounts(), share=rng.random())
        for _ in range(NAMESPACES)
    }
    return QueueStanding(
        deserved=amounts(), real_capability=amounts(), allocated=amounts(), used=amounts(),
        preempting=amounts(), request=amounts(), guarantee=amounts(), share=rng.random(), state="Open",
        namespaces=inside,
    )  # fmt: skip


if __name__ == "__main__":
    main()
    of_an_engine()
