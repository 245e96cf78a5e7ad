"""The command line, kept thin: fetch, view, render."""
