"""One turn of a group: the pods that make it ready, or one more, get their nodes together or not at all.

A turn places its first pods in their order, and what their queue may use is asked and charged once.
Pods of one shape that follow each other are a run: where nothing but their shape decides where they
go, as many as have the same best node are put there at once. Other pods are asked about one by one.

Where this fails, other pods of the group or another order may do. `MixedTurn` charges and places
each pod by itself, in every order that `NodeChooser.tries` gives, and leaves out those that find no
node. So it does from the beginning where tasks have minima, claims bind together, or pods are
placed together that want to be near others. Both are trials of the state: a turn that places too
few pods leaves no trace.

In one phase of allocate room is only taken. A shape that found no node finds none until the phase
ends, and is not asked about again.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.limits import Limits
from maar.core.cycle.placing.ranking import Ranking
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.state import State
from maar.core.tables.axis import Needs, times
from maar.core.tables.counting import together
from maar.core.tables.rows import NO_TASKS, PodRow
from maar.core.tables.shapes import Labels, Shape


@dataclass(slots=True, eq=False)
class _Run:
    """Pods of one shape that follow each other in a turn."""

    shape: Shape
    pods: slice | None  # of those of the turn; None: all
    are_equal: bool  # nothing but their shape decides where they go
    ranking: Ranking | None = None  # once the shape may find a node


@dataclass(slots=True, eq=False)
class _Turn:
    """How a group has its turn: the same for all members of its class, and while nothing of it is placed."""

    placed: int  # pods of the group, before the turn
    pods: int  # that could be placed in it
    runs: Sequence[_Run] = ()  # in their order; none where another order may be needed
    needs: Needs = ()  # of their pods together
    is_all: bool = False  # no other pods or order could do


class GroupPlacement:
    """How turns go in one phase."""

    def __init__(self, state: State, limits: Limits, *, is_gang: bool) -> None:
        self.state, self.limits, self.is_gang = state, limits, is_gang
        self.unplaceable: set[Shape] = set()  # shapes that found no node
        self._rankings: dict[Shape, Ranking] = {}  # of shapes that may find a node
        self._turns: dict[GroupState, _Turn] = {}

    def try_place(self, group: GroupState, pods: Sequence[PodRow]) -> bool:
        """Place what makes the group ready, or one more pod; where that cannot be done, nothing stays."""
        turn = self._turns.get(group)
        if self.state.just_let_in is not None and group.is_ready:
            pods, turn = [pod for pod in pods if self.limits.leave_room(group.leaf, pod.shape.needs)], None
            if not pods:
                return False
        if turn is None or turn.placed != group.placed or turn.pods != len(pods):
            turn = self._turns[group] = self._turn(group, pods)
        if turn.runs and self._try_in_order(group, pods, turn):
            return True
        return not turn.is_all and MixedTurn(self, group).try_place(pods, *self._missing(group))

    def _missing(self, group: GroupState) -> tuple[int, dict[str, int]]:
        return group.missing() if self.is_gang else (0, NO_TASKS)

    def _turn(self, group: GroupState, pods: Sequence[PodRow]) -> _Turn:
        missing, tasks = self._missing(group)
        first, runs, begin = pods[: missing or 1], list[_Run](), 0
        is_of_class = group.of_class is not None  # so that nothing but shapes decides where its pods go
        if tasks or len(pods) < missing or not (is_of_class or _need_no_other_order(first)):
            return _Turn(group.placed, len(pods))
        for shape, alike in groupby(first, key=attrgetter("shape")):
            run = list(alike)
            end = begin + len(run)
            which = None if len(run) == len(pods) else slice(begin, end)
            are_equal = is_of_class or self.state.places.depend_on_shapes_only(run)
            runs.append(_Run(shape, which, are_equal))
            begin = end
        is_all = len(runs) == 1 and len(pods) == len(first)
        needs = times(runs[0].shape.needs, len(first)) if len(runs) == 1 else together(first)
        return _Turn(group.placed, len(pods), runs, needs, is_all=is_all)

    def _try_in_order(self, group: GroupState, pods: Sequence[PodRow], turn: _Turn) -> bool:
        """Place all pods, one after the other; where one cannot be placed, nothing stays.

        What their queue may use is asked and charged once.
        """
        for run in turn.runs:
            if run.shape in self.unplaceable or (run.ranking is None and not self._may_find_node(run)):
                return False
        state = self.state
        start = len(state.steps)
        if not self.limits.charge(group, turn.needs):
            return False
        for run in turn.runs:
            those = pods if run.pods is None else pods[run.pods]
            placed = (self._place_by_shape if run.are_equal else self._place_one_by_one)(group, those, run)
            if placed < len(those):
                if not placed and run is turn.runs[0] and not state.places.has_affinity(those[0]):
                    self.unplaceable.add(run.shape)
                state.undo_to(start)
                return False
        if not state.open_trials:
            state.steps.clear()  # no trial is left that could undo them
        return True

    def _may_find_node(self, run: _Run) -> bool:
        """Rank the nodes for a run of pods, if any of them may find one."""
        places, run.ranking = self.state.places, self._rankings.get(run.shape)
        if run.ranking is None:
            if places.never_fits(run.shape) or not places.capacity(run.shape):
                self.unplaceable.add(run.shape)
                return False
            run.ranking = self._rankings[run.shape] = places.ranking(run.shape)
        return True

    def _place_by_shape(self, group: GroupState, pods: Sequence[PodRow], run: _Run) -> int:
        """Place pods for which only their shape counts; gives how many found a node."""
        ranking = run.ranking or self.state.places.ranking(run.shape)
        placed, left = 0, len(pods)
        while left:
            node, count = ranking.best_run(left)
            if node == NOWHERE:
                break
            self.state.place_equal(group, pods if count == len(pods) else pods[placed : placed + count], node)
            placed += count
            left -= count
        return placed

    def _place_one_by_one(self, group: GroupState, pods: Sequence[PodRow], _: _Run) -> int:
        """Place pods for which other pods, plugins or promises count; gives how many found a node."""
        for placed, pod in enumerate(pods):
            node = self.state.places.best(pod, "now")
            if node == NOWHERE:
                return placed
            self.state.place(group, pod, node)
        return len(pods)


def _need_no_other_order(pods: Sequence[PodRow]) -> bool:
    """Whether pods that are placed together can be placed in their own order, if in any."""
    if len(pods) == 1:
        return not pods[0].shape.claims
    return not any(pod.shape.claims or pod.shape.has_affinity for pod in pods)


class MixedTurn:
    """A turn in which pods differ, or in which more than room decides: each is asked about by itself."""

    def __init__(self, placement: GroupPlacement, group: GroupState) -> None:
        self.placement, self.state, self.group = placement, placement.state, group
        self.failed: set[tuple[Shape, Labels]] = set()
        self.chosen: dict[str, PodRow] = {}
        self.of_task = Counter[str]()  # how many are chosen

    def try_place(self, pods: Sequence[PodRow], missing: int, tasks: dict[str, int]) -> bool:
        """Place enough of the pods, or none."""
        for order in self.state.places.tries(pods, max(missing, 1), "now"):
            self.failed.clear()
            self.chosen.clear()
            self.of_task.clear()
            with self.state.trial() as trial:
                if self._try_take_enough(order, missing, tasks):
                    trial.keep()
            if trial.is_kept:
                wait_for_claims(self.state, list(self.chosen.values()))
                return True
        return False

    def _try_take_enough(self, pods: Sequence[PodRow], missing: int, tasks: dict[str, int]) -> bool:
        """Place pods of tasks that have a minimum first, then others, until the group is ready."""
        for pod in pods if tasks else ():
            if self.of_task[pod.task] < tasks.get(pod.task, 0):
                self._try_take(pod)
        while self._take_until(pods, max(missing, 1)):
            self.failed.clear()
        return (
            bool(self.chosen)
            and len(self.chosen) >= missing
            and all(self.of_task[task] >= least for task, least in tasks.items())
        )

    def _take_until(self, pods: Sequence[PodRow], wanted: int) -> bool:
        """Place pods until they are enough; returns whether some found no node before others had theirs.

        Who wants to be near those may find one now.
        """
        before = None
        for pod in pods:
            if len(self.chosen) >= wanted:
                return False
            if pod.key not in self.chosen and not self._try_take(pod) and before is None:
                before = len(self.chosen)
        return self.state.places.any_has_affinity and before is not None and len(self.chosen) > before

    def _try_take(self, pod: PodRow) -> bool:
        """Place one pod; what failed once fails for all equal pods, until another pod is placed."""
        shape, placement, places = pod.shape, self.placement, self.state.places
        alike = (shape, pod.labels if places.any_has_affinity else ())
        if alike in self.failed:
            return False
        if (
            not places.never_fits(shape)
            and placement.limits.allow(self.group.leaf, shape.needs)
            and self._try_place(pod)
        ):
            self.chosen[pod.key] = pod
            self.of_task[pod.task] += 1
            return True
        self.failed.add(alike)
        return False

    def _try_place(self, pod: PodRow) -> bool:
        unplaceable, places = self.placement.unplaceable, self.state.places
        if pod.shape in unplaceable:
            return False
        node = places.best(pod, "now")
        if node != NOWHERE:
            self.state.take(pod, node, "now")
            return True
        if not self.chosen and not places.has_affinity(pod):
            unplaceable.add(pod.shape)
        return False


def wait_for_claims(state: State, pods: Sequence[PodRow]) -> None:
    """Where claims bind on first consumer, all pods of a turn keep their nodes and bind once these have."""
    claims = [key for pod in pods for key in state.places.claims.unbound(pod.shape)]
    for pod in pods if claims else ():
        state.place(state.group_of(pod), pod, state.unplace(pod, "now"), "later")
    state.selections.update(dict.fromkeys(claims))
