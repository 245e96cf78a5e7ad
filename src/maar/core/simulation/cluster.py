"""A cluster that carries out plans at once: bound pods run, victims go, statuses are written.

Whatever happens is fed to the engine as events, as a real cluster's would be. Carrying out a plan
costs as much as the plan changes, however many pods there are.

Statuses of groups are those of `core/reporting`. They are written when something changes that a
decision can read (the phase, or whether a condition holds) or pods of the group moved. A reason
whose numbers alone have changed is in the plan only: with thousands waiting, most numbers change
with every decision.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from maar.core.engine import Engine
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.plan import GroupOutcome, Plan
from maar.core.model.pod import QUEUE_GATE, Pod, PodPhase
from maar.core.model.pod_group import READY_ANNOTATION, PodGroup
from maar.core.model.volume import (
    SELECTED_NODE_ANNOTATION,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from maar.core.model.writes import BindVolume
from maar.core.reporting.group_status import group_status, says
from maar.core.simulation.resumed_jobs import nodes_of, resumed_objects
from maar.core.tables.groups import ready_with


@dataclass(eq=False)
class ImaginaryCluster:
    """The pods and groups of a cluster in which every write succeeds at once."""

    engine: Engine
    now: datetime
    resubmits: bool = False  # victims are submitted again, pending
    pods: dict[str, Pod] = field(default_factory=dict)
    groups: dict[str, PodGroup] = field(default_factory=dict)
    _leaving: dict[str, None] = field(default_factory=dict)  # pods whose deletion has been requested
    _raised: dict[str, None] = field(default_factory=dict)  # groups last ready with a smaller minMember
    _outcomes: Mapping[str, GroupOutcome] = field(default_factory=dict)  # of the last decision

    def learn(self, events: Iterable[Event]) -> None:
        """Apply events to the objects, and feed them to the engine."""
        listed = list(events)
        for event in listed:
            match event:
                case Upserted(object=Pod(key=key) as pod):
                    self.pods[key] = pod
                    _keep(self._leaving, key, is_there=pod.is_terminating)
                case Upserted(object=PodGroup(key=key) as group):
                    self.groups[key] = group
                    _keep(self._raised, key, is_there=group.standing_minimum < group.spec.min_member)
                case Deleted(kind="Pod", key=key):
                    self.pods.pop(key, None)
                    self._leaving.pop(key, None)
                case Deleted(kind="PodGroup", key=key):
                    self.groups.pop(key, None)
                    self._raised.pop(key, None)
                case _:
                    pass
        self.engine.feed(listed)

    def apply(self, decided: Plan) -> bool:
        """Carry out a plan; tells whether another decision at the same time could differ from it."""
        moved = [*self._moved_pods(decided)]
        groups = {self.engine.tables.pods[_key(one)].group_key for one in moved}
        self.learn([*moved, *self._bound_claims(decided)])
        resumed = [*self._resumed_jobs(decided)]
        self.learn(resumed)
        changed = [*self._changed_groups(decided, groups)]
        has_new_phase = any(one.status.phase != self._phase(one.key) for one in changed)
        self.learn([Upserted(object=one) for one in changed])
        ready = [*self._ready_groups()]
        self.learn([Upserted(object=one) for one in ready])
        return bool(moved or resumed or decided.selections or ready or has_new_phase)

    def report(self, key: str, outcome: GroupOutcome | None = None) -> PodGroup:
        """A group with the status that its pods, and a decision about it, give it."""
        group, row = self.groups[key], self.engine.tables.groups[key]
        return msgspec.structs.replace(group, status=group_status(group.status, row, outcome, self.now))

    def _phase(self, key: str) -> str:
        return self.groups[key].status.phase or "Pending"

    def _moved_pods(self, decided: Plan) -> Iterator[Event]:
        """What becomes of pods that leave, are evicted or bound, or whose promise has changed; each once."""
        pods, evicted = self.pods, {one.pod for one in decided.evictions} - self._leaving.keys()
        yield from (Deleted(kind="Pod", key=key) for key in self._leaving)
        for key in (one.pod for one in decided.evictions if one.pod in evicted):
            yield Upserted(object=resubmitted(pods[key])) if self.resubmits else Deleted(kind="Pod", key=key)
        moved = evicted | self._leaving.keys()
        for one in decided.binds:
            if one.pod not in moved:
                yield Upserted(object=_pod(pods[one.pod], one.node, "Running", "", self.now))
        moved.update([one.pod for one in decided.binds])
        for removal in decided.gate_removals:
            yield Upserted(object=ungated(pods[removal.pod]))
        promised = {one.pod: one.node for one in decided.nominations}
        for key in {**self.engine.assumptions.promised, **promised}:
            pod, node = pods[key], promised.get(key, "")
            if key not in moved and pod.status.nominated_node_name != node:
                yield Upserted(object=_pod(pod, "", pod.status.phase, node, None))

    def _resumed_jobs(self, decided: Plan) -> Iterator[Event]:
        """Jobs that are resumed make their pods at once."""
        for one in decided.resumptions:
            for row in self.engine.tables.batch_jobs.of_group(one.pod_group):
                promise = one.room.jobs.get(row.job.metadata.name)
                if promise is not None:
                    for resumed in resumed_objects(row, nodes_of(promise.nodes)):
                        yield Upserted(object=resumed)

    def _changed_groups(self, decided: Plan, moved: set[str]) -> Iterator[PodGroup]:
        before, self._outcomes = self._outcomes, decided.pod_groups
        for key, outcome in decided.pod_groups.items():
            if before.get(key) is outcome and key not in moved:
                continue  # of most that wait nothing has changed
            group = self.groups.get(key)  # there is none where pods wait for one that does not exist
            if group is not None and (key in moved or not says(group.status, outcome)):
                yield self.report(key, outcome)

    def _ready_groups(self) -> Iterator[PodGroup]:
        """Groups that are ready with a larger minMember than before, with what the scheduler writes then."""
        for key in self._raised:
            least = ready_with(self.engine.tables.groups[key])
            if least is not None:
                group = self.groups[key]
                notes = {**group.metadata.annotations, READY_ANNOTATION: str(least)}
                metadata = msgspec.structs.replace(group.metadata, annotations=notes)
                yield msgspec.structs.replace(group, metadata=metadata)

    def _bound_claims(self, decided: Plan) -> Iterator[Event]:
        """A claim whose node was chosen gets its volume there, one that was there already or a new one."""
        tables = self.engine.tables
        for one in decided.selections:
            claim = tables.claims[one.claim]
            name = f"volume-of-{claim.metadata.name}"
            if isinstance(one, BindVolume):
                name = one.volume
                yield Upserted(object=_owned(tables.volumes[name], claim))
            spec = msgspec.structs.replace(claim.spec, volume_name=name)
            notes = {**claim.metadata.annotations, SELECTED_NODE_ANNOTATION: one.node}
            metadata = msgspec.structs.replace(claim.metadata, annotations=notes)
            status = msgspec.structs.replace(claim.status, phase="Bound")
            yield Upserted(object=msgspec.structs.replace(claim, metadata=metadata, spec=spec, status=status))


def ungated(pod: Pod) -> Pod:
    """A pod without its scheduling gates, as Maar removes its queue's."""
    annotations = {**pod.metadata.annotations, QUEUE_GATE: "true"}
    metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
    spec = msgspec.structs.replace(pod.spec, scheduling_gates=())
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec)


def resubmitted(pod: Pod) -> Pod:
    """A pod as it was before it had a node."""
    return _pod(pod, "", "Pending", "", None)


def succeeded(pod: Pod) -> Pod:
    """A pod that has done its work."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase="Succeeded"))


def _pod(pod: Pod, node: str, phase: PodPhase, nominated: str, started: datetime | None) -> Pod:
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    status = msgspec.structs.replace(
        pod.status, phase=phase, nominated_node_name=nominated, start_time=started
    )
    return msgspec.structs.replace(pod, spec=spec, status=status)


def _owned(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    namespace, _, name = claim.key.partition("/")
    reference = ClaimReference(namespace=namespace, name=name, uid=claim.metadata.uid)
    spec = msgspec.structs.replace(volume.spec, claim_ref=reference)
    status = msgspec.structs.replace(volume.status, phase="Bound")
    return msgspec.structs.replace(volume, spec=spec, status=status)


def _key(event: Event) -> str:
    return event.key if isinstance(event, Deleted) else event.object.key


def _keep(keys: dict[str, None], key: str, *, is_there: bool) -> None:
    if is_there:
        keys[key] = None
    else:
        keys.pop(key, None)
