"""One turn of a group: the pods that make it ready, or one more, get their nodes together or not at all.

Most turns place equal pods: of one shape, whose nodes nothing but room decides. They are charged to their
queue at once, and each goes to the best node of the shape. Where pods differ, mount volumes that are yet to
be chosen, or have constraints on other pods, each is charged and placed by itself, in every order that
`NodeChooser.tries` gives. Both are trials of the state: a turn that places too few pods leaves no trace.

In one phase of allocate room is only taken. A shape that found no node finds none until the phase ends, and
is not asked about again.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.limits import Limits
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.state import State
from maar.core.tables.axis import times
from maar.core.tables.rows import NO_TASKS, PodRow
from maar.core.tables.shapes import Labels, Shape


class GroupPlacement:
    """How turns go in one phase."""

    def __init__(self, state: State, limits: Limits, *, is_gang: bool) -> None:
        self.state, self.limits, self.is_gang = state, limits, is_gang
        self.unplaceable: set[Shape] = set()  # shapes that found no node
        self._is_plain = not state.places.any_has_affinity  # no pod is concerned by others
        self._choosers: dict[Shape, Callable[[], int] | None] = {}  # of shapes that nothing but room decides

    def succeeds(self, group: GroupState, pods: Sequence[PodRow]) -> bool:
        """Place what makes the group ready, or one more pod; where that cannot be done, nothing stays."""
        if self.state.just_let_in is not None and group.is_ready:
            pods = [pod for pod in pods if self.limits.leave_room(group.leaf, pod.shape.needs)]
            if not pods:
                return False
        missing, tasks = group.missing() if self.is_gang else (0, NO_TASKS)
        if not tasks and len(pods) >= missing:
            first = pods if len(pods) == 1 else pods[: missing or 1]
            is_known = self._is_plain and len(first) == 1 and first[0].shape in self._choosers
            if is_known or self._are_equal(first):
                if self._places_equal(group, first):
                    return True
                if len(pods) == len(first):
                    return False
        return MixedTurn(self, group).succeeds(pods, missing, tasks)

    def _are_equal(self, pods: Sequence[PodRow]) -> bool:
        """Whether pods can be placed as one: of one shape, and nothing but room decides where they go."""
        places, shape = self.state.places, pods[0].shape
        if shape.claims or (places.any_has_affinity and places.has_affinity(pods[0])):
            return False
        return len(pods) == 1 or len({pod.shape for pod in pods}) == 1

    def _places_equal(self, group: GroupState, pods: Sequence[PodRow]) -> bool:
        """Place equal pods: what their queue may use is asked and charged once."""
        state, shape, needs = self.state, pods[0].shape, pods[0].shape.needs
        if shape in self.unplaceable:
            return False
        try:
            choose = self._choosers[shape]
        except KeyError:
            if state.places.never_fits(shape) or not state.places.capacity(shape):
                self.unplaceable.add(shape)
                return False
            choose = self._chooser(shape)
        if not self.limits.charge(group, needs if len(pods) == 1 else times(needs, len(pods))):
            return False
        start, places, is_plain = len(state.steps) - 1, state.places, self._is_plain  # before the charge
        for pod in pods:
            if choose is None or pod.nominated or pod.promised_with_job:
                node = places.best(pod, "now")
            else:
                node = choose() if is_plain or not places.is_concerned(pod) else places.best(pod, "now")
            if node == NOWHERE:
                if pod is pods[0]:
                    self.unplaceable.add(shape)
                state.undo_to(start)
                return False
            state.place(group, pod, node)
        if not state.open_trials:
            state.steps.clear()  # no trial is left that could undo them
        return True

    def _chooser(self, shape: Shape) -> Callable[[], int] | None:
        """What gives a shape its best node; kept where that holds for every pod of the shape."""
        choose = self.state.places.chooser(shape)
        if choose is not None:
            self._choosers[shape] = choose
        return choose


class MixedTurn:
    """A turn in which pods differ, or in which more than room decides: each is asked about by itself."""

    def __init__(self, placement: GroupPlacement, group: GroupState) -> None:
        self.placement, self.state, self.group = placement, placement.state, group
        self.failed: set[tuple[Shape, Labels]] = set()
        self.chosen: dict[str, PodRow] = {}
        self.of_task = Counter[str]()  # how many are chosen

    def succeeds(self, pods: Sequence[PodRow], missing: int, tasks: dict[str, int]) -> bool:
        """Place enough of the pods, or none."""
        for order in self.state.places.tries(pods, max(missing, 1), "now"):
            self.failed.clear()
            self.chosen.clear()
            self.of_task.clear()
            with self.state.trial() as trial:
                if self._finds_enough(order, missing, tasks):
                    trial.keep()
            if trial.is_kept:
                wait_for_claims(self.state, list(self.chosen.values()))
                return True
        return False

    def _finds_enough(self, pods: Sequence[PodRow], missing: int, tasks: dict[str, int]) -> bool:
        """Place pods of tasks that have a minimum first, then others, until the group is ready."""
        for pod in pods if tasks else ():
            if self.of_task[pod.task] < tasks.get(pod.task, 0):
                self._takes(pod)
        while self._might_find_more(pods, max(missing, 1)):
            self.failed.clear()
        return (
            bool(self.chosen)
            and len(self.chosen) >= missing
            and all(self.of_task[task] >= least for task, least in tasks.items())
        )

    def _might_find_more(self, pods: Sequence[PodRow], wanted: int) -> bool:
        """Place pods until they are enough; returns whether some found no node before others had theirs.

        Who wants to be near those may find one now.
        """
        before = None
        for pod in pods:
            if len(self.chosen) >= wanted:
                return False
            if pod.key not in self.chosen and not self._takes(pod) and before is None:
                before = len(self.chosen)
        return self.state.places.any_has_affinity and before is not None and len(self.chosen) > before

    def _takes(self, pod: PodRow) -> bool:
        """Place one pod; what failed once fails for all equal pods, until another pod is placed."""
        shape, placement, places = pod.shape, self.placement, self.state.places
        alike = (shape, pod.labels if places.any_has_affinity else ())
        if alike in self.failed:
            return False
        if (
            not places.never_fits(shape)
            and placement.limits.allow(self.group.leaf, shape.needs)
            and self._is_placed(pod)
        ):
            self.chosen[pod.key] = pod
            self.of_task[pod.task] += 1
            return True
        self.failed.add(alike)
        return False

    def _is_placed(self, pod: PodRow) -> bool:
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
