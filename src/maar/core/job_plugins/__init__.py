"""Job plugins: what a job has beside its pods, and what its pods get so that they find one another."""
