"""What a queue may use while turns are taken, as refusals with their numbers."""

from collections.abc import Callable

from maar.core.cycle.order import Phase
from maar.core.cycle.refusals import at_fair_share, at_real_capability, reserved
from maar.core.cycle.state import State
from maar.core.model.reasons import Held
from maar.core.tables.axis import Needs
from maar.core.tables.rows import Column

Limit = Callable[[int, Needs], Held | None]  # what keeps a leaf from using this much more


class Limits:
    """The limits of a phase: what queues deserve, or what they can borrow."""

    def __init__(self, state: State, phase: Phase) -> None:
        self.state, self.books = state, state.books
        self._asks_deserved = phase == "fair" and state.configuration.asks("proportion", "enabledAllocatable")
        self._lines: dict[
            int, list[tuple[Column, Column]]
        ] = {}  # used and the most, from a leaf up to the root

    def __call__(self, leaf: int, needs: Needs) -> Held | None:
        """Say what keeps a leaf from using this much more; nothing does where everybody above has room."""
        line = self._lines.get(leaf)
        if line is None:
            line = self._lines[leaf] = self._line(leaf)
        for used, most in line:
            for resource, amount in needs:
                if used[resource] + amount > most[resource]:
                    return self._refusal(leaf, needs)
        return self._refusal(leaf, needs) if self.books.reserves(needs) else None

    def _line(self, leaf: int) -> list[tuple[Column, Column]]:
        """What is used and the most that may be, for every queue from a leaf up to the root."""
        books = self.books
        line = [(books.used[0], books.real[0])]
        for queue in books.paths[leaf]:
            most = books.real[queue]
            if self._asks_deserved:
                most = [min(pair) for pair in zip(books.deserved[queue], most, strict=True)]
            line.append((books.used[queue], most))
        return line

    def _refusal(self, leaf: int, needs: Needs) -> Held | None:
        """A queue and all above it stay within their limits, and nothing reserved is given away."""
        books = self.books
        short = books.beyond(leaf, needs, books.deserved) if self._asks_deserved else None
        if short is not None:
            return at_fair_share(self.state, short)
        short = books.beyond(leaf, needs, books.real)
        if short is not None:
            return at_real_capability(self.state, short)
        short = books.gives_away(leaf, needs)
        return None if short is None else reserved(self.state, short)
