"""Lives of a scheduler over random clusters, which answer its writes as they like."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Final, cast

import msgspec

from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.plan import Plan
from maar.core.model.pod import EVICTED_FOR_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.writes import Bind, Evict, Nominate, Write
from maar.core.policy.configuration import parse
from properties.cluster_manifests import NOW

CONFIGURATIONS: Final = [
    parse(document)
    for document in (
        None,
        {"actions": "enqueue, allocate, backfill, reclaim, preempt"},
        {
            "actions": "enqueue, allocate, cleanup",
            "tiers": [
                {"plugins": [{"name": "gang", "enableJobOrder": False}, {"name": "predicates"}]},
                {"plugins": [{"name": "overcommit", "arguments": {"overcommit-factor": "1.35"}}]},
                {"plugins": [{"name": "proportion"}, {"name": "nodeorder"}]},
            ],
            "configurations": [{"name": "cleanup", "arguments": {"gracePeriod": "1m30s"}}],
        },
    )
]
COMES_TRUE, FAILS = 0.5, 0.7  # below the first a write has been seen, below the second it has failed
Watching = Callable[[float, Plan], None]


@dataclass
class Life:
    """An engine driven as the scheduler drives it, and the cluster that it writes to."""

    engine: Engine
    rng: Random
    there: dict[tuple[str, str], Object] = field(default_factory=dict)
    under_way: list[Write] = field(default_factory=list)
    now: float = NOW.timestamp()

    def lead(self, objects: list[Object], cycles: int, watching: Watching) -> None:
        """Live for so many cycles; objects come in a few batches, in any order."""
        coming = self.rng.sample(objects, len(objects))
        for cycle in range(cycles):
            batch = len(coming) if cycle > cycles // 2 else self.rng.randint(0, len(coming))
            arrived, coming = coming[:batch], coming[batch:]
            self.engine.feed([self._appear(one) for one in arrived])
            self.engine.feed(self._happenings())
            if self.rng.random() < 0.2:
                self.engine.configuration = self.rng.choice(CONFIGURATIONS)
            plan = self.engine.decide(self.now)
            watching(self.now, plan)
            writes: list[Write] = [*plan.evictions, *plan.nominations, *plan.selections, *plan.binds]
            for write in writes:
                self.engine.assume(write)
            self.under_way += writes
            self.engine.feed(self._answers())
            self.now += self.rng.choice((0.05, 1.0, 61.5))

    def _appear(self, one: Object) -> Upserted:
        self.there[type(one).__name__, one.key] = one
        return Upserted(object=cast("AnyObject", one))

    def _vanish(self, one: Object) -> Deleted:
        del self.there[type(one).__name__, one.key]
        return Deleted(kind=type(one).__name__, key=one.key)

    def _answers(self) -> list[Event]:
        """What the cluster says to the writes: some are seen, some fail, of some nothing is heard."""
        events, open_ended = list[Event](), list[Write]()
        for write in self.under_way:
            answer = self.rng.random()
            if answer < COMES_TRUE:
                events += self._carried_out(write)
            elif answer < FAILS:
                self.engine.forget(write)
            else:
                open_ended.append(write)
        self.under_way = open_ended
        return events

    def _carried_out(self, write: Write) -> list[Event]:
        pod = self.there.get(("Pod", write.pod)) if isinstance(write, Bind | Evict | Nominate) else None
        if not isinstance(pod, Pod):
            return []
        spec, status, metadata = pod.spec, pod.status, pod.metadata
        match write:
            case Bind(node=node):
                spec = msgspec.structs.replace(spec, node_name=node)
                status = msgspec.structs.replace(status, phase="Running", nominated_node_name="")
            case Nominate(node=node):
                status = msgspec.structs.replace(status, nominated_node_name=node)
            case Evict(beneficiary=beneficiary):
                if self.rng.random() < COMES_TRUE:
                    return [self._vanish(pod)]
                notes = {**metadata.annotations, EVICTED_FOR_ANNOTATION: beneficiary or ""}
                gone = datetime.fromtimestamp(int(self.now), UTC)
                metadata = msgspec.structs.replace(metadata, annotations=notes, deletion_timestamp=gone)
        return [self._appear(msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=status))]

    def _happenings(self) -> list[Event]:
        """What happens by itself: pods end or are deleted, nodes are cordoned, groups are let in."""
        events = list[Event]()
        for one in list(self.there.values()):
            if self.rng.random() > 0.1:
                continue
            match one:
                case Pod() if self.rng.random() < COMES_TRUE:
                    events.append(self._vanish(one))
                case Pod():
                    status = msgspec.structs.replace(one.status, phase="Succeeded")
                    events.append(self._appear(msgspec.structs.replace(one, status=status)))
                case Node(spec=spec):
                    spec = msgspec.structs.replace(spec, unschedulable=not spec.unschedulable)
                    events.append(self._appear(msgspec.structs.replace(one, spec=spec)))
                case PodGroup():
                    admitted = msgspec.structs.replace(one.status, phase="Inqueue")
                    events.append(self._appear(msgspec.structs.replace(one, status=admitted)))
                case _:
                    pass
        return events
