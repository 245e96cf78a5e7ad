"""`maar whatif` and other commands about the future of a cluster."""
