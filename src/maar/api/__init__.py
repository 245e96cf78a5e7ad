"""Maar as a library: plan, whatif and simulate for programs, notebooks and the command line."""
