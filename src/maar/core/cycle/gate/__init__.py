"""The gate of enqueue: which groups are admitted, and what counts as admitted."""
