"""Answers about the future: when a group starts, why it waits, what a change would do."""
