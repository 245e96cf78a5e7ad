"""What the attempts of one action share: pools of units, budgets, protection and usage; see `attempt.py`."""

from typing import Literal

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.leaf_usage import LeafUsage
from maar.core.cycle.protection import Protection
from maar.core.cycle.state import State
from maar.core.cycle.unit_pool import UnitPool


class VictimSearch:
    """The victims there are for an action; the pool of a leaf is made when it is first needed."""

    def __init__(self, state: State, action: Literal["reclaim", "preempt"]) -> None:
        self.state, self.budgets = state, state.budgets
        self.protection = Protection(state.tables, state.configuration, action)
        self.leaf_usage = LeafUsage(state)
        self._pools: dict[int, UnitPool] = {}

    def pool(self, leaf: int) -> UnitPool:
        """The units of a leaf."""
        if leaf not in self._pools:
            self._pools[leaf] = UnitPool(self.state, leaf, self.protection)
        return self._pools[leaf]

    def refresh(self, group: GroupState) -> None:
        """What a group holds has changed."""
        if group.leaf in self._pools:
            self._pools[group.leaf].refresh(group)
