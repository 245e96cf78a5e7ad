"""Volcano's commands for jobs, pods and flows: its verbs, flags, columns and exit codes; errors on stderr."""
