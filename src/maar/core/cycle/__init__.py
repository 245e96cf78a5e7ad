"""The decision for one cycle: enqueue, allocate, backfill, reclaim, preempt and cleanup."""

from maar.core.cycle.decision import decide, settle
from maar.core.cycle.memory import Memory

# Others use these, and what `inspect` lists for questions about a decision; a contract refuses the rest.
__all__ = ["Memory", "decide", "settle"]
