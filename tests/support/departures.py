"""What can become of a cluster after a change: victims leave one after the other, in any order.

A what-if lets all victims of a decision leave at one moment. A cluster does not: room that the
first one leaves may be used before the last one has left, by whoever is next then, and pods are
made again as soon as the old ones are gone. So the outcome may depend on who leaves first. This is
the same future in some order.
"""

import random
from collections.abc import Collection, Iterable, Iterator

import msgspec

from maar.core.answers.future import Future, Present
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.simulation.cluster import ImaginaryCluster, resubmitted


class _SlowCluster(ImaginaryCluster):
    """A cluster in which pods that are being deleted stay until somebody lets them leave."""

    def learn(self, events: Iterable[Event]) -> None:
        super().learn(events)
        self._leaving.clear()


class Departures(Future):
    """A future in which pods that are evicted leave one by one."""

    def __init__(self, present: Present, choice: random.Random) -> None:
        super().__init__(present, victims_return_later=True)
        self._choice, simulation = choice, self.simulation
        simulation.cluster = _SlowCluster(simulation.engine, simulation.cluster.now, resubmits=True)
        self._before = dict[str, Pod]()  # the pods as they were before the last decision
        self._terminating = dict[str, Pod]()

    def now(self) -> list[Plan]:
        """The decisions of the present, until all have left and none changes anything."""
        plans = [plan for _, plan in self.run(until=self.simulation.time)]
        while self._terminating or self._returning:
            if self._terminating and (not self._returning or self._choice.random() < 0.7):
                self._leave(self._choice.choice([*self._terminating]))
            else:
                self._return_victims()
            plans += [plan for _, plan in self.run(until=self.simulation.time)]
        return plans

    def run(self, until: float = 0.0) -> Iterator[tuple[float, Plan]]:
        """The decisions up to a time."""
        self._before = dict(self.simulation.cluster.pods)
        for one in super().run(until):
            self._before = dict(self.simulation.cluster.pods)
            yield one

    def change(self, events: Iterable[Event], evicted: Collection[str] = ()) -> None:
        """Let somebody change objects now."""
        self._before = dict(self.simulation.cluster.pods)
        super().change(events, evicted)

    def _return_victims(self) -> None:
        """Pods are made again also where their controller has not seen yet that their group is outside."""
        if self._choice.random() < 0.5:
            super()._return_victims()
            return
        back = list(self._returning)
        self._returning.clear()
        self.simulation.submit(self.simulation.time, back)

    def _evict(self, pods: Iterable[str]) -> None:
        for key in pods:
            pod = self._before[key]
            metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=self.simulation.cluster.now)
            leaving = msgspec.structs.replace(pod, metadata=metadata)
            self._terminating[key] = pod
            self.simulation.change([Upserted(object=leaving)])

    def _leave(self, key: str) -> None:
        self._returning.append(resubmitted(self._terminating.pop(key)))
        self.simulation.change([Deleted(kind="Pod", key=key)])
