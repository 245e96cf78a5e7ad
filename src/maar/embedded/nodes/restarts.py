"""How long a container that ended waits before it is started again: as a kubelet has it."""

from typing import Final

FIRST_WAIT: Final = 10.0
LONGEST_WAIT: Final = 300.0
FORGIVEN_AFTER: Final = 600.0  # a container that ran as long starts afresh

_DOUBLINGS: Final = 5  # more would exceed the longest wait


def wait_before(restart: int, ran: float) -> float:
    """Seconds before the n-th restart of a container whose last run took `ran` seconds."""
    if restart <= 1 or ran >= FORGIVEN_AFTER:
        return 0.0
    return min(FIRST_WAIT * 2.0 ** min(restart - 2, _DOUBLINGS), LONGEST_WAIT)
