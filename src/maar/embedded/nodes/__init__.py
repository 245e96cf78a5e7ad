"""Nodes of the embedded cluster: virtual ones that run nothing, and this machine."""
