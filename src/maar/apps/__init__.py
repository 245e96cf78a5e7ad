"""Wiring without logic: puts the core, an API server and a runner together."""
