"""Why groups wait: evidence from a finished cycle, and the sentences that tell it.

- `outcomes`: what becomes of every group; `known_outcomes`: those that are used again.
- `diagnosis`: the constraint that binds and its cure, with `node_tally` and `counted_nodes` (what
  keeps pods off nodes), `missing_pods` (pods that do not exist) and `held_room`.
- `sentences`, `queue_texts`, `shortage_texts`: refusals as people read them.
"""
