"""Filters and scores of nodes, terms of pods, and the configuration that chooses plugins."""
