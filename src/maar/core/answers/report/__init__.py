"""The report of a simulation: one page with plots, tables for programs; strings only."""
