"""The decision for one cycle: enqueue, allocate, backfill, reclaim, preempt and cleanup."""

from maar.core.cycle.decide import decide, settle

__all__ = ["decide", "settle"]
