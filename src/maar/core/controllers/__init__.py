"""Controllers that converge: reconcile(desired, observed) gives the writes that are missing."""
