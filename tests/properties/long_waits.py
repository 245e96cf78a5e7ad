"""Random clusters with the plugin `sla`: groups have waited, pods are expected to end, and room is held."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from functools import cached_property
from typing import Final

from maar.core.model.durations import seconds
from maar.core.model.pod_group import SLA_ANNOTATIONS, PodGroup
from maar.core.model.run_time import EXPECTED_RUN_TIME
from properties.cluster_manifests import NOW, ago
from properties.cluster_reading import Moment, NodeChooser
from properties.cluster_recipe import Recipe
from properties.clusters import Cluster, grow
from properties.cycle_outcomes import Outcome, turn
from properties.law_checkers import OF_PLANS

LONGEST_S: Final = 900  # that a group has waited, and that a pod runs


def waited(recipe: Recipe) -> Cluster:
    """A random cluster in which groups were admitted some time ago; most pods are expected to end."""
    rng, documents = recipe.random("long waits"), deepcopy(list(grow(recipe).documents))
    for document in sorted(documents, key=lambda one: (one["kind"], one["metadata"]["name"])):
        metadata, status = document["metadata"], document.setdefault("status", {})
        if document["kind"] == "PodGroup":
            metadata.setdefault("annotations", {})[SLA_ANNOTATIONS[0]] = rng.choice(("0s", "1m", "10m"))
            admitted = rng.randrange(LONGEST_S)
            times = {"Admitted": admitted}
            if rng.random() < 0.2:
                times["HoldsRoom"] = rng.randrange(admitted + 1)
            status["conditions"] = [
                *status.get("conditions", []),
                *[
                    {"type": name, "status": "True", "lastTransitionTime": ago(time)}
                    for name, time in times.items()
                ],
            ]
        elif document["kind"] == "Pod":
            if rng.random() < 0.8:
                stated = f"{rng.randrange(1, LONGEST_S)}s"
                metadata.setdefault("annotations", {})[EXPECTED_RUN_TIME] = stated
            if "nodeName" in document["spec"]:
                status["startTime"] = ago(rng.randrange(LONGEST_S))
    return Cluster(documents)


class WithHeldRoom(Outcome):
    """A plan in which those who hold room count as placed there, as others see them."""

    @cached_property
    def bound(self) -> Moment:
        """After allocate and backfill, the room of holders taken by them."""
        moment = Outcome(self.reading, self.cycle).bound
        return moment.with_places(held_places(moment, self))


def held_places(moment: Moment, outcome: Outcome) -> NodeChooser:
    """Where pods of holders are to start."""
    places = dict[str, str]()
    for group, held in outcome.cycle.get("heldRoom", {}).items():
        nodes = [name for name, count in held["nodes"].items() for _ in range(count)]
        pods = turn(moment, group, moment.waiting(group))
        places.update(zip([pod.key for pod in pods], nodes, strict=False))
    return places


def breaches_with_held_room(law: str, outcome: Outcome) -> Iterator[str]:
    """A law of plans, where a group's room may be held for a part of a cycle only.

    A holder for whom others are evicted, or that starts, holds its room no longer, and the plan does not say
    when. So a breach is one whether held room counts as used by the holder or not. What others find too
    little, in nodes and in what is reserved above them, is not all in the plan: that victims are minimal and
    that no turn is left is asked of plans in which nobody may have held room.
    """
    found = list(OF_PLANS[law](outcome))
    if found and may_have_held(outcome):
        found = [one for one in found if not any(part in one for part in ("it fits without", "could start"))]
    if found and any(OF_PLANS[law](WithHeldRoom(outcome.reading, outcome.cycle))):
        yield from found


def may_have_held(outcome: Outcome) -> bool:
    """Whether room is held, or was for a group that starts or for whom others are evicted."""
    served = {outcome.reading.group_of[pod] for pod in (*outcome.binds, *outcome.promises)}
    return "heldRoom" in outcome.cycle or any(has_waited(outcome.reading.groups[one]) for one in served)


def has_waited(group: PodGroup) -> bool:
    """Whether a group has waited for as long as it may."""
    stated = group.metadata.annotations.get(SLA_ANNOTATIONS[0])
    times = [one.last_transition_time for one in group.status.conditions if one.type == "Admitted"]
    since = times[0] if times else None
    return bool(stated) and since is not None and NOW - since >= timedelta(seconds=seconds(stated or ""))
