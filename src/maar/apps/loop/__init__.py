"""The loop that the scheduler and the controllers run in."""
