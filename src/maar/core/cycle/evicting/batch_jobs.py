"""Jobs of batch/v1 in a cycle: which of their pods go alone, which Jobs are suspended, and which are resumed.

For the controller of such a Job a pod that was evicted has failed: a few evictions end the Job for
good, and before that each delays the pods that come next. Pods of a Job that is suspended are
deleted without being counted. So a Job goes as a whole, by being suspended, but for surplus pods
that its own rules let go. What is known of a suspended Job, and of its pods to come, is in
`core/tables/batch_jobs.py`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.model.pod_group import PromisedRoom, PromiseToJob
from maar.core.model.writes import Resume
from maar.core.tables.rows import PodRow

_PROMISED_FOR_S: Final = 60.0  # room, to pods that are yet to be made


class LonePods:
    """How many pods of each Job may still be evicted as pods, as units are listed one after the other."""

    def __init__(self, state: State, pods: Iterable[PodRow]) -> None:
        self._jobs = state.tables.batch_jobs.by_uid
        self._left = {uid: 0.0 for pod in pods if (uid := pod.batch_job) in self._jobs}
        for uid in self._left:
            row = self._jobs[uid]
            group = state.tables.groups.get(row.group_key)
            members = group.pods.values() if group is not None else ()
            leaving = sum(
                pod.is_terminating or pod.key in state.gone for pod in members if pod.batch_job == uid
            )
            self._left[uid] = row.spare_failures - leaving

    @property
    def go_with_job(self) -> bool:
        """Whether some of the pods go with their Job only."""
        return any(left <= 0 for left in self._left.values())

    def take(self, pod: PodRow) -> bool:
        """Whether a pod may go alone; it counts as gone then."""
        left = self._left.get(pod.batch_job)
        if left is None:
            return True
        per_index = self._jobs[pod.batch_job].job.spec.backoff_limit_per_index
        if left < 1 or (per_index is not None and pod.index_failures >= per_index):
            return False
        self._left[pod.batch_job] = left - 1
        return True


def suspended_jobs(state: State) -> Collection[str]:
    """The uids of the Jobs that are evicted as a whole: none of their pods stays on a node."""
    known = state.tables.batch_jobs.by_uid
    evicted = dict.fromkeys(one.pod.batch_job for one in state.evictions)
    return {uid for uid in evicted if uid in known and known[uid].can_be_suspended and not _stays(state, uid)}


def _stays(state: State, uid: str) -> bool:
    row = state.tables.groups.get(state.tables.batch_jobs.by_uid[uid].group_key)
    return row is not None and any(
        (pod.node_name and pod.is_live and not pod.is_terminating and key not in state.gone)
        or key in state.bound
        for key, pod in row.pods.items()
        if pod.batch_job == uid
    )


def keep_nodes_for_pods_to_come(state: State, group: GroupState) -> None:
    """Promise pods that do not exist the nodes they were given, and the others while these are too few."""
    bound, promised = state.bound, state.promised
    to_come = [
        pod for key, pod in group.row.pods.items() if pod.is_to_come and (key in bound or key in promised)
    ]
    others = [] if _is_ready_without(group, to_come) else state.newly_bound(group)
    for pod in {pod.key: pod for pod in (*to_come, *others) if pod.key in bound}.values():
        state.place(group, pod, state.unplace(pod, "now"), "later")


def _is_ready_without(group: GroupState, pods: Collection[PodRow]) -> bool:
    tasks = Counter(pod.task for pod in pods)
    return group.placed - len(pods) >= group.row.min_member and all(
        group.tasks[task] - tasks[task] >= least for task, least in group.row.min_task_member.items()
    )


def resumptions(state: State) -> Iterator[Resume]:
    """The groups whose suspended Jobs have had their turn, with the room that their pods are promised."""
    tables = state.tables
    rows = {pod.group_key: pod.group for key in state.promised if (pod := tables.pods[key]).is_to_come}
    until = datetime.fromtimestamp(state.now + _PROMISED_FOR_S, UTC)
    for key, row in sorted(rows.items()):
        jobs = {}
        for one in tables.batch_jobs.of_group(key):
            nodes = Counter(
                state.room.nodes[state.promised[pod.key]].name
                for pod in one.to_come.values()
                if pod.key in state.promised
            )
            is_due = one.job.suspended_for is not None and tables.batch_jobs.promise_to(one) is None
            if nodes and is_due and row is not None:
                promise = PromiseToJob(
                    generation=one.job.metadata.generation, nodes=dict(sorted(nodes.items()))
                )
                jobs[one.job.metadata.name] = promise
        if jobs:
            yield Resume(pod_group=key, room=PromisedRoom(until=until, jobs=jobs))
