"""The demo: an hour of an organisation, played on a cluster, and what came of it."""
