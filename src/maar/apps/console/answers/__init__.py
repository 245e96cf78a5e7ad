"""What the console answers beyond rows: pages of queues and jobs, explanations, what-ifs, history."""
