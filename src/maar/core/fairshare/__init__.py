"""The arithmetic of fair shares over a tree of queues; it knows nothing of pods."""
