"""Workloads that people have: logs of jobs in the formats of public traces."""
