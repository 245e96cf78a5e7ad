"""`maar demo`: its own cluster, the screen and the summary."""
