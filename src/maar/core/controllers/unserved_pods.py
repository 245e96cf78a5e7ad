"""Pods that wait for a scheduler that does not run; only where all schedulers are known, as in `maar up`."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from maar.core.controllers.changes import AnyChange, OtherPodChanged
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Wanted
from maar.core.model.writes import RecordEvent


@dataclass(frozen=True)
class UnservedPods(ClusterController):
    """Writes an event for each such pod that says which scheduler to name; the keys are those of the pods."""

    served: Collection[str] = ("volcano",)

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The key of a pod that starts to wait."""
        if isinstance(change, OtherPodChanged) and change.before is None:
            yield change.key

    def wanted(self, cluster: ClusterView, key: str, now: datetime) -> Wanted:
        """Write an event for one that still waits."""
        if (name := cluster.waiting_elsewhere.get(key, "")) not in ("", *self.served):
            message, reason = _sentence(name, sorted(self.served)), "FailedScheduling"
            yield RecordEvent(kind="Pod", key=key, reason=reason, message=message, is_warning=True)


def _sentence(name: str, served: list[str]) -> str:
    return (
        f"no scheduler places this pod: its schedulerName is {name!r}, and the only one that runs here is "
        f"{' or '.join(map(repr, served))}; write schedulerName: {served[0]} in its spec, or in the template "
        "that it is made from, and create it again"
    )
