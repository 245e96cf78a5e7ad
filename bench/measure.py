"""What benchmarks share: the median of some runs, and a line that shows it beside reference and target."""

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter


def median_ms(work: Callable[[], object], times: int = 5) -> float:
    """Run something a few times and give the median in milliseconds, garbage collection aside."""
    return median(_once_ms(work) for _ in range(times))


def line(name: str, ms: float, reference_ms: float, target: str) -> None:
    """Print a figure, what the reference took in the same run, their ratio, and what is aimed at."""
    ratio = f"{ms / reference_ms:.2f}x"
    print(f"  {name:<46}{ms:>9.1f} ms   reference{reference_ms:>9.1f} ms{ratio:>9}   {target}")


def _once_ms(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()  # a reference that makes many small objects would pay for it, and flatter what is beside it
    try:
        started = perf_counter()
        result = work()
        ended = perf_counter()
    finally:
        gc.enable()
    del result  # letting go of it is not part of the work
    return (ended - started) * 1_000
