"""The rows that the console shows of queues, jobs and nodes."""
