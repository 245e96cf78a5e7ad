"""Controllers that converge: reconcile(cluster, keys, now) gives the writes that are missing."""
