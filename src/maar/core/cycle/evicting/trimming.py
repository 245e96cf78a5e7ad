"""Dropping the units of a search that are not needed; see `attempt.py`.

The problem. Units were taken until the beneficiary fitted, and some of them are not needed, because
others gave the room. From the one taken last, the most important, to the first, each is put back if
the pods fit without it and those dropped before.

How it works. All units are gone when it begins. In one trial each in turn is put back and, where it
is needed, evicted again. So a test costs the steps of one unit, and not of all of them, and amounts
decide most tests (`promises.py`): where the pods do not use what the unit frees, they stay where
they are; where too little is left, no placement exists. Only in between the pods are placed again.
The result, and the nodes that are found, are those of placing all pods for every unit; a test
compares them.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from maar.core.cycle.evicting.promises import FEW, Promises
from maar.core.cycle.evicting.units import Unit, is_gang
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State


class Trimming:
    """The trimming of one set of units."""

    def __init__(self, promises: Promises, allows: Callable[[], bool], taken: Sequence[Unit]) -> None:
        """With the nodes that were found when all of them were gone."""
        self.state, self.promises, self.allows, self.taken = promises.state, promises, allows, taken
        self._units = Counter(unit.row.key for unit in taken)  # how many of each group are gone

    def needed(self) -> list[Unit]:
        """The units that are left when all that are not needed are dropped, in their order; all are gone."""
        state, needed, tested = self.state, list[Unit](), list(reversed(self.taken))
        if self.promises.are_alike:  # the last was taken because those before were not enough
            needed.append(tested.pop(0))
        if not tested:
            return needed
        with state.trial():
            if len(tested) > FEW:
                self.promises.count_room()
            groups = {unit.row.key: unit.group for unit in self.taken}
            self._crippled = {key for key, group in groups.items() if is_crippled(state, group)}
            needed += [unit for unit in tested if not self._try_drop(unit)]
        return needed[::-1]

    def _try_drop(self, unit: Unit) -> bool:
        """Put a unit back, and take it again where it is needed."""
        state = self.state
        nodes = {pod.counted.node.index for pod in unit.pods if pod.counted is not None}
        for pod in unit.pods:
            state.put_back(pod)
        if self.allows() and self.promises.remain_possible(nodes) and self._leaves_gangs_whole(unit.group):
            return True
        for pod in unit.pods:
            state.evict(pod)
        return False

    def _leaves_gangs_whole(self, group: GroupState) -> bool:
        """Whether no gang is left with too few pods, now that a unit of this one is back."""
        key = group.row.key
        if self._crippled - {key}:
            return False
        if self._units[key] > 1 and is_crippled(self.state, group):
            return False
        self._units[key] -= 1
        self._crippled.clear()
        return True


def is_crippled(state: State, group: GroupState) -> bool:
    """Whether pods of a group are left, and too few of them."""
    left = [*state.holders(group), *state.newly_bound(group)]
    return bool(left) and not is_gang(group, left)
