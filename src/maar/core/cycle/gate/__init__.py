"""The gate of enqueue: which groups are admitted, and what counts as admitted.

- `enqueue_gate`: what ceilings, deserved or a guarantee have room for.
- `gate_preempt`: whether preempt would make room for a group that waits outside.
- `held_up`: groups inside that nodes hold up, and that keep no other out.
- `just_let_in`: what groups that were just let in have yet to take.
- `queue_gates`: Volcano's scheduling gate on pods.
"""
