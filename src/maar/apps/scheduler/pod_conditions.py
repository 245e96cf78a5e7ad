"""The PodScheduled condition of waiting pods, which users and autoscalers read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from maar.core.model.plan import GroupOutcome
from maar.core.model.reasons import Gist
from maar.core.tables.counting import is_waiting
from maar.core.tables.rows import GroupRow, PodRow
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Outcome
from maar.kube.paths import PODS
from maar.kube.write import patch
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers

UNSCHEDULABLE = "Unschedulable"  # what cluster autoscalers add nodes for


@dataclass(eq=False)
class PodConditions:
    """Writes the condition of a pod when its reason or remedy changes, not when only figures change."""

    server: ApiServer
    writers: Writers
    failures: WriteFailures
    missed: Callable[[str, str], None]  # called with the kind and key to report again
    _wanted: dict[str, Gist] = field(default_factory=dict)  # by pod; it stays once it is written

    def write_for_group(self, group: GroupRow, outcome: GroupOutcome, now: datetime) -> list[PodRow]:
        """Write the reason to the waiting pods of a group; give those whose reason is new."""
        return [pod for pod in _waiting(group) if self.write_for_pod(pod, outcome, now)]

    def write_for_pod(self, pod: PodRow, outcome: GroupOutcome, now: datetime) -> bool:
        """Write the reason to a waiting pod; False where it has this reason already."""
        refusal = outcome.refusal
        if refusal is None:
            return False
        # Only what more nodes would help is called unschedulable, so that no nodes are added for the rest.
        reason = UNSCHEDULABLE if refusal.more_nodes_help else str(refusal.reason)
        if self._wanted.get(pod.key) == refusal.gist:
            return False
        self._wanted[pod.key] = refusal.gist
        write = partial(self._write, pod.key, refusal.gist, reason, outcome.message, now)
        self.writers.submit(pod.key, write, partial(self._done, pod))
        return True

    def forget(self, pods: Iterable[str]) -> None:
        """Pods that wait no longer; a bind writes the condition by itself."""
        for pod in pods:
            self._wanted.pop(pod, None)

    async def _write(self, pod: str, gist: Gist, reason: str, message: str, now: datetime) -> Outcome | None:
        """Write the condition, unless by now the pod is being bound or has another reason."""
        if self._wanted.get(pod) != gist:
            return None
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        document = {"status": {"conditions": [condition]}}
        return await patch(self.server, PODS, pod, document, "strategic-merge", "status")

    def _done(self, pod: PodRow, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        self.failures.answered("SetStatus", "Pod", pod.key, outcome)
        if not isinstance(outcome, Done):
            self._wanted.pop(pod.key, None)  # written again with the next cycle
            self.missed("PodGroup", pod.group_key)


def _waiting(group: GroupRow) -> list[PodRow]:
    return [pod for pod in group.pods.values() if is_waiting(pod) and not pod.is_to_come]
