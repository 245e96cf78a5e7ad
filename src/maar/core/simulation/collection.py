"""Garbage collection, put off while an answer is worked out.

A simulation makes millions of objects and no cycles among them: bench/starts_bench.py, measured
once by hand, took 142 MB with collection and without. A fifth of its time went into looking for
cycles.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage meanwhile; of several at once in threads, the end of the first ends it for all."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _count_as_old()
            gc.enable()


def _count_as_old() -> None:
    """Leave what is new to the next full collection, instead of going through all of it at once.

    There is no call for that alone; freezing does it, and must not undo the freezing of others.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
