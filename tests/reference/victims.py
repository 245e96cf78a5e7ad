"""Which pods can be victims, in which units and order: docs/specification/eviction.md."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from reference.objects import LONG_AGO, Pod, PodGroup, total_request
from reference.placement import Placement
from reference.subgroups import is_gang, peel, splits
from reference.units import Losses, Unit
from reference.water_filling import ROOT

SYSTEM_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")


class Victims(Placement):
    """A state in which groups can give units."""

    def protected(self, pod: Pod, action: str) -> bool:
        """Whether `volcano.sh/preemptable`, of the pod or else of its group, or conformance protects it."""
        mark = pod.preemptable if pod.preemptable is not None else self.cluster.groups[pod.group].preemptable
        if str(mark).lower() == "false":
            return True
        switch = "enablePreemptable" if action == "preempt" else "enableReclaimable"
        critical = pod.namespace == "kube-system" or pod.priority_class in SYSTEM_CRITICAL
        return critical and self.configuration.is_enabled("conformance", switch)

    def min_runtime(self, leaf: str, action: str) -> timedelta:
        """That of the queue, or of the nearest one above that sets it, else 0."""
        queues = [self.queues[name] for name in [*self.path[leaf], ROOT]]
        times = [
            queue.preempt_min_runtime if action == "preempt" else queue.reclaim_min_runtime
            for queue in queues
        ]
        return next((time for time in times if time is not None), timedelta(0))

    def runs_since(self, pod: Pod) -> datetime:
        """Since when the pod and enough others for `minMember` run, evictions of this cycle apart."""
        group = self.cluster.groups[pod.group]
        pods = self.pods_of[group.name]
        members = [other for other in pods if other.phase == "Succeeded"]
        members += [other for other in pods if other.node and other.live and not other.terminating]
        started = {other.name: other.started or (self.now if other.live else LONG_AGO) for other in members}
        ready = (
            time
            for time in sorted({LONG_AGO, *started.values()})
            if is_gang(group, [other for other in members if started[other.name] <= time])
        )
        return max(started[pod.name], next(ready, self.now))

    def units(
        self, group: PodGroup, action: str, taken: Sequence[Unit], young: Callable[[Pod], bool]
    ) -> list[Unit]:
        """Surplus pods, then the whole gang; one with a protected pod gives only surplus."""
        pods = self.running(group, frozenset(pod.name for unit in taken for pod in unit.pods))
        pods.sort(key=lambda pod: (pod.priority, -pod.number, -pod.created.timestamp(), -pod.position))
        free = [pod for pod in pods if not self.protected(pod, action)]
        if not self.ready(group):
            is_given = bool(pods) and free == pods
            return [Unit(group, tuple(pods), surplus=False, starving=True, rank=3)] if is_given else []
        free = [pod for pod in free if not young(pod)]
        # Pods that are given a place are no victims, and there is no whole gang with them.
        given = [pod for pod in self.pods_of[group.name] if self.is_given_a_place(pod)]
        if group.policies:
            peeled, left = peel(group, given + pods, free, self.placed(group))
            units = [Unit(group, tuple(part), surplus=True, rank=rank) for rank, part in peeled]
            if left and free == pods and not given:
                units.append(Unit(group, tuple(left), surplus=False, rank=3))
            return units
        result, left = [], given + pods
        for pod in free:
            remaining = [other for other in left if other is not pod]
            if is_gang(group, remaining):
                result.append(Unit(group, (pod,), surplus=True))
                left = remaining
        if group.min_member > 0 and left and free == pods and not given:
            result.append(Unit(group, tuple(left), surplus=False, rank=3))
        return result

    def keeps_gangs_whole(self, taken: Sequence[Unit]) -> bool:
        """Whether no gang is left below its minimum (law 2 of eviction)."""
        gone = frozenset(pod.name for unit in taken for pod in unit.pods)
        for unit in taken:
            left = self.running(unit.group, gone) + [
                pod for pod in self.pods_of[unit.group.name] if self.is_given_a_place(pod)
            ]
            if splits(unit.group, self.placed(unit.group), left):
                return False
        return True

    def losses(self, taken: Iterable[Unit]) -> Losses:
        """What the units take from whom."""
        losses = Losses()
        for unit in taken:
            amount = total_request(pod for pod in unit.pods if self.on_ready_node(pod))
            group, place = unit.group, (unit.group.queue, unit.group.namespace)
            losses.groups[group.name] = losses.groups[group.name].plus(amount)
            losses.namespaces[place] = losses.namespaces[place].plus(amount)
            for name in self.path[group.queue]:
                losses.queues[name] = losses.queues[name].plus(amount)
        return losses

    def unit_order(self, unit: Unit, losses: Losses) -> tuple[Any, ...]:
        """Inside a queue the least important pay first, before them groups that starve."""
        group = unit.group
        namespace = self.namespace_share(
            group.queue, group.namespace, losses.namespaces[group.queue, group.namespace]
        )
        job = self.dominant(self.used_by_group(group).minus(losses.groups[group.name]))
        pods = [(pod.priority, -pod.number) for pod in unit.pods]
        return (
            not unit.starving,
            group.priority,
            unit.rank,
            -namespace,
            -job,
            -group.created.timestamp(),
            pods,
        )
