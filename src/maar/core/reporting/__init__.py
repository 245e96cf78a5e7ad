"""What the scheduler writes about pod groups and queues after a decision: the difference to what is there."""
