"""The nodes, counted by what keeps a pod off them, as kube-scheduler counts them for people."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from maar.core.cycle.inspect import NodeChooser
from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.model.resources import PODS, roughly
from maar.core.model.taints import KEEPS_OUT
from maar.core.tables.rows import NodeRow, PodRow

Clauses = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class NodeTally:
    """How many pods like one find room now, and how many nodes take none of them, and why."""

    nodes: int
    roomy: int  # nodes that suit a pod and have room for it
    taking: int  # those of them on which other pods allow it
    fits: int  # pods that find room, up to what was asked for
    clauses: Clauses


def tally(places: NodeChooser, pod: PodRow, count: int) -> NodeTally:
    """Count the nodes for so many pods like this one.

    A node that lacks several resources counts for each of them, as in kube-scheduler's summary.
    """
    found = Counter[str]()
    for excluded, clause in places.obstacles(pod.shape):
        found[clause] += int(excluded.sum())
    allowed, idle = places.suits(pod.shape), places.idle("now")
    has_room = allowed.copy()
    for resource, amount in pod.shape.needs:
        lacks = allowed & (idle[resource] < amount)
        has_room &= ~lacks
        found.update(_shortages(places, resource, lacks, idle))
    roomy = int(has_room.sum())
    for node in np.flatnonzero(has_room).tolist():
        if clause := places.why_not(pod, node):
            found[clause] += 1
            has_room[node] = False
    most = np.where(has_room, places.equal_pods_per_node(pod, idle, count), 0)
    ordered = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    clauses = tuple((number, clause) for clause, number in ordered)
    fits = min(count, int(most.sum()))
    return NodeTally(len(allowed), roomy, int(has_room.sum()), fits, clauses)


def closed_nodes(nodes: Iterable[NodeRow]) -> Clauses:
    """Count the nodes that no pod of the queues can use now, by the reason."""
    found = Counter[str]()
    for node in nodes:
        if not node.is_ready:
            found["are not ready"] += 1
        elif not node.is_schedulable:
            found["are unschedulable"] += 1
        elif not node.is_tolerated:
            taints = " and ".join(str(one) for one in node.taints if one.effect in KEEPS_OUT)
            found[f"have taints that no pod of the queues tolerates ({taints})"] += 1
    return tuple((number, clause) for clause, number in sorted(found.items()))


def _shortages(places: NodeChooser, resource: int, lacks: Flags, idle: Ints) -> dict[str, int]:
    """Count the nodes that lack a resource: those without any, and those with too little free."""
    name, allocatable = places.tables.axis.names[resource], places.allocatable[resource]
    none, some = lacks & (allocatable == 0), lacks & (allocatable > 0)
    found = {f"have no {name}": int(none.sum())} if none.any() else {}
    if some.any():
        node = int(np.where(some, idle[resource], np.iinfo(np.int64).min).argmax())
        free, of = (
            roughly(name, max(0, int(number))) for number in (idle[resource][node], allocatable[node])
        )
        clause = (
            "have all the pods they take" if name == PODS else f"lack {name} (at most {free} free of {of})"
        )
        found[clause] = int(some.sum())
    return found


@lru_cache(maxsize=1024)  # many wait for the same nodes
def summary(nodes: int, taking: int, clauses: Clauses) -> str:
    """A tally as text: 0/12 nodes: 8 lack memory (at most 3Gi free of 8Gi), 4 have taint gpu=only."""
    text = listed(clauses)
    return f"{taking}/{nodes} nodes: {text}" if text else f"{taking}/{nodes} nodes"


def listed(clauses: Clauses) -> str:
    """Clauses with their numbers."""
    return ", ".join(f"{number} {_of_one(clause) if number == 1 else clause}" for number, clause in clauses)


def _of_one(clause: str) -> str:
    verb, _, rest = clause.partition(" ")
    singular = {"are": "is", "have": "has", "do": "does", "lack": "lacks"}
    return f"{singular.get(verb, verb)} {rest}".replace("they take", "it takes")
