"""Which node a pod goes to: the room on the nodes, filters and scores, and one turn of a group.

- `group_placement`: one turn; `turn_pods`: which pods it is about.
- `node_chooser`: the node of one pod, by `node_stack` (filters and scores), `ranking` (the best
  node of a shape) and `room` (what is idle).
- `domain_retry`: where pods start that required affinity keeps together.
- `volume_claims`, `volumes`: claims that tie pods to nodes, and the volumes that there are.
- `empty_cluster`: what a group could do alone on the cluster.
"""
