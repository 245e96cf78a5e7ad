"""Which node a pod goes to: the room on the nodes, filters and scores, and one turn of a group."""
