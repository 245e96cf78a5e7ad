"""The smallest changes with which a group that waits would start now.

The problem. A reason names what is in the way, but not how much of a change would be enough: behind one limit
there may be another, others stand before the group and take what comes first, and more of one thing changes
the shares of all. So every candidate is made as a what-if makes it (`changes.py`; one that admission refuses
is no answer) and decided on (`decision_trials.py`): all decisions of the present, until one changes nothing.
The group starts where a pod of it is bound, or where victims are found for it.

What is tried: tolerations of taints that alone keep its pods off nodes; more capability of the queues above
it, alone or together; another weight of each of them; more nodes of every kind that there is; one other group
gone; a higher priority class of the group; and what only somebody can do, gates that are removed and a queue
that is created. Nothing else is changed about the group itself.

How a number is found. `least` needs a number that is not enough (0, the present) and one that is. It doubles
from the first and then halves the gap, until both are neighbours: the larger starts the group and one step
less does not. That ends so whether or not more always helps. Where several amounts go together (capabilities
of several resources), each is made as small as it can be with the others as they are, until none can be
smaller by one step.

What it costs. Each try is a decision on the whole cluster, which takes long where thousands wait, so
`go_on` is asked before every one of them, and what was found before it said no is kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from math import ceil
from typing import Final, NamedTuple

from maar.core.answers.explain.decision_trials import DecisionTrials, Effect
from maar.core.answers.explain.single_changes import (
    AddTolerations,
    CreateQueue,
    DeleteGroup,
    MoreNodes,
    OpenNode,
    RaiseCapability,
    RemoveGates,
    SetPriority,
    SetWeight,
    SingleChange,
    named_labels,
    node_kinds,
    step_of,
)
from maar.core.answers.future import Present
from maar.core.cycle.inspect import Inspection, for_next_turn
from maar.core.model.node import Node, Taint
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.reasons import Cure, Reason, Refusal
from maar.core.model.resources import Resources
from maar.core.simulation.collection import without_collection
from maar.core.tables.counting import together
from maar.core.tables.rows import GroupRow

LARGEST_WEIGHT: Final = 65535
MOST_NODES: Final = 256  # more of one kind are not tried
MOST_KINDS: Final = 4  # of nodes
MOST_CLASSES: Final = 6  # of priority
MOST_GONE: Final = 24  # groups that are tried without
FEW_GONE: Final = 3  # of them that are given
_HOPELESS: Final = (
    Reason.NOT_ENOUGH_TASKS,
    Reason.NOT_ENOUGH_PODS_OF_TASK,
    Reason.EXCEEDED_QUOTA,
    Reason.RESOURCE_CLAIM,
)

Coordinate = tuple[str, str]  # a queue and a resource
GoOn = Callable[[int], bool]  # asked with the number of tries so far


class Found(NamedTuple):
    """A change with which the group starts, and how."""

    change: SingleChange
    effect: Effect


class Search(NamedTuple):
    """What was found, and whether everything was tried."""

    found: tuple[Found, ...]
    tries: int
    is_complete: bool
    starts: Effect | None = None  # without any change


class _StoppedError(Exception):
    """No more tries."""


@without_collection()
def smallest_changes(
    present: Present,
    inspection: Inspection,
    refusal: Refusal | None,
    key: str,
    ahead: Sequence[str] = (),
    go_on: GoOn = lambda _: True,
) -> Search:
    """The smallest changes with which a group starts now, each decided on.

    With the state of a decision on the present, why the group waits in it, and groups that come before it.
    """
    search = _Search(present, inspection, refusal, key, go_on, ahead)
    found, is_complete = list[Found](), True
    try:
        effect = search.effect(None)
        if effect is not None:
            return Search((), search.tries, is_complete=True, starts=effect)
        for one in search.found():
            found.append(one)  # what was found before it is stopped is kept
    except _StoppedError:
        is_complete = False
    return Search(tuple(found), search.tries, is_complete)


def least(holds: Callable[[int], bool], most: int, *, is_costly: bool = False) -> int | None:
    """A number from 1 to `most` for which something holds while it does not for one less; None if none.

    It does not hold for 0. Where large numbers are costly to try, small ones are tried first.
    """
    if most < 1 or (not is_costly and not holds(most)):
        return None
    low, high, step = 0, most, 1
    while low + step < high:
        if holds(low + step):
            high, is_costly = low + step, False
        else:
            low, step = low + step, 2 * step
    if is_costly and not holds(most):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(eq=False)
class _Search:
    """Candidates for one group, and what was decided on those that were tried."""

    present: Present
    inspection: Inspection
    refusal: Refusal | None
    key: str
    go_on: GoOn
    ahead: Sequence[str]
    tries: int = 0
    _effects: dict[str, Effect | None] = field(default_factory=dict)

    def effect(self, change: SingleChange | None) -> Effect | None:
        """How the group starts with a change, or without any."""
        identity = repr(change)
        if identity not in self._effects:
            if not self.go_on(self.tries):
                raise _StoppedError
            self.tries += 1
            changes = [] if change is None else change.changes(self.present.objects)
            self._effects[identity] = self._trials.effect(changes)
        return self._effects[identity]

    @cached_property
    def _trials(self) -> DecisionTrials:
        return DecisionTrials(self.present, self.key)

    @property
    def row(self) -> GroupRow:
        """The group."""
        return self.inspection.tables.groups[self.key]

    def found(self) -> Iterator[Found]:
        """All changes that help."""
        cure = None if self.refusal is None else self.refusal.cure
        reasons = [one.reason for one in (self.refusal, *self.refusal.further)] if self.refusal else []
        if any(one in _HOPELESS for one in reasons):
            return
        if self.row.leaf is None:
            if reasons == [Reason.QUEUE_MISSING]:
                yield from self._helpful(CreateQueue(queue=self.row.queue_name))
            return
        if self.row.gated:
            yield from self._helpful(RemoveGates(group=self.key, pods=self.row.gated))
        yield from self._capabilities()
        yield from self._nodes()
        yield from self._opened()
        yield from self._tolerations()
        if cure != Cure.NEVER:
            yield from self._gone()
            yield from self._priorities()
            yield from self._weights()  # last: with a large weight much is evicted, which takes long

    def _helpful(self, change: SingleChange) -> Iterator[Found]:
        effect = self.effect(change)
        if effect is not None:
            yield Found(change, effect)

    def _starts(self, change: SingleChange) -> bool:
        return self.effect(change) is not None

    def _starts_when(self, change: Callable[[int], SingleChange], count: int) -> bool:
        return self._starts(change(count))

    @cached_property
    def _path(self) -> list[Queue]:
        """The queues above the group, the nearest first."""
        leaf = self.row.leaf
        rows = self.inspection.queues.paths[leaf.index] if leaf is not None else ()
        return [self.inspection.queues.rows[row].queue for row in rows]

    @cached_property
    def _needs(self) -> dict[str, int]:
        """What the group needs to start, by resource."""
        names = self.inspection.tables.axis.names
        pods = dict(together(for_next_turn(self.inspection.group(self.row))))
        for row, amount in self.row.to_start or ():
            pods[row] = max(amount, pods.get(row, 0))
        return {names[row]: amount for row, amount in pods.items()}

    # --- tolerations and priorities

    def _tolerations(self) -> Iterator[Found]:
        """Tolerations of the taints that alone keep its pods off nodes; none that is not needed."""
        pods = for_next_turn(self.inspection.group(self.row))
        sets = (taints for pod in pods for taints in self.inspection.nodes.taints_in_the_way(pod.shape))
        found = list[frozenset[Taint]]()
        for taints in sorted(dict.fromkeys(sets), key=len)[:MOST_KINDS]:
            if any(one <= set(taints) for one in found):
                continue
            for one in self._helpful(AddTolerations(self.key, len(self.row.pending), taints)):
                found.append(frozenset(taints))
                yield one

    def _priorities(self) -> Iterator[Found]:
        """The lowest priority class with which it comes before others, or may evict them."""
        classes = [one for one in self.present.objects if isinstance(one, PriorityClass)]
        higher = {one.value: one.key for one in classes if self._is_choice(one)}
        for value in sorted(higher)[:MOST_CLASSES]:
            change = SetPriority(self.key, higher[value], value, self.row.priority)
            if self._starts(change):
                yield from self._helpful(change)
                return

    def _is_choice(self, one: PriorityClass) -> bool:
        return one.value > self.row.priority and not one.key.startswith("system-")

    # --- capabilities

    def _capabilities(self) -> Iterator[Found]:
        """More capability of one queue above it; where no queue alone is enough, of all together."""
        by_queue = {
            queue.key: [(queue.key, name) for name in self._needs if name in queue.spec.capability]
            for queue in self._path
        }
        limited = [coordinates for coordinates in by_queue.values() if coordinates]
        alone = [found for coordinates in limited for found in self._least_capability(coordinates)]
        yield from alone
        if not alone and len(limited) > 1:
            yield from self._least_capability([one for coordinates in limited for one in coordinates])

    def _least_capability(self, coordinates: Sequence[Coordinate]) -> Iterator[Found]:
        """Capabilities none of which can be smaller by a step, with the others as they are."""
        steps = self._largest(coordinates)
        is_smaller = self._starts(self._raised(steps))
        while is_smaller:
            is_smaller = False
            for one in coordinates:
                starts = partial(self._starts_with, steps, one)
                if steps[one] and starts(steps[one] - 1):
                    steps[one] = 0 if starts(0) else least(starts, steps[one] - 1) or 0
                    is_smaller = True
        if any(self._raised(steps).queues) and self._starts(self._raised(steps)):
            yield from self._helpful(self._raised(steps))

    def _largest(self, coordinates: Sequence[Coordinate]) -> dict[Coordinate, int]:
        """As many steps of each as could ever help and as admission allows, which looks at what is above."""
        total = dict(zip(self.inspection.tables.axis.names, self.inspection.queues.total, strict=True))
        steps = dict[Coordinate, int]()
        for one in reversed(coordinates):
            most = 1 + ceil((total[one[1]] + self._needs[one[1]]) / step_of(one[1]))
            refused = least(partial(self._is_refused, steps, one), most)
            steps = {one: most if refused is None else refused - 1, **steps}
        return steps

    def _is_refused(self, steps: Mapping[Coordinate, int], one: Coordinate, count: int) -> bool:
        change = self._raised({**steps, one: count})
        return not self._trials.are_allowed(change.changes(self.present.objects))

    def _starts_with(self, steps: Mapping[Coordinate, int], one: Coordinate, count: int) -> bool:
        return self._starts(self._raised({**steps, one: count}))

    def _raised(self, steps: Mapping[Coordinate, int]) -> RaiseCapability:
        """Capabilities raised by so many steps."""
        queues, before = dict[str, Resources](), dict[str, Resources]()
        for queue in self._path:
            old = queue.spec.capability
            new = {
                name: old[name] + count * step_of(name)
                for (key, name), count in steps.items()
                if key == queue.key and count
            }
            if new:
                queues[queue.key] = Resources(new)
                before[queue.key] = Resources({name: old[name] for name in new})
        return RaiseCapability(queues=queues, before=before)

    # --- weights, nodes, and others that are gone

    def _weights(self) -> Iterator[Found]:
        """A larger weight of each queue above it."""
        for queue in self._path:
            now = queue.spec.weight
            starts = partial(self._starts_when, partial(_weight, queue.key, now))
            more = least(starts, LARGEST_WEIGHT - now)
            if more is not None:
                yield from self._helpful(_weight(queue.key, now, more))

    def _nodes(self) -> Iterator[Found]:
        """More nodes of each kind that suits its pods; the fewest first."""
        hooks = self.present.configuration.node_hooks  # which may read any label
        matters = (lambda _: True) if hooks else named_labels(self.present.objects)
        suitable = [one for one in node_kinds(self._all_nodes, matters) if self._suits(one[0])][:MOST_KINDS]
        found, most = list[MoreNodes](), max(MOST_NODES, self.row.min_member)
        for kind in suitable:
            model = kind[0]
            count = least(partial(self._starts_when, partial(_more, model)), most, is_costly=True)
            if count is not None:
                found.append(_more(model, count))
        for change in sorted(found, key=lambda one: one.count):
            yield from self._helpful(change)

    def _opened(self) -> Iterator[Found]:
        """The first unschedulable node with which it would start."""
        closed = [OpenNode(one.key) for one in self._all_nodes if one.is_ready and one.spec.unschedulable]
        yield from islice((found for one in closed[:MOST_KINDS] for found in self._helpful(one)), 1)

    @property
    def _all_nodes(self) -> list[Node]:
        return [one for one in self.present.objects if isinstance(one, Node)]

    def _suits(self, node: Node) -> bool:
        """Whether the filters allow one of its pods on a node like this."""
        row = self.inspection.tables.nodes.get(node.key)
        pods = for_next_turn(self.inspection.group(self.row))
        return row is not None and (
            not pods or any(self.inspection.nodes.suits(pod.shape)[row.index] for pod in pods)
        )

    def _gone(self) -> Iterator[Found]:
        """One other group gone: the smallest of those with which it would start."""
        count = 0
        for change in self._candidates_to_go():
            for found in self._helpful(change):
                count += 1
                yield found
            if count == FEW_GONE:
                return

    def _candidates_to_go(self) -> list[DeleteGroup]:
        """Groups that wait before it, then those that run, the smallest first; not all of very many."""
        inspection, known = self.inspection, self.inspection.tables.groups
        others = [] if self.refusal is None else self.refusal.others
        first = [
            known[key] for key in dict.fromkeys((*others, *self.ahead)) if key in known and key != self.key
        ]
        running = [
            row for row in known.values() if row.leaf is not None and any(row.used) and row.key != self.key
        ]
        sizes = {row.key: inspection.queues.dominant(inspection.group(row).used) for row in running}
        sized = sorted(running, key=lambda row: (sizes[row.key], -row.created, row.key))
        if len(sized) > MOST_GONE:
            alike = {(row.queue_name, row.namespace, row.priority, row.used): row for row in sized}
            sized = list(alike.values())
            every = ceil(len(sized) / MOST_GONE)
            sized = sized[::-every][::-1]  # the largest among them
        listed = {row.key: row for row in (*first, *sized)}
        return [
            DeleteGroup(
                group=row.key,
                job=row.owner or row.key.partition("/")[2],
                pods=sum(bool(pod.node_name and pod.is_live) for pod in row.pods.values()),
                queue=row.queue_name,
                priority=row.priority,
                priority_here=self.row.priority,
            )
            for row in listed.values()
        ]


def _weight(queue: str, now: int, more: int) -> SetWeight:
    return SetWeight(queue=queue, weight=now + more, before=now)


def _more(model: Node, count: int) -> MoreNodes:
    return MoreNodes(like=model.key, count=count, allocatable=model.status.allocatable)
