"""The cluster that a command works on: how it is found, asked, and what its refusals mean."""
