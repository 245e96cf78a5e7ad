"""What other packages may ask of a decision, which `maar.core.cycle` makes.

- `Inspection` is what `decide` returns: the queues, the nodes and the groups as the decision left
  them, what it decided (`decided`), and what is in the way of a group.
- `for_next_turn` gives the pods that a group has to place next.
- `TurnOrders` are the orders in which groups take their turns; `Turns` is one of them.
- `eviction_risk` says whether an action may evict a group, and for whom.

The other names are types, for annotations.
"""

from maar.core.cycle.eviction_risk import EvictionRisk, eviction_risk
from maar.core.cycle.group_class import Block, GroupClass
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.holding.held_room import Hold
from maar.core.cycle.inspection import Inspection
from maar.core.cycle.orders import OrderKind, TurnOrders, Turns
from maar.core.cycle.placing.node_chooser import NodeChooser
from maar.core.cycle.placing.turn_pods import for_next_turn
from maar.core.cycle.queue_ledger import QueueLedger
from maar.core.cycle.state import Eviction

__all__ = [
    "Block",
    "Eviction",
    "EvictionRisk",
    "GroupClass",
    "GroupState",
    "Hold",
    "Inspection",
    "NodeChooser",
    "OrderKind",
    "QueueLedger",
    "TurnOrders",
    "Turns",
    "eviction_risk",
    "for_next_turn",
]
