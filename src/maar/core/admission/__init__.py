"""Admission as functions: defaults for what is unset and verdicts on what is wrong."""
