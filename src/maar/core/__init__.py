"""Decides with values: events in, plans out; no I/O, no clock, no dice, no threads, no logs."""
