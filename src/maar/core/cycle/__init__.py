"""The decision for one cycle: enqueue, allocate, backfill, reclaim, preempt and cleanup.

Read it in this order: `decision` (one screen, three steps), the six actions, each a module of its
name, and what they share: `state` (the cluster while a cycle decides, with trials), `queue_ledger`
(the numbers of the queues), `classes` and `group_states` (equal groups, and their states),
`turn_order` (whose turn it is) and `limits` (what queues may use). `gate`, `placing`, `evicting`
and `holding` are packages with contents of their own. `inspection` is what a decision leaves to
ask.
"""

from maar.core.cycle.decision import decide, settle
from maar.core.cycle.memory import Memory

# Others use these, and what `inspect` lists for questions about a decision; a contract refuses the rest.
__all__ = ["Memory", "decide", "settle"]
