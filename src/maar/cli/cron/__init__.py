"""`maar cron`: the cron jobs of a cluster."""
