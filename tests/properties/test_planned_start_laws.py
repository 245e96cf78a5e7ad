"""Law P3 in virtual time: held room is given to nobody who ends too late, and the holder starts in time."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from hypothesis import example, given, settings
from hypothesis import seed as seeded

from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.simulation.virtual_time import Simulation
from properties.how_many import cases
from properties.truthful_clusters import START, Recipe, recipes, run_time

CLUSTERS: Final = int(os.environ.get("MAAR_PLANNED_STARTS", cases(150)))  # 10000 take some twenty minutes
# The nodes of the best scores leave no room for the last pod of a gang that fits on them.
TIGHT: Final = Recipe(
    1032, 4, 3, 15, depth=1, has_inner_queue=True, has_mixed_gangs=True, has_parts_of_seconds=False
)
# One that holds room finds another start once the one before it runs, on nodes that a third one holds.
DISPLACED: Final = Recipe(
    215302, 2, 3, 16, depth=3, has_inner_queue=False, has_mixed_gangs=True, has_parts_of_seconds=True
)
# Two end at the same moment, and the sums of their starts and run times differ in the last digit.
SAME_MOMENT: Final = Recipe(
    4901139, 4, 3, 15, depth=2, has_inner_queue=False, has_mixed_gangs=False, has_parts_of_seconds=True
)
_CLOSE_S: Final = 1e-5  # objects store microseconds


@dataclass(eq=False)
class Watch:
    """What was planned for groups, and what is not as it was planned."""

    simulation: Simulation
    planned: dict[str, float | None] = field(default_factory=dict)  # of groups that hold room
    seen: Counter[str] = field(default_factory=Counter)

    def breaches(self) -> Iterator[str]:
        """Follow the simulation to its end."""
        for now, plan in self.simulation.run():
            for breach in (*self._of_times(now, plan), *self._of_room(plan)):
                yield f"after {now - START:g} s: {breach}"

    def _of_times(self, now: float, plan: Plan) -> Iterator[str]:
        """Nobody starts later than was planned, no plan moves later, nobody stops holding room."""
        holds = {one.pod_group: one.start for one in plan.held_room}
        started = {self.simulation.engine.tables.pods[one.pod].group_key for one in plan.binds}
        for group, start in list(self.planned.items()):
            if start is not None and now > start + _CLOSE_S:
                yield f"{group} was to start by {start - START:g} s"
            if group in started:
                del self.planned[group]
                self.seen["started"] += 1
                self.seen["started early"] += start is None or now < start - _CLOSE_S
            elif group not in holds:
                yield f"{group} holds room no longer and has not started: {plan.pod_groups[group].message}"
                del self.planned[group]
        for group, again in holds.items():
            before = self.planned.get(group)
            if before is not None and (again is None or again > before + _CLOSE_S):
                yield f"the planned start of {group} moves from {before - START:g} s to {again} ({START:g})"
            self.seen["holds"] += group not in self.planned
            self.seen["not known"] += again is None
            self.planned[group] = again
        self.seen["at the same time"] += len(holds) > 1

    def _of_room(self, plan: Plan) -> Iterator[str]:
        """At its planned start a group has room beside all that run on, on the nodes that it holds."""
        for number, hold in enumerate(plan.held_room):
            if hold.start is None:
                continue
            room = {
                name: self._idle(name, hold.start) - self._held_before(plan, number, name)
                for name in hold.nodes
            }
            wanted = sorted([_cpu(pod) for pod in self._pods(hold.pod_group)], reverse=True)
            if not _fit(wanted, [(room[name], count) for name, count in hold.nodes.items()]):
                at = hold.start - START
                yield f"{hold.pod_group} needs {wanted} on {hold.nodes} and finds {room} at {at:g} s"

    def _idle(self, node: str, then: float) -> int:
        """What is free of a node once all have ended that are expected to."""
        row = self.simulation.engine.tables.nodes[node]
        stay = 0
        for key in row.pods:
            pod = self.simulation.cluster.pods[key]
            assert pod.status.start_time is not None
            if pod.status.start_time.timestamp() + run_time(pod) > then + _CLOSE_S:
                self.seen["stays"] += 1
                stay += _cpu(pod)
            else:
                self.seen["ends before"] += 1
        cpu = self.simulation.engine.tables.axis.names.index("cpu")
        return row.allocatable[cpu] - stay

    def _held_before(self, plan: Plan, number: int, node: str) -> int:
        """What groups that held room before still use of a node by then, at least."""
        amounts, then = 0, plan.held_room[number].start
        for hold in plan.held_room[:number]:
            lasts = {run_time(pod) for pod in self._pods(hold.pod_group)}
            if hold.start is not None and then is not None and hold.start + max(lasts) <= then + _CLOSE_S:
                self.seen["ends after it has held room"] += 1
                continue
            cpu = {_cpu(pod) for pod in self._pods(hold.pod_group)}
            amounts += min(cpu) * hold.nodes.get(node, 0)
        return amounts

    def _pods(self, group: str) -> list[Pod]:
        pods = self.simulation.engine.tables.groups[group].pods
        return [self.simulation.cluster.pods[key] for key in pods]


def _cpu(pod: Pod) -> int:
    return pod.spec.containers[0].resources.requests["cpu"]


def _fit(wanted: Sequence[int], room: Sequence[tuple[int, int]]) -> bool:
    """Whether pods can be shared out to nodes with so much room for so many of them."""
    if not wanted:
        return True
    first, *others = wanted
    for place, (idle, count) in enumerate(room):
        if count and idle >= first:
            after = [*room[:place], (idle - first, count - 1), *room[place + 1 :]]
            if _fit(others, after):
                return True
    return False


def test_p3_a_planned_start_never_moves_later_and_the_group_starts_by_then(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    seen = Counter[str]()

    @seeded(seed)
    @settings(max_examples=CLUSTERS)
    @given(recipe=recipes())
    @example(recipe=TIGHT)
    @example(recipe=DISPLACED)
    @example(recipe=SAME_MOMENT)
    def holds(recipe: Recipe) -> None:
        watch = Watch(recipe.simulation())
        breaches = list(watch.breaches())
        assert not breaches, "\n".join(breaches)
        seen.update(watch.seen)
        seen["clusters"] += bool(watch.seen["holds"])

    record_property("seed", seed)
    holds()
    record_property("counts", str(seen))
    assert seen["clusters"] >= CLUSTERS // 6, f"too few clusters in which room is held: {seen}"
    assert min(seen["started early"], seen["at the same time"], seen["ends before"], seen["stays"]) > 0, seen
