"""Observers of a scheduler, such as its metrics."""

from typing import Protocol

from maar.core.model.plan import Plan
from maar.core.model.writes import Write
from maar.kube.outcome import Outcome
from maar.kube.watch import Trouble


class Observer(Protocol):
    """Is called for everything a scheduler does; it must be quick and must not fail."""

    def learned(self, events: int, delay_s: float) -> None:
        """Events were fed, the oldest so long after it had come."""

    def decided(self, plan: Plan, seconds: float) -> None:
        """A cycle has ended with a plan."""

    def answered(self, write: Write, outcome: Outcome, seconds: float) -> None:
        """The API server has answered a write that was decided so long ago."""

    def troubled(self, trouble: Trouble) -> None:
        """A watch was interrupted, or met an object that cannot be read."""


class NullObserver:
    """An observer that does nothing."""

    def learned(self, events: int, delay_s: float) -> None:
        """Do nothing."""

    def decided(self, plan: Plan, seconds: float) -> None:
        """Do nothing."""

    def answered(self, write: Write, outcome: Outcome, seconds: float) -> None:
        """Do nothing."""

    def troubled(self, trouble: Trouble) -> None:
        """Do nothing."""
