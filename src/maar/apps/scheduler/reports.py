"""Reports of decisions to users: statuses, conditions and events, which no decision waits for."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from maar.apps.loop.loop import Loop
from maar.apps.scheduler.pod_conditions import PodConditions
from maar.apps.scheduler.statuses import Difference, Statuses
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.plan import GroupOutcome, Plan, QueueStanding
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.reasons import Gist, Reason
from maar.core.model.writes import Bind, Evict, SetStatus, Write
from maar.core.reporting.group_status import group_write, is_news
from maar.core.reporting.queue_status import queue_write
from maar.core.tables.groups import missing_group_key
from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables
from maar.kube.api_server import ApiServer
from maar.kube.record import Reference
from maar.kube.writers import Writers

# A pod may be seen before its group; where it names none, the controllers have to make one first.
_GROUP_COMES_WITHIN_S: Final = 2.0
_GROUP_IS_MADE_WITHIN_S: Final = 30.0
# The pods of a group come one by one; that some are missing is a reason once no more of them come.
_PODS_ARE_MADE_WITHIN_S: Final = 5.0
_PODS_MISSING: Final = (Reason.NOT_ENOUGH_TASKS, Reason.NOT_ENOUGH_PODS_OF_TASK)


class Reports:
    """Writes what has changed since the last report; what fails is written with the next cycle."""

    def __init__(
        self,
        server: ApiServer,
        tables: Tables,
        writers: Writers,
        loop: Loop,
        at_rest: asyncio.Event,
    ) -> None:
        self._tables = tables
        self.recorder, self._wake = loop.recorder, loop.wake
        self._statuses = Statuses(server, writers, loop.see, self._missed, loop.failures, at_rest)
        self._conditions = PodConditions(server, writers, loop.failures, self._missed)
        self._groups: dict[str, PodGroup] = {}
        self._changed: set[str] = set()  # groups
        self._reported: dict[str, GroupOutcome] = {}
        self._gists: dict[str, Gist] = {}  # of the last event of each group
        self._losing: set[str] = set()  # groups of which the last cycle evicts pods
        self._later: set[str] = set()  # groups whose reason is reported when their pods have had time to come

    def note(self, events: Iterable[Event]) -> None:
        """Note of which groups something may have changed; before the tables learn it."""
        for event in events:
            match event:
                case Upserted(object=Pod() as pod):
                    if key := pod.group_key:
                        self._changed.add(key)
                case Upserted(object=PodGroup() as group):
                    self._groups[group.key] = group
                    self._changed.add(group.key)
                case Deleted(kind="PodGroup", key=key):
                    self._groups.pop(key, None)
                    self._gists.pop(key, None)
                case Deleted(kind="Pod", key=key):
                    self._conditions.forget((key,))
                    row = self._tables.pods.get(key)
                    if row is not None and row.group_key:
                        self._changed.add(row.group_key)
                case _:
                    pass

    def on_plan(self, plan: Plan, now: datetime) -> None:
        """Report what a cycle has decided about queues and groups."""
        self._conditions.forget(one.pod for one in plan.binds)
        reported, self._reported = self._reported, plan.pod_groups
        self._changed.update(
            [key for key, outcome in plan.pod_groups.items() if reported.get(key) != outcome],
            [key for key in reported if key not in plan.pod_groups],
        )
        # Groups that lose pods report that before they report what they wait for.
        self._changed.update(self._losing)
        self._losing = {row.group_key for one in plan.evictions if (row := self._tables.pods.get(one.pod))}
        self._changed -= self._losing
        self.on_groups(now)
        self._on_missing_groups(plan, now)
        for name, standing in plan.queues.items():
            self._statuses.want("Queue", name, self._of_queue(name, standing, now))

    def on_groups(self, now: datetime) -> None:
        """Report groups that have changed, with the outcome of the last cycle."""
        changed, self._changed = self._changed, set()
        for key in sorted(changed):
            outcome = self._reported.get(key)
            if outcome is not None and (early_s := self._is_early_by(key, outcome, now)) > 0:
                self._report_later(key, early_s)
                outcome = GroupOutcome(phase=outcome.phase)
            self._statuses.want("PodGroup", key, self._of_group(key, outcome, now))
            if outcome is not None and (row := self._tables.groups.get(key)) is not None:
                for pod in self._conditions.write_for_group(row, outcome, now):
                    self._fail(pod, outcome)

    def _is_early_by(self, key: str, outcome: GroupOutcome, now: datetime) -> float:
        """For how many seconds the missing pods of a group that holds nothing may still be in the making."""
        group, row = self._groups.get(key), self._tables.groups.get(key)
        is_missing_pods = outcome.refusal is not None and outcome.refusal.reason in _PODS_MISSING
        if group is None or row is None or row.placed or not is_missing_pods:
            return 0.0
        made = group.metadata.creation_timestamp  # for pods that were there before
        last = max((pod.created for pod in row.pods.values()), default=0.0)
        since = max(last, made.timestamp() if made is not None else 0.0)
        return since + _PODS_ARE_MADE_WITHIN_S - now.timestamp()

    def _report_later(self, key: str, seconds: float) -> None:
        if key not in self._later:
            self._later.add(key)
            asyncio.get_running_loop().call_later(seconds, self._is_late, key)

    def _is_late(self, key: str) -> None:
        self._later.discard(key)
        self._changed.add(key)
        self._wake()

    def _on_missing_groups(self, plan: Plan, now: datetime) -> None:
        """Report to pods that their group does not exist, after a delay: it may still be created."""
        for pod in self._tables.orphans.values():
            within_s = _GROUP_COMES_WITHIN_S if pod.group_key else _GROUP_IS_MADE_WITHIN_S
            outcome = plan.pod_groups.get(missing_group_key(pod))
            if outcome is None or pod.is_gated or pod.is_to_come or now.timestamp() - pod.created < within_s:
                continue
            if self._conditions.write_for_pod(pod, outcome, now):
                self._fail(pod, outcome)

    def _fail(self, pod: PodRow, outcome: GroupOutcome) -> None:
        """Record in an event on a pod why it waits."""
        self.recorder.record(_pod(pod.key, pod.uid), "FailedScheduling", outcome.message, "Warning")

    def on_write(self, write: Write, uid: str) -> None:
        """Record an event for a write that was carried out."""
        match write:
            case Bind(pod=pod, node=node):
                self.recorder.record(_pod(pod, uid), "Scheduled", f"Successfully assigned {pod} to {node}")
            case Evict(pod=pod, why=why):
                self.recorder.record(_pod(pod, uid), "Evict", f"evicted by {why}", "Warning")
                row = self._tables.pods.get(pod)
                group = self._groups.get(row.group_key) if row is not None else None
                if group is not None:
                    about = Reference.to(group)
                    self.recorder.record(about, "Evict", f"pod {pod} was evicted by {why}", "Warning")
            case _:
                pass

    def _of_group(self, key: str, outcome: GroupOutcome | None, now: datetime) -> Difference:
        def difference() -> SetStatus | None:
            group, row = self._groups.get(key), self._tables.groups.get(key)
            if group is None or row is None:
                return None
            if outcome is not None and self._is_new_reason(group, outcome):
                self.recorder.record(Reference.to(group), "Unschedulable", outcome.message, "Warning")
            return group_write(group, row, outcome, now)

        return difference

    def _is_new_reason(self, group: PodGroup, outcome: GroupOutcome) -> bool:
        """Whether the reason or the remedy differs from the last event of the group."""
        if outcome.refusal is None:
            self._gists.pop(group.key, None)
            return False
        reported, self._gists[group.key] = self._gists.get(group.key), outcome.refusal.gist
        is_other = reported is not None and reported != outcome.refusal.gist
        # Until its status has the reason, a later event has the numbers of a later moment.
        return is_other or is_news(group, outcome.refusal.reason)

    def _of_queue(self, name: str, standing: QueueStanding, now: datetime) -> Difference:
        def difference() -> SetStatus | None:
            row = self._tables.queues.get(name)
            return None if row is None else queue_write(row.queue, standing, now)

        return difference

    def _missed(self, kind: str, key: str) -> None:
        """A status could not be written; the next cycle looks at it again."""
        if kind == "PodGroup":
            self._changed.add(key)


def _pod(key: str, uid: str) -> Reference:
    namespace, _, name = key.partition("/")
    return Reference("v1", "Pod", namespace, name, uid)
