"""Random clusters in which room is held, and why what their reasons say of it is true (law C6)."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from maar.core.model.pod_group import SLA_ANNOTATIONS
from maar.core.model.run_time import EXPECTED_RUN_TIME
from properties.cluster_manifests import ago
from properties.cluster_recipe import Recipe
from properties.clusters import Cluster, grow
from properties.cycle_outcomes import Outcome, fits_together, turn
from properties.definitions import Amounts, total

_RUN_TIMES_S: Final = (60, 300, 300, 3600)


def waiting_long(recipe: Recipe) -> Cluster:
    """A random cluster whose groups have waited long, and of many pods it is known when they end."""
    rng, documents = recipe.random("held room"), deepcopy(list(grow(recipe).documents))
    for document in sorted(documents, key=lambda one: (one["kind"], one["metadata"]["name"])):
        notes = document["metadata"].setdefault("annotations", {})
        status = document.setdefault("status", {})
        match document["kind"]:
            case "Pod" if rng.random() < 0.8:
                notes[EXPECTED_RUN_TIME] = f"{rng.choice(_RUN_TIMES_S)}s"
                if "nodeName" in document["spec"]:
                    status["startTime"] = ago(rng.randrange(400))
            case "PodGroup" if status.get("phase") in (None, "Pending", "Inqueue"):
                notes[SLA_ANNOTATIONS[rng.randrange(2)]] = "1m"
                status["phase"] = "Inqueue"
                conditions = status.setdefault("conditions", [])
                conditions.append(_condition("Admitted", rng.choice((30, 90, 600))))
                if rng.random() < 0.3:
                    conditions.append(_condition("HoldsRoom", rng.randrange(60)))
    return Cluster(documents)


def _condition(kind: str, seconds: int) -> dict[str, str]:
    return {"type": kind, "status": "True", "lastTransitionTime": ago(seconds)}


def held_by(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """The room that the plan holds: by group, when it starts and how many of its pods go where."""
    found: dict[str, dict[str, Any]] = outcome.cycle.get("heldRoom", {})
    return found


def held_in(outcome: Outcome, queue: str) -> Amounts:
    """What is held for groups of a queue, or of queues below it: it counts as used there."""
    reading = outcome.reading
    return total(
        pod.request
        for group in held_by(outcome)
        if queue in reading.path[reading.groups[group].spec.queue]
        for pod in next_turn(outcome, group)
    )


def next_turn(outcome: Outcome, group: str) -> list[Any]:
    """The pods that a group starts with."""
    return turn(outcome.bound, group, outcome.bound.waiting(group))


HELD: Final = re.compile(r"held for (?P<groups>[^;]+?)(?: until (?P<until>\S+?))?; ")
PLANNED: Final = re.compile(
    r"held for it on (?:node|(?P<count>\d+) nodes) \(?(?P<names>[^;)]+)\)?; it starts (?:by (?P<start>\S+), )?"
    r"when (?P<pods>\d+) pods? there ha(?:s|ve) ended(?P<unknown>, and it is not known when)?"
)


def room_is_held(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """Those named hold room, until the time that is said, and there is room for the group besides."""
    found, holders = HELD.search(message), held_by(outcome)
    if found is None:
        yield "it does not say for whom"
        return
    named = found["groups"].split(", ")
    if group in holders or set(named) != set(holders):
        yield f"{sorted(holders)} hold room"
    starts = [one["plannedStart"] for one in holders.values()]
    if found["until"] != (None if None in starts else max(starts, default=None)):
        yield f"they start at {starts}"
    pods = next_turn(outcome, group)
    if len(pods) == 1 and fits_together(outcome.bound, pods, outcome.physically) is None:
        yield "there is no room for it"


def start_is_planned(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The plan holds room for the pods of its next turn on the nodes that are named, until that time."""
    found, hold = PLANNED.search(message), held_by(outcome).get(group)
    if found is None or hold is None:
        yield "it does not say where and when, or nothing is held for it"
        return
    nodes, names = hold["nodes"], found["names"].removesuffix(", ...").split(", ")
    if int(found["count"] or 1) != len(nodes) or not set(names) <= set(nodes):
        yield f"the nodes are {nodes}"
    usable = {one.metadata.name for one in outcome.reading.usable_nodes}
    if not usable >= set(nodes):
        yield f"usable nodes are {usable}"
    if found["start"] != hold["plannedStart"] or bool(found["unknown"]) == bool(hold["plannedStart"]):
        yield f"it starts at {hold['plannedStart']}"
    if sum(nodes.values()) != len(next_turn(outcome, group)):
        yield f"it starts with {len(next_turn(outcome, group))} pods"
    there = [pod for pod, node in outcome.physically.places.items() if node in nodes]
    if int(found["pods"]) > len(there):
        yield f"there are {len(there)} pods"
