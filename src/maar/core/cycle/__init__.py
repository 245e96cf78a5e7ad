"""The decision for one cycle: enqueue, allocate, backfill, reclaim, preempt, cleanup and their reasons."""
