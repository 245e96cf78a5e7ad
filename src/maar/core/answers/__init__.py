"""Answers to what people ask of a cluster: a folder for each question, with ask, answer and text.

- `plan`: what would be decided, cycle by cycle.
- `tree`: what each queue deserves and uses, and why it deserves that.
- `explain`: why a job, a pod group or a pod is as it is, and what would change it.
- `starts`: when waiting groups start.
- `whatif`: what a change would do.
- `simulate`: the report of a workload that was simulated.

`future.py` is the simulation that starts, what-ifs and explanations ask, with the one `Present`.
"""
