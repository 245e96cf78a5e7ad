"""The decision for one cycle: enqueue, allocate, backfill, reclaim, preempt and cleanup."""

from maar.core.cycle.decision import decide, settle
from maar.core.cycle.memory import Memory

__all__ = ["Memory", "decide", "settle"]
