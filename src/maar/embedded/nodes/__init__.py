"""Nodes of the embedded cluster: virtual ones that only pretend, and this machine."""
