"""Events that have come and have not been learned yet."""

import time

from maar.core.model.events import Event


class Inbox:
    """Events in the order they came, and since when the first of them waits."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._since = 0.0

    def put(self, events: list[Event]) -> None:
        """Add what has just come."""
        if not self._events:
            self._since = time.monotonic()
        self._events += events

    def take(self) -> tuple[list[Event], float]:
        """Take everything, with the seconds that the first has waited."""
        events, self._events = self._events, []
        return events, time.monotonic() - self._since if events else 0.0
