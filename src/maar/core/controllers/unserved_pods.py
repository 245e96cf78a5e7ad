"""Pods that wait for a scheduler that nobody runs; only where all schedulers are known, as in `maar up`."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.pod import Pod
from maar.core.model.writes import ControllerWrite, RecordEvent


@dataclass(eq=False)
class UnservedPods:
    """Tells each such pod once, in an event, what to write instead."""

    served: Collection[str] = ("volcano",)
    _told: set[str] = field(default_factory=set)
    _untold: dict[str, str] = field(default_factory=dict)  # the scheduler by pod

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        for event in events:
            match event:
                case Upserted(object=Pod() as pod):
                    self._learn(pod)
                case Deleted(kind="Pod", key=key):
                    self._told.discard(key)
                    self._untold.pop(key, None)
                case _:
                    pass

    def reconcile(self) -> list[ControllerWrite]:
        """Tell those that have not been told."""
        untold, self._untold = self._untold, {}
        self._told.update(untold)
        return [
            RecordEvent(
                kind="Pod",
                key=key,
                reason="FailedScheduling",
                message=_sentence(name, sorted(self.served)),
                is_warning=True,
            )
            for key, name in untold.items()
        ]

    def _learn(self, pod: Pod) -> None:
        name, key = pod.spec.scheduler_name, pod.key
        waits = not (pod.spec.node_name or pod.is_finished or pod.is_terminating or pod.spec.scheduling_gates)
        if waits and name not in ("", *self.served):
            if key not in self._told:
                self._untold[key] = name
        else:
            self._untold.pop(key, None)


def _sentence(name: str, served: list[str]) -> str:
    return (
        f"no scheduler places this pod: its schedulerName is {name!r}, and the only one that runs here is "
        f"{' or '.join(map(repr, served))}; write schedulerName: {served[0]} in its spec, or in the template "
        "that it is made from, and create it again"
    )
