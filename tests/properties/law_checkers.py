"""Every law of the cycle and of eviction (docs/specification/laws.md) as a checker, by its id.

A checker takes a snapshot with its plan, or a history of them, and returns breaches, in sentences.
It knows nothing of the engine: all it uses is read from the objects by the definitions of
docs/specification. Rules that have no id have a name here.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from properties.cycle_histories import (
    Cycle,
    History,
    c7_no_group_starves,
    e6_evictions_end,
    e6_no_groups_go_on_trading_places,
    e6_no_groups_trade_places,
    e6_reclaim_is_short,
    e7_no_entitled_group_waits,
    f11_namespaces_are_level,
)
from properties.cycle_outcomes import Outcome
from properties.eviction_checkers import (
    cleanup_takes_only_who_starves,
    e1_the_beneficiary_starts,
    e2_victims_are_minimal_units,
    e3_guarantees_hold_and_the_worse_off_side_rises,
    e4_the_beneficiary_stays_within_deserved,
    e5_vetoes_hold,
)
from properties.placement_checkers import (
    allocate_leaves_no_turn,
    c1_no_node_is_overfull,
    c2_gangs_start_whole,
    c3_queues_stay_within_real_capability,
)
from properties.reason_checkers import c6_every_waiting_group_has_a_true_reason
from properties.slow_gate import SlowGate
from properties.standing_checkers import c8_namespaces_stand_as_they_say, queues_stand_as_they_say

__all__ = [
    "OF_HISTORIES",
    "OF_PLANS",
    "c4_the_same_plan",
    "e6_reclaim_is_short",
    "e7_no_entitled_group_waits",
    "f11_namespaces_are_level",
    "kept_throughout",
]


def c4_the_same_plan(cycle: Cycle, again: Cycle) -> Iterator[str]:
    """C4: the same snapshot gives the same plan, byte for byte."""
    if json.dumps(cycle) != json.dumps(again):
        yield f"the plan was {json.dumps(cycle)}, and then {json.dumps(again)}"


def enqueue_lets_in_who_has_room(outcome: Outcome) -> Iterator[str]:
    """Enqueue: whoever ceilings, deserved or a guarantee have room for is admitted."""
    for group in SlowGate(outcome).refused_with_room:
        yield f"group {group} has room and is not admitted"


OF_PLANS: Final[dict[str, Callable[[Outcome], Iterable[str]]]] = {
    "C1": c1_no_node_is_overfull,
    "C2": c2_gangs_start_whole,
    "C3": c3_queues_stay_within_real_capability,
    "C6": c6_every_waiting_group_has_a_true_reason,
    "C8": c8_namespaces_stand_as_they_say,
    "figures": queues_stand_as_they_say,
    "enqueue": enqueue_lets_in_who_has_room,
    "allocate": allocate_leaves_no_turn,
    "E1": e1_the_beneficiary_starts,
    "E2": e2_victims_are_minimal_units,
    "E3": e3_guarantees_hold_and_the_worse_off_side_rises,
    "E4": e4_the_beneficiary_stays_within_deserved,
    "E5": e5_vetoes_hold,
    "cleanup": cleanup_takes_only_who_starves,
}
OF_HISTORIES: Final[dict[str, Callable[[History], Iterable[str]]]] = {
    "C7": c7_no_group_starves,
    "E6": e6_evictions_end,
    "E6 trades": e6_no_groups_trade_places,
    "E6 lasting trades": e6_no_groups_go_on_trading_places,
}
_THROUGHOUT: Final = ("C1", "C2", "C3", "E1", "E2", "E3", "E4", "E5")
_LOOKED_AT: Final = slice(1, 4)  # the first cycle has its own tests, and later ones are quiet


def kept_throughout(history: History) -> Iterator[str]:
    """C1 to C3 and E1 to E5 in later cycles, where promises and victims of earlier ones count."""
    for number, outcome in enumerate(list(history.outcomes)[_LOOKED_AT], start=1):
        for law in _THROUGHOUT:
            yield from (f"{law} in cycle {number}: {breach}" for breach in OF_PLANS[law](outcome))
