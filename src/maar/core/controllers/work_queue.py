"""The keys that controllers have to reconcile: those that changed, were asked for, or are due."""

from collections.abc import Container, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.controller import Controller
from maar.core.model.events import Event
from maar.core.model.writes import ControllerWrite


class ControllerKey(NamedTuple):
    """A key, and the controller that it is a key of, by its place in the list."""

    controller: int
    key: str


class WorkQueue:
    """The keys of some controllers on one view; a key is reconciled once, however often it was added."""

    def __init__(self, cluster: ClusterView, controllers: Sequence[Controller]) -> None:
        self.cluster, self._controllers = cluster, controllers
        self._keys = [dict.fromkeys(controller.first_keys) for controller in controllers]
        self._wake_at: dict[ControllerKey, datetime] = {}  # as the last reconcile of each key asked

    def feed(self, events: Iterable[Event]) -> None:
        """Take events in, and add the keys that they concern."""
        for event in events:
            for change in self.cluster.feed(event):
                for controller, keys in zip(self._controllers, self._keys, strict=True):
                    for key in controller.keys(change, self.cluster):
                        keys[key] = None

    def look_at(self, keys: Iterable[ControllerKey]) -> None:
        """Add keys for the next round."""
        for controller, key in keys:
            self._keys[controller][key] = None

    def reconcile(
        self, now: datetime, busy: Container[ControllerKey] = ()
    ) -> list[tuple[ControllerKey, ControllerWrite]]:
        """What has to be written for the keys that are due; those that are busy stay for later."""
        self.look_at([key for key, at in self._wake_at.items() if at <= now])
        found: list[tuple[ControllerKey, ControllerWrite]] = []
        for number, controller in enumerate(self._controllers):
            keys = {key: None for key in self._keys[number] if ControllerKey(number, key) not in busy}
            if not keys:
                continue
            self._keys[number] = {key: None for key in self._keys[number] if key not in keys}
            for key in keys:
                self._wake_at.pop(ControllerKey(number, key), None)
            writes, wake_at = controller.reconcile(self.cluster, keys, now)
            found += [(ControllerKey(number, key), write) for key, write in writes]
            self._wake_at |= {ControllerKey(number, key): at for key, at in wake_at}
        return found

    @property
    def wake_at(self) -> datetime | None:
        """When to reconcile at the latest, although nothing may have changed."""
        return min(self._wake_at.values(), default=None)
