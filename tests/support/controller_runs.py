"""A controller on a view of its own, looked after as the runner does."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from maar.core.controllers.cluster_view import ClusterController, ClusterView
from maar.core.controllers.work_queue import WorkQueue
from maar.core.model.events import Event
from maar.core.model.writes import ControllerWrite, RecordEvent

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Controlled:
    """Feeds a controller; keys that want a write are looked at again, as when it is answered or fails."""

    def __init__(self, controller: ClusterController) -> None:
        self.work = WorkQueue(ClusterView(), (controller,))

    def feed(self, events: Iterable[Event]) -> None:
        """Let something happen."""
        self.work.feed(self.work.cluster.changes(events))

    def reconcile(self, now: datetime = NOW) -> list[ControllerWrite]:
        """What is wanted now."""
        found = list(self.work.reconcile(now))
        self.work.look_at([key for key, write in found if not isinstance(write, RecordEvent)])
        return [write for _, write in found]
