"""Which pods are evicted for whom: units, the search for victims, and what protects them.

- `evict`: every group that waits tries; `eviction_turns`: in which order, and who tries again.
- `attempt`: one search, with `promises` (the nodes that it frees), `trimming` (units that are not
  needed), `single_nodes` (where the whole cluster has too little) and `failures` (what cannot
  help).
- `victim_search`: what the attempts of one action share; `unit_pool`: the units of one leaf.
- `units`: what a group gives together; `batch_jobs`: pods of Jobs, which go with their Job.
- `strategies`: the laws by which a unit may go; `protection`, `min_runtimes`, `loans`: what they
  ask.
- `protected_until`: from when a lawful set exists; `half_gangs`: gangs that wait for each other.
"""
