"""One turn of a group: the pods that make it ready, or one more, get their nodes together or not at all."""

from collections import Counter
from collections.abc import Callable, Sequence

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.limits import Limits
from maar.core.cycle.room import NOWHERE
from maar.core.cycle.state import State
from maar.core.tables.axis import times
from maar.core.tables.rows import NO_TASKS, PodRow
from maar.core.tables.shapes import Labels, Shape


class GroupPlacement:
    """How turns go in one phase, in which room is only taken: what has found no node will find none."""

    def __init__(self, state: State, limits: Limits, *, is_gang: bool) -> None:
        self.state, self.limits, self.is_gang = state, limits, is_gang
        self.unplaceable: set[Shape] = set()  # shapes that found no node
        self._choosers: dict[Shape, Callable[[], int] | None] = {}

    def succeeds(self, group: GroupState, pods: Sequence[PodRow]) -> bool:
        """Place what makes the group ready, or one more pod; where that cannot be done, nothing stays."""
        if len(pods) == 1 and self._succeeds_alone(group, pods[0]):
            return True
        missing_pods, tasks = group.missing() if self.is_gang else (0, NO_TASKS)
        if not tasks and len(pods) >= missing_pods:
            first = pods if len(pods) == 1 else pods[: missing_pods or 1]
            if self._are_equal(first):
                if self._succeeds_together(group, first):
                    return True
                if len(pods) == len(first):
                    return False
        return OneByOne(self, group).succeeds(pods, missing_pods, tasks)

    def _succeeds_alone(self, group: GroupState, pod: PodRow) -> bool:
        """Place the only pod of a turn in few steps; whatever is not as plain as that goes the usual way."""
        row, shape = group.row, pod.shape
        if row.min_task_member or row.min_member > group.placed + 1 or pod.nominated:
            return False
        try:
            choose = self._choosers[shape]
        except KeyError:
            choose = self._choosers[shape] = self._chooser(shape)
        needs = shape.needs
        if choose is None or shape in self.unplaceable or not self.limits.charge(group, needs):
            return False
        node = choose()
        if node == NOWHERE:
            self.limits.give_back(group, needs)
            return False
        self.state.room.change(node, needs, 1, 1)
        self.state.bound[pod.key] = node
        group.placed += 1
        group.more += needs
        return True

    def _chooser(self, shape: Shape) -> Callable[[], int] | None:
        """What finds nodes for a shape that nothing but room keeps from being placed."""
        places = self.state.places
        return places.chooser(shape) if not shape.claims and not places.never(shape) else None

    def _are_equal(self, pods: Sequence[PodRow]) -> bool:
        """Whether pods can be placed as one: of one shape, and no more than room decides where they go."""
        places = self.state.places
        if pods[0].shape.claims or (places.any_has_affinity and places.has_affinity(pods[0])):
            return False
        return len(pods) == 1 or len({pod.shape for pod in pods}) == 1

    def _succeeds_together(self, group: GroupState, pods: Sequence[PodRow]) -> bool:
        """Place equal pods: what their queue may use is asked and counted once."""
        state, shape, count = self.state, pods[0].shape, len(pods)
        needs, places, room = shape.needs, state.places, state.room
        together = needs if count == 1 else times(needs, count)
        if places.never(shape) or not self.limits.charge(group, together):
            return False
        nodes: dict[str, int] = {}
        if shape not in self.unplaceable:
            choose = places.chooser(shape)
            for pod in pods:
                node = places.best(pod, "now") if choose is None or pod.nominated else choose()
                if node == NOWHERE:
                    break
                room.change(node, needs, 1, 1)
                nodes[pod.key] = node
        if len(nodes) == count:
            state.bind_together(group, pods, nodes, together)
            return True
        self.limits.give_back(group, together)
        for node in nodes.values():
            room.change(node, needs, -1, -1)
        if not nodes:
            self.unplaceable.add(shape)
        return False


class OneByOne:
    """A turn in which pods differ, or mind where others are: each is asked about alone."""

    def __init__(self, placing: GroupPlacement, group: GroupState) -> None:
        self.placing, self.state, self.group = placing, placing.state, group
        self.failed: set[tuple[Shape, Labels]] = set()
        self.chosen: dict[str, PodRow] = {}
        self.of_task = Counter[str]()  # how many are chosen

    def succeeds(self, pods: Sequence[PodRow], missing_pods: int, tasks: dict[str, int]) -> bool:
        """Place enough of the pods, or none."""
        for order in self.state.places.tries(pods, max(missing_pods, 1), "now"):
            self.failed.clear()
            self.chosen.clear()
            self.of_task.clear()
            with self.state.trial() as trial:
                if self._finds_enough(order, missing_pods, tasks):
                    trial.keep()
            if trial.is_kept:
                wait_for_claims(self.state, list(self.chosen.values()))
                return True
        return False

    def _finds_enough(self, pods: Sequence[PodRow], missing_pods: int, tasks: dict[str, int]) -> bool:
        """Place pods of tasks that have a minimum first, then others, until the group is ready."""
        for pod in pods if tasks else ():
            if self.of_task[pod.task] < tasks.get(pod.task, 0):
                self._takes(pod)
        while self._might_find_more(pods, max(missing_pods, 1)):
            self.failed.clear()
        return (
            bool(self.chosen)
            and len(self.chosen) >= missing_pods
            and all(self.of_task[task] >= least for task, least in tasks.items())
        )

    def _might_find_more(self, pods: Sequence[PodRow], wanted: int) -> bool:
        """Place pods until they are enough; say whether some found no place before others had theirs.

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
        """Place one pod; what has failed once fails for all that are alike, until somebody else is placed."""
        shape, placing, places = pod.shape, self.placing, self.state.places
        alike = (shape, pod.labels if places.any_has_affinity else ())
        if alike in self.failed:
            return False
        if (
            not places.never(shape)
            and placing.limits.allow(self.group.leaf, shape.needs)
            and self._is_placed(pod)
        ):
            self.chosen[pod.key] = pod
            self.of_task[pod.task] += 1
            return True
        self.failed.add(alike)
        return False

    def _is_placed(self, pod: PodRow) -> bool:
        unplaceable, places = self.placing.unplaceable, self.state.places
        if pod.shape in unplaceable:
            return False
        node = places.best(pod, "now")
        if node != NOWHERE:
            self.state.bind(pod, node)
            return True
        if not self.chosen and not places.has_affinity(pod):
            unplaceable.add(pod.shape)
        return False


def wait_for_claims(state: State, pods: Sequence[PodRow]) -> None:
    """Where claims bind on first consumer, all pods of a turn keep their nodes and bind once these have."""
    claims = [key for pod in pods for key in state.places.claims.unbound(pod.shape)]
    for pod in pods if claims else ():
        state.promise(pod, state.unbind(pod))
    state.selections.update(dict.fromkeys(claims))
