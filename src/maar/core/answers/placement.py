"""Why a group that runs is where it is, and who could take its place.

Which rule a group runs by follows from what its queue uses now: within a guarantee, within what it deserves,
on what is lent to it, or on loan, where the group alone is more than its queue deserves. Who could take its
place is asked of the actions themselves: of every group that waits when reclaim or preempt begins, whether it
may take the unit that this group would give next.
"""

from collections.abc import Iterator
from typing import Final, Literal

from maar.core.cycle import decide
from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.units import Unit, next_unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.preempt import Preempt
from maar.core.cycle.reclaim import Reclaim
from maar.core.cycle.state import State
from maar.core.model.metadata import Record
from maar.core.model.reasons import Shortage
from maar.core.model.resources import roughly
from maar.core.reasons.node_tally import Clauses, tally
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.rows import Column, PodRow

Rule = Literal["guarantee", "deserved", "lent", "loan"]

FEW: Final = 3  # groups, or pods with their nodes, that are named
_SCORES: Final = ("nodeorder", "binpack")
_ACTIONS: Final[tuple[type[Attempt], ...]] = (Reclaim, Preempt)


class PlacedPod(Record, frozen=True):
    """A pod on its node, and how many nodes suit it; what excludes the others."""

    pod: str
    node: str
    since: float | None
    suitable: int
    nodes: int
    clauses: Clauses = ()


class Danger(Record, frozen=True):
    """Whether an action may evict the group, and for whom."""

    action: Literal["reclaim", "preempt"]
    is_possible: bool
    why: str  # the rule, with its numbers
    until: float | None = None  # protected by a minimum run time
    waiting: int = 0  # groups that wait now and may take its place
    groups: tuple[str, ...] = ()  # the first few of them


class Placement(Record, frozen=True):
    """Where the pods of a group are and by which rule, and who could take their place."""

    rule: Rule
    queue: str  # whose numbers decide
    shares: tuple[Shortage, ...]  # what that queue uses, and what it deserves or is guaranteed
    pods: tuple[PlacedPod, ...]  # the first few
    placed: int
    scores: tuple[str, ...]  # the plugins that chose among the nodes that suit a pod
    dangers: tuple[Danger, ...]
    unguarded: tuple[Shortage, ...] = ()  # on loan: what its queue has without it, below its guarantee


def placement_of(state: State, key: str, first: str = "") -> Placement | None:
    """How a group stands that has pods on nodes, before anything is decided; None where it has none.

    The pod that is to be named first is.
    """
    row = state.tables.groups.get(key)
    pods = [] if row is None else [one for one in row.pods.values() if one.node_name and one.is_live]
    if row is None or row.leaf is None or not pods:
        return None
    group = state.group(row)
    rule, queue, shares = _rule(state, group)
    listed = sorted(pods, key=lambda pod: (pod.key != first, state.pod_order(pod)))
    return Placement(
        rule=rule,
        queue=state.ledger.rows[queue].name,
        shares=shares,
        pods=tuple(_placed(state, pod) for pod in listed[:FEW]),
        placed=len(pods),
        scores=tuple(name for name in _SCORES if (name, "enableNodeOrder") in state.configuration.enabled),
        dangers=tuple(_danger(state, key, action) for action in _ACTIONS),
        unguarded=_below_guarantee(state, group) if rule == "loan" else (),
    )


def _placed(state: State, pod: PodRow) -> PlacedPod:
    found = tally(state.places, pod, 1)
    suitable = int(state.places.stack.mask(pod.shape).sum())
    excluded = {clause for _, clause in state.places.stack.obstacles(pod.shape)}
    return PlacedPod(
        pod=pod.key,
        node=pod.node_name,
        since=pod.started,
        suitable=suitable,
        nodes=found.nodes,
        clauses=tuple(one for one in found.clauses if one[1] in excluded),
    )


def _rule(state: State, group: GroupState) -> tuple[Rule, int, tuple[Shortage, ...]]:
    """By which rule a group runs, and the queue and the numbers that say so."""
    ledger, leaf = state.ledger, group.leaf
    rows = [row for row, amount in enumerate(group.used) if amount]
    search = VictimSearch(state, "reclaim")
    unit = next_unit(state, group, search.protection)
    used, guarantee, deserved = ledger.used, ledger.guarantee, ledger.deserved
    if unit is not None and search.loans.of(rows).has(unit):
        return "loan", leaf, _numbers(state, rows, group.used, deserved[leaf])
    reserved = [row for row in rows if guarantee[leaf][row]]
    if reserved and all(used[leaf][row] <= guarantee[leaf][row] for row in reserved):
        return "guarantee", leaf, _numbers(state, reserved, used[leaf], guarantee[leaf])
    for queue in ledger.paths[leaf]:
        over = [row for row in rows if used[queue][row] > deserved[queue][row]]
        if over:
            return "lent", queue, _numbers(state, over, used[queue], deserved[queue])
    return "deserved", leaf, _numbers(state, rows, used[leaf], deserved[leaf])


def _below_guarantee(state: State, group: GroupState) -> tuple[Shortage, ...]:
    """What the leaf of a group would use without it, where that is less than its guarantee."""
    ledger, leaf = state.ledger, group.leaf
    left = [used - own for used, own in zip(ledger.used[leaf], group.used, strict=False)]
    rows = [row for row, own in enumerate(group.used) if own and left[row] < ledger.guarantee[leaf][row]]
    return _numbers(state, rows, left, ledger.guarantee[leaf])


def _numbers(state: State, rows: list[int], used: Column, limit: Column) -> tuple[Shortage, ...]:
    names = state.tables.axis.names
    return tuple(Shortage(resource=names[row], wanted=0, used=used[row], limit=limit[row]) for row in rows)


def _danger(state: State, key: str, kind: type[Attempt]) -> Danger:
    action, configuration = kind.action, state.configuration
    if action not in configuration.actions:
        return Danger(action=action, is_possible=False, why=f"{action} is not configured")
    before_it = decide(state.tables, configuration, state.now, before=action)
    group, search = before_it.group(before_it.tables.groups[key]), VictimSearch(before_it, action)
    if why := _protected(search, group):
        return Danger(action=action, is_possible=False, why=why)
    unit = next_unit(before_it, group, search.protection)
    if unit is None:
        return Danger(
            action=action, is_possible=False, why="room is being freed for it, so that it is not evicted"
        )
    why = _why_not_reclaimed(before_it, group) if kind is Reclaim else ""
    if why:
        return Danger(action=action, is_possible=False, why=why)
    takers = [key for one in _takers(search, kind, unit) for key in one.keys]
    ends = search.min_runtimes.ends(group.row)
    young = [ends[pod.key] for pod in unit.pods if pod.key in ends]
    return Danger(
        action=action,
        is_possible=True,
        why=_reclaimed(before_it, group) if kind is Reclaim else _preempted(before_it, group),
        until=max(young, default=None) if not group.is_starving else None,
        waiting=len(takers),
        groups=tuple(takers[:FEW]),
    )


def _protected(search: VictimSearch, group: GroupState) -> str:
    """What protects pods of a group whatever happens; empty where nothing does."""
    pods = search.state.holders(group)
    marked = [pod.key for pod in pods if search.protection.covers(pod)]
    if marked and next_unit(search.state, group, search.protection) is None:
        return f"{', '.join(marked[:FEW])} may not be evicted (volcano.sh/preemptable, or a plugin)"
    if budgets := search.budgets.refusing(pods[:1]):
        return f"disruption budget {', '.join(budgets[:FEW])} allows no eviction"
    return ""


def _why_not_reclaimed(state: State, group: GroupState) -> str:
    ledger, leaf = state.ledger, group.leaf
    row = ledger.rows[leaf]
    if not row.queue.spec.reclaimable:
        return f"queue {row.name} is not reclaimable"
    if not _over(state, group):
        return f"queue {row.name} uses no more than it deserves"
    return ""


def _over(state: State, group: GroupState) -> list[Shortage]:
    """Of what the group uses, what its leaf uses beyond deserved."""
    used, deserved = state.ledger.used[group.leaf], state.ledger.deserved[group.leaf]
    rows = [row for row, amount in enumerate(group.used) if amount and used[row] > deserved[row]]
    return list(_numbers(state, rows, used, deserved))


def _reclaimed(state: State, group: GroupState) -> str:
    over = ", ".join(
        f"{one.resource} {roughly(one.resource, one.used)} of {roughly(one.resource, one.limit)}"
        for one in _over(state, group)
    )
    name = state.ledger.rows[group.leaf].name
    return f"queue {name} uses {over} deserved, and queues that stay within theirs may take that back"


def _preempted(state: State, group: GroupState) -> str:
    row, enabled = group.row, state.configuration.enabled
    rights = []
    if ("priority", "enablePreemptable") in enabled:
        rights.append(f"groups of namespace {row.namespace} with a priority above {row.priority}")
    if ("drf", "enablePreemptable") in enabled:
        rights.append(
            f"groups of other namespaces with a priority of at least {row.priority}, while namespace "
            f"{row.namespace} uses more per weight than theirs"
        )
    name = state.ledger.rows[group.leaf].name
    return f"in queue {name}, {'; '.join(rights)}" if rights else "no plugin proposes victims"


def _takers(search: VictimSearch, kind: type[Attempt], unit: Unit) -> Iterator[GroupState]:
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
            yield group


def _may_take(attempt: Attempt, unit: Unit) -> bool:
    namespace, leaf = unit.row.namespace, unit.leaf
    share = attempt.state.namespace_share(leaf, namespace)
    return (
        attempt.is_worthwhile()
        and leaf in attempt.leaves()
        and attempt.may_be_victim(unit.rank, namespace, share)
        and attempt.may_take(unit)
    )
