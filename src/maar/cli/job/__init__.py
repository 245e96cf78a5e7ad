"""`maar job`: the jobs of a cluster."""
