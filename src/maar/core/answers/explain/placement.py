"""Why a group that runs is where it is, and who could take its place.

Which rule a group runs by follows from what its queue uses now: within a guarantee, within what it
deserves, on what is lent to it, or on loan, where the group alone is more than its queue deserves.
Who could take its place is asked of the actions themselves: of every group that waits when reclaim
or preempt begins, whether it may take the unit that this group would give next.
"""

from typing import Final, Literal

from maar.core.cycle.inspect import EvictionRisk, GroupState, Inspection, eviction_risk
from maar.core.model.metadata import Record
from maar.core.model.reasons import Shortage
from maar.core.model.resources import roughly
from maar.core.reasons.node_tally import Clauses, tally
from maar.core.tables.rows import Column, PodRow

Rule = Literal["guarantee", "deserved", "lent", "loan"]

FEW: Final = 3  # groups, or pods with their nodes, that are named
_SCORES: Final = ("nodeorder", "binpack")
_ACTIONS: Final[tuple[Literal["reclaim", "preempt"], ...]] = ("reclaim", "preempt")


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


def placement_of(inspection: Inspection, key: str, first: str = "") -> Placement | None:
    """How a group stands that has pods on nodes, before anything is decided; None where it has none.

    The pod that is to be named first is.
    """
    row = inspection.tables.groups.get(key)
    pods = [] if row is None else [one for one in row.pods.values() if one.node_name and one.is_live]
    if row is None or row.leaf is None or not pods:
        return None
    group = inspection.group(row)
    rule, queue, shares = _rule(inspection, group)
    enabled = inspection.configuration.enabled
    listed = sorted(pods, key=lambda pod: (pod.key != first, inspection.pod_order(pod)))
    return Placement(
        rule=rule,
        queue=inspection.queues.rows[queue].name,
        shares=shares,
        pods=tuple(_placed(inspection, pod) for pod in listed[:FEW]),
        placed=len(pods),
        scores=tuple(name for name in _SCORES if (name, "enableNodeOrder") in enabled),
        dangers=tuple(_danger(inspection, key, action) for action in _ACTIONS),
        unguarded=_below_guarantee(inspection, group) if rule == "loan" else (),
    )


def _placed(inspection: Inspection, pod: PodRow) -> PlacedPod:
    found = tally(inspection.nodes, pod, 1)
    suitable = int(inspection.nodes.suits(pod.shape).sum())
    excluded = {clause for _, clause in inspection.nodes.obstacles(pod.shape)}
    return PlacedPod(
        pod=pod.key,
        node=pod.node_name,
        since=pod.started,
        suitable=suitable,
        nodes=found.nodes,
        clauses=tuple(one for one in found.clauses if one[1] in excluded),
    )


def _rule(inspection: Inspection, group: GroupState) -> tuple[Rule, int, tuple[Shortage, ...]]:
    """By which rule a group runs, and the queue and the numbers that say so."""
    ledger, leaf = inspection.queues, group.leaf
    rows = [row for row, amount in enumerate(group.used) if amount]
    used, guarantee, deserved = ledger.used, ledger.guarantee, ledger.deserved
    if inspection.is_on_loan(group):
        return "loan", leaf, _numbers(inspection, rows, group.used, deserved[leaf])
    reserved = [row for row in rows if guarantee[leaf][row]]
    if reserved and all(used[leaf][row] <= guarantee[leaf][row] for row in reserved):
        return "guarantee", leaf, _numbers(inspection, reserved, used[leaf], guarantee[leaf])
    for queue in ledger.paths[leaf]:
        over = [row for row in rows if used[queue][row] > deserved[queue][row]]
        if over:
            return "lent", queue, _numbers(inspection, over, used[queue], deserved[queue])
    return "deserved", leaf, _numbers(inspection, rows, used[leaf], deserved[leaf])


def _below_guarantee(inspection: Inspection, group: GroupState) -> tuple[Shortage, ...]:
    """What the leaf of a group would use without it, where that is less than its guarantee."""
    ledger, leaf = inspection.queues, group.leaf
    left = [used - own for used, own in zip(ledger.used[leaf], group.used, strict=False)]
    rows = [row for row, own in enumerate(group.used) if own and left[row] < ledger.guarantee[leaf][row]]
    return _numbers(inspection, rows, left, ledger.guarantee[leaf])


def _numbers(inspection: Inspection, rows: list[int], used: Column, limit: Column) -> tuple[Shortage, ...]:
    names = inspection.tables.axis.names
    return tuple(Shortage(resource=names[row], wanted=0, used=used[row], limit=limit[row]) for row in rows)


def _danger(inspection: Inspection, key: str, action: Literal["reclaim", "preempt"]) -> Danger:
    tables, configuration = inspection.tables, inspection.configuration
    if action not in configuration.actions:
        return Danger(action=action, is_possible=False, why=f"{action} is not configured")
    risk = eviction_risk(tables, configuration, inspection.now, key, action)
    found, group = risk.inspection, risk.group
    why = _protected(risk) or (_why_not_reclaimed(found, group) if action == "reclaim" else "")
    if why:
        return Danger(action=action, is_possible=False, why=why)
    takers = tuple(risk.takers)
    return Danger(
        action=action,
        is_possible=True,
        why=_reclaimed(found, group) if action == "reclaim" else _preempted(found, group),
        until=risk.until,
        waiting=len(takers),
        groups=takers[:FEW],
    )


def _protected(risk: EvictionRisk) -> str:
    """What protects pods of a group whatever happens; empty where nothing does."""
    names = ", ".join(risk.protected_by[:FEW])
    match risk.protected:
        case "preemptable":
            return f"{names} may not be evicted (volcano.sh/preemptable, or a plugin)"
        case "budget":
            return f"disruption budget {names} allows no eviction"
        case "room is freed for it":
            return "room is being freed for it, so that it is not evicted"
        case None:
            return ""


def _why_not_reclaimed(inspection: Inspection, group: GroupState) -> str:
    ledger, leaf = inspection.queues, group.leaf
    row = ledger.rows[leaf]
    if not row.queue.spec.reclaimable:
        return f"queue {row.name} is not reclaimable"
    if not _over(inspection, group):
        return f"queue {row.name} uses no more than it deserves"
    return ""


def _over(inspection: Inspection, group: GroupState) -> list[Shortage]:
    """Of what the group uses, what its leaf uses beyond deserved."""
    used, deserved = inspection.queues.used[group.leaf], inspection.queues.deserved[group.leaf]
    rows = [row for row, amount in enumerate(group.used) if amount and used[row] > deserved[row]]
    return list(_numbers(inspection, rows, used, deserved))


def _reclaimed(inspection: Inspection, group: GroupState) -> str:
    over = ", ".join(
        f"{one.resource} {roughly(one.resource, one.used)} of {roughly(one.resource, one.limit)}"
        for one in _over(inspection, group)
    )
    name = inspection.queues.rows[group.leaf].name
    return f"queue {name} uses {over} deserved, and queues that stay within theirs may take that back"


def _preempted(inspection: Inspection, group: GroupState) -> str:
    row, enabled = group.row, inspection.configuration.enabled
    rights = []
    if ("priority", "enablePreemptable") in enabled:
        rights.append(f"groups of namespace {row.namespace} with a priority above {row.priority}")
    if ("drf", "enablePreemptable") in enabled:
        rights.append(
            f"groups of other namespaces with a priority of at least {row.priority}, while namespace "
            f"{row.namespace} uses more per weight than theirs"
        )
    name = inspection.queues.rows[group.leaf].name
    return f"in queue {name}, {'; '.join(rights)}" if rights else "no plugin proposes victims"
