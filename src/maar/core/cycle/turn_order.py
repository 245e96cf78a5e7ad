"""The order of turns: the queue with the smallest key, in it the namespace, in that the job.

The problem. A cycle gives one turn after the other. The next one goes to the job that comes first
when queues are compared at every level of the tree, then the namespaces of the leaf, then the jobs
of the namespace. The keys contain shares of use, and a turn that places pods changes them: those of
the job, of its namespace, of its leaf and of every queue above.

How it works. Heaps are nested as the order is (`turn_heaps.py`): each queue has a heap of its
children, each leaf one of its namespaces; each namespace one of its jobs. The next
job is found by following the first entries down from the root. After a turn, new entries are made
on the path of its job only, from the namespace up to the root (`QueueBranch.settle`). An entry that
was replaced stays in its heap until it is the first, and is dropped then.

Invariants.
- The first entry of every heap is current: it is the very entry that its branch has in `entry`.
- A branch has an entry in the heap of its parent exactly while a job waits in it or below it.
- Names of siblings differ, so no two keys are equal and the order never depends on the order of
  insertion.
- `used` is the list that the state itself changes. Whoever changes it outside the job's own turn
  (victims of an eviction) calls `refresh_group` afterwards; nothing else changes the keys of a
  branch.
- A job may be a class of equal groups, with the place of the member at its cursor. When that one
  is done, the next takes its place (`replace`); when its turn fails all would fail, and the class
  is dropped. Members are in the order of their ages, and jobs that need no turn (`turnless`)
  count for the age of their namespace until the first job comes after them. So namespaces have
  the ages that they would have if every group had its turn.

Complexity. O(depth) to find the next job, O(depth x log siblings) after a turn: the entry of the
path is mostly the first of its heap, and is replaced there. Every replaced entry is dropped once. A
job that changes its key costs a search among the jobs of its namespace, and a move of those behind
it.

Why not otherwise? In one heap of all jobs a turn would change the keys of all jobs of the queue,
because they contain the share of the queue. Sorting queues and jobs anew for every turn costs as
much as all of them together. Keys that are computed when a heap compares would change while they
are in the heap, and its order would be wrong without any sign of it. Decision records 10 and 24.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Literal

from maar.core.cycle.group_state import GroupState, UsagePath
from maar.core.cycle.queue_ledger import whole_of
from maar.core.cycle.state import State
from maar.core.cycle.turn_heaps import Job, Key, NamespaceBranch, QueueBranch, Standing, job_entry
from maar.core.model.names import natural
from maar.core.model.queue import ROOT
from maar.core.tables.rows import GroupRow

Phase = Literal["fair", "lent"]


class TurnOrder:
    """The order of turns among groups that wait."""

    def __init__(
        self,
        state: State,
        phase: Phase,
        groups: Iterable[GroupState],
        turnless: Iterable[GroupState] = (),
    ) -> None:
        """Of groups that wait, beside others that wait and need no turn, because it would fail."""
        self.state = state
        self.job = job_entry(state)  # the place of a group among those of its namespace
        self._phase = phase
        self._by_need = ("proportion", "enableQueueOrder") in state.configuration.enabled
        self._by_share = ("drf", "enableJobOrder") in state.configuration.enabled
        self._root = QueueBranch(None, [], (), 0.0, ROOT)
        self._queues: dict[int, QueueBranch] = {0: self._root}
        self._passed: dict[GroupState, int] = {}  # how many members have had their turn since its cursor
        jobs: dict[UsagePath, list[Job]] = {}
        for group in groups:
            jobs.setdefault(group.usage_path, []).append(self.job(group))
        leaves = Counter(path.leaf for path in jobs)
        others: dict[UsagePath, list[Job]] = {}  # where the age of a namespace can matter
        for group in turnless:
            if leaves[group.leaf] > 1:
                others.setdefault(group.usage_path, []).append(self.job(group))
        self._namespaces = {
            path: self._namespace(waiting, others.get(path, ())) for path, waiting in jobs.items()
        }

    def expect(self, leaf: int) -> None:
        """Let a leaf have its turn before its groups are known: they are added when it comes (`open`)."""
        branch = self._queue(leaf)
        branch.waiting = 1
        branch.settle()

    def unopened(self) -> int | None:
        """The leaf whose turn it is, where its groups have not been added."""
        branch = self._root
        while branch.children:
            branch = branch.children[0][-1]
        return branch.leaf if branch.waiting and not isinstance(branch, NamespaceBranch) else None

    def open(self, leaf: int, groups: Iterable[GroupState]) -> None:
        """Add the groups of a leaf."""
        branch = self._queue(leaf)
        branch.waiting = 0
        jobs = dict[UsagePath, list[Job]]()
        for group in groups:
            jobs.setdefault(group.usage_path, []).append(self.job(group))
        for path, waiting in jobs.items():
            self._namespaces[path] = self._namespace(waiting, ())
        if not jobs:
            branch.settle()

    def next(self) -> GroupState | None:
        """The group whose turn it is; None when none is left."""
        branch = self._root
        while branch.children:
            branch = branch.children[0][-1]
        first = branch.jobs.first() if isinstance(branch, NamespaceBranch) else None
        return first[-1] if first is not None else None

    def keys(self, group: GroupState) -> tuple[list[Standing], Job]:
        """What decides when a group that waits is next.

        The entries of the queues above it, from the top down, and of its namespace; then its own.
        """
        branch: QueueBranch | None = self._namespaces[group.usage_path]
        entries = list[Standing]()
        while branch is not None and branch.entry is not None:
            entries.append(branch.entry)
            branch = branch.above
        return entries[::-1], self.job(group)

    def standing(self, group: GroupState) -> Standing:
        """The entry of the namespace of a group that waits, as it was when last settled."""
        namespace = self._namespaces[group.usage_path]
        if namespace.entry is None:
            raise ValueError(f"no group of namespace {group.row.namespace} waits")
        return namespace.entry

    def job_before(self, group: GroupState) -> Job:
        """The place that a group had among the jobs of its namespace when it was last settled."""
        return self._namespaces[group.usage_path].jobs.entry(group)

    def oldest_after(self, group: GroupState, key: tuple[Key, int, bool, float]) -> float:
        """When the oldest group came that waits in the namespace of a group and has a later key than that."""
        jobs = self._namespaces[group.usage_path].jobs
        entries = map(jobs.entry, jobs)
        return min((entry[-2][0] for entry in entries if entry[:-2] > key), default=inf)

    def again(self, group: GroupState) -> None:
        """A group has had a turn and waits for another."""
        namespace = self._namespaces[group.usage_path]
        namespace.put(self.job(group))
        namespace.settle()

    def done(self, group: GroupState) -> None:
        """A group waits no longer."""
        namespace = self._namespaces[group.usage_path]
        namespace.drop(group)
        namespace.settle()

    def failed(self, group: GroupState, others: GroupState | None = None) -> None:
        """A turn has failed and changed nothing: its class has no other, but for members that may differ."""
        namespace = self._namespaces[group.usage_path]
        if others is not None:
            self.replace(group, others)
            return
        before = namespace.age
        namespace.drop(group)
        if not namespace.waiting or namespace.age != before:
            namespace.settle()

    def add(self, group: GroupState | None) -> None:
        """Give turns to the members of a class that come after one that had its turn, if there are any."""
        if group is not None:
            namespace = self._namespaces[group.usage_path]
            namespace.add(self.job(group))
            namespace.settle()

    def replace(self, group: GroupState, rest: GroupState | None) -> None:
        """A group waits no longer, and the next member of its class, if there is one, has its turns."""
        if rest is None:
            self.done(group)
        else:
            namespace = self._namespaces[group.usage_path]
            namespace.replace(group, self.job(rest))
            namespace.settle()

    def advance(self, group: GroupState) -> None:
        """A member of a class waits no longer, and the state is that of the next one."""
        namespace = self._namespaces[group.usage_path]
        namespace.advance(group, group.row.order)
        namespace.settle()

    def member(self, group: GroupState) -> GroupRow:
        """The member of a class whose turn it is."""
        passed = self._passed.get(group, 0)
        return group.of_class.rows[group.cursor + passed] if passed and group.of_class else group.row

    def passed(self, group: GroupState) -> int:
        """How many members of a class have had their turn, and share its state all the same."""
        return self._passed.get(group, 0)

    def next_member(self, group: GroupState) -> None:
        """The turn of a member is over, and changed no share: the next one has its turn."""
        passed = self._passed[group] = self._passed.get(group, 0) + 1
        if group.of_class is None or group.cursor + passed >= group.end:
            self.done(group)
            return
        namespace = self._namespaces[group.usage_path]
        before = namespace.age
        namespace.advance(group, group.of_class.rows[group.cursor + passed].order)
        if namespace.age != before:
            namespace.settle()

    def stop(self, leaf: int, which: Callable[[GroupState], bool] | None = None) -> list[GroupState]:
        """Give no group of a leaf another turn, or none of some; returns those that still waited."""
        namespaces = [one for path, one in self._namespaces.items() if path.leaf == leaf]
        left = list[GroupState]()
        for one in namespaces:
            stopped = [group for group in one.jobs if which is None or which(group)]
            for group in stopped:
                one.drop(group)
            one.settle()
            left += stopped
        return left

    def refresh_group(self, group: GroupState) -> None:
        """What a group uses, and its namespace and queue with it, has changed in another group's turn."""
        namespace = self._namespaces.get(group.usage_path)
        if namespace is None:
            if group.leaf in self._queues:
                self._queues[group.leaf].settle()
        elif group in namespace.jobs:
            self.again(group)
        else:
            namespace.settle()

    def _namespace(self, jobs: Sequence[Job], turnless: Sequence[Job]) -> NamespaceBranch:
        """The order of namespaces: the smallest share per weight, then age."""
        group = jobs[0][-1]
        leaf, name, used = group.leaf, group.row.namespace, group.usage_path.columns[0]
        whole = self.state.namespace_whole(leaf, name) if self._by_share else ()
        namespace = NamespaceBranch(self._queue(leaf), used, whole, natural(name), jobs, turnless)
        namespace.settle()
        return namespace

    def _queue(self, queue: int) -> QueueBranch:
        """The order of queues: priority, then the smallest share (or use per weight, to borrow), then age."""
        known = self._queues.get(queue)
        if known is not None:
            return known
        ledger = self.state.ledger
        above, row, age = (
            self._queue(ledger.parent[queue]),
            ledger.rows[queue],
            ledger.tree.claims[queue].created,
        )
        branch = self._queues[queue] = QueueBranch(above, ledger.used[queue], (), age, row.order)
        branch.leaf = queue
        if self._by_need:
            is_fair = self._phase == "fair"
            branch.priority = -row.queue.spec.priority
            branch.whole = whole_of(ledger.deserved[queue]) if is_fair else ledger.whole(ledger.weight[queue])
        return branch
