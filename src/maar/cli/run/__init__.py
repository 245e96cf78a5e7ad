"""`maar run`: a command becomes a job, and this terminal follows it."""
