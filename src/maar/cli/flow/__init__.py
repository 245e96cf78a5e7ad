"""`maar flow`: the job flows and job templates of a cluster."""
