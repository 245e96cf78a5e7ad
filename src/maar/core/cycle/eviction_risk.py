"""Whether an action may evict a group that runs, and for whom, asked of the action itself.

Of every group that waits when reclaim or preempt begins it is asked whether it may take the unit
that the group would give next.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from maar.core.cycle.decision import run_actions
from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.units import Unit, next_unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.inspection import Inspection
from maar.core.cycle.preempt import Preempt
from maar.core.cycle.reclaim import Reclaim
from maar.core.policy.configuration import Configuration
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.tables import Tables

_Protected = Literal["preemptable", "budget", "room is freed for it"]

_ATTEMPTS: Final[dict[Literal["reclaim", "preempt"], type[Attempt]]] = {
    "reclaim": Reclaim,
    "preempt": Preempt,
}


class EvictionRisk(NamedTuple):
    """What an action finds that looks at a group as a victim."""

    inspection: Inspection  # as the action begins
    group: GroupState
    protected: _Protected | None = None  # whatever waits
    protected_by: tuple[str, ...] = ()  # the pods, or the budgets, that say so
    until: float | None = None  # it is protected by a minimum run time
    takers: Iterator[str] = iter(())  # groups that wait and may take its next unit; each is asked when read


def eviction_risk(
    tables: Tables, configuration: Configuration, now: float, key: str, action: Literal["reclaim", "preempt"]
) -> EvictionRisk:
    """Whether an action may evict a group, on settled tables."""
    state = run_actions(tables, configuration, now, before=action)
    search, group = VictimSearch(state, action), state.group(tables.groups[key])
    found = EvictionRisk(Inspection(state), group)
    pods, unit = state.holders(group), next_unit(state, group, search.protection)
    marked = tuple(pod.key for pod in pods if search.protection.covers(pod))
    if marked and unit is None:
        return found._replace(protected="preemptable", protected_by=marked)
    if budgets := search.budgets.refusing(pods[:1]):
        return found._replace(protected="budget", protected_by=tuple(budgets))
    if unit is None:
        return found._replace(protected="room is freed for it")
    ends = search.min_runtimes.ends(group.row)
    young = [ends[pod.key] for pod in unit.pods if pod.key in ends]
    until = max(young, default=None) if not group.is_starving else None
    return found._replace(until=until, takers=_takers(search, _ATTEMPTS[action], unit))


def _takers(search: VictimSearch, kind: type[Attempt], unit: Unit) -> Iterator[str]:
    """The groups that wait and may take a unit; those that are alike are asked once."""
    known: dict[object, bool] = {}
    for group in search.state.waiting:
        if not group.pending or group.phase not in ADMITTED_PHASES or group.row is unit.row:
            continue
        attempt = kind(search, group)
        key = attempt.equivalence_key() if attempt.is_like_others() else group.row.key
        if key not in known:
            known[key] = _may_take(attempt, unit)
        if known[key]:
            yield from group.keys


def _may_take(attempt: Attempt, unit: Unit) -> bool:
    namespace, leaf = unit.row.namespace, unit.leaf
    share = attempt.state.namespace_share(leaf, namespace)
    return (
        attempt.is_worthwhile()
        and leaf in attempt.leaves()
        and attempt.may_be_victim(unit.rank, namespace, share)
        and attempt.may_take(unit)
    )
