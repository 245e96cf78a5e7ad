"""The state of a queue, defined once: the cycle, the controllers, admission and the views all use it.

- *Open*: neither its own `spec.state` nor that of a queue above it asks it to close.
- *Closing*: it is asked to close, and it or a queue below it has unfinished work.
- *Closed*: it is asked to close, and has no unfinished work.

`root` and `default` cannot be asked to close (`Queue.is_asked_to_close`). What counts as work is
for the caller to know: the queue controller counts pod groups and jobs, the cycle the pod groups
that it schedules. The stored `status.state` is written by the queue controller; a `Closed` that
another client wrote there stands for a few seconds (decision 28), so admission also reads what is
stored.
"""

from collections.abc import Iterable
from typing import Final

from maar.core.model.queue import Queue, QueueState

NOT_OPEN: Final = ("Closing", "Closed")  # states in which a queue takes no new work


def queue_state(*, is_asked_to_close: bool, has_work: bool) -> QueueState:
    """The state of a queue, from whether it or a queue above it should close, and its unfinished work."""
    if not is_asked_to_close:
        return "Open"
    return "Closing" if has_work else "Closed"


def asked_to_close_by(path: Iterable[Queue]) -> Queue | None:
    """Of a queue and those above it, in this order, the first that asks it to close; None where none does."""
    return next((one for one in path if one.is_asked_to_close), None)


def is_unfinished(phase: str) -> bool:
    """Whether a pod group in this phase is work that keeps its queue from being Closed."""
    return phase != "Completed"
