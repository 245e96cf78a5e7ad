"""Planning for people and notebooks: what a cluster would decide, cycle by cycle, as plain data."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import msgspec

from maar.core.cycle.decide import decide
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.metadata import Object
from maar.core.model.plan import GroupOutcome, NamespaceStanding, Plan, QueueStanding
from maar.core.model.pod import Pod
from maar.core.model.pod_group import READY_ANNOTATION, PodGroup, PodGroupCondition
from maar.core.model.reasons import Refusal
from maar.core.model.volume import (
    SELECTED_NODE_ANNOTATION,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from maar.core.model.writes import BindVolume
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.tables.groups import phase_at_rest, ready_with
from maar.core.tables.rows import GroupRow
from maar.core.tables.tables import Tables
from maar.core.views.past_use import past_use_data

Json = dict[str, object]

_BETWEEN_CYCLES = timedelta(seconds=1)


def plans(
    objects: Iterable[Object],
    configuration: Configuration = DEFAULT,
    now: datetime | None = None,
    cycles: int = 1,
    *,
    resubmit_victims: bool = False,
    tables: Tables | None = None,
) -> Iterator[Plan]:
    """Decide cycle by cycle; between cycles the plan is applied as a cluster would.

    The tables are empty; they say for which scheduler is decided, and which resources it knows already.
    """
    start = now or datetime(1970, 1, 1, tzinfo=UTC)
    cluster = ImaginaryCluster(tables or Tables(), start, resubmits=resubmit_victims)
    cluster.learn([Upserted(object=cast("AnyObject", one)) for one in objects])
    for cycle in range(1, cycles + 1):
        decided = decide(cluster.tables, configuration, cluster.now.timestamp())
        yield whole(decided, cluster.tables.groups.values())
        if cycle < cycles:
            cluster.apply(decided)


def whole(decided: Plan, groups: Iterable[GroupRow]) -> Plan:
    """Add the groups that the cycle did not have to look at, as `maar plan` shows them."""
    at_rest = {
        row.key: GroupOutcome(phase=phase_at_rest(row)) for row in groups if row.key not in decided.pod_groups
    }
    return msgspec.structs.replace(decided, pod_groups={**decided.pod_groups, **at_rest})


@dataclass(eq=False)
class ImaginaryCluster:
    """A cluster that carries out writes at once: bound pods run, victims disappear."""

    tables: Tables
    now: datetime
    resubmits: bool = False
    pods: dict[str, Pod] = field(default_factory=dict)
    groups: dict[str, PodGroup] = field(default_factory=dict)

    def learn(self, events: Iterable[Event]) -> None:
        """Apply events to the objects, and feed them to the tables."""
        listed = list(events)
        for event in listed:
            match event:
                case Upserted(object=Pod() as pod):
                    self.pods[pod.key] = pod
                case Upserted(object=PodGroup() as group):
                    self.groups[group.key] = group
                case Deleted(kind="Pod", key=key):
                    self.pods.pop(key, None)
        self.tables.feed(listed)

    def apply(self, decided: Plan) -> None:
        """Carry out the plan, and advance the time by one second."""
        self.learn([*self._moved_pods(decided), *self._changed_groups(decided), *self._bound_claims(decided)])
        self.learn([*self._ready_groups()])
        self.now += _BETWEEN_CYCLES

    def _ready_groups(self) -> Iterable[Event]:
        """Groups that are ready with a larger minMember than before, with what the scheduler writes then."""
        for key, row in self.tables.groups.items():
            least = ready_with(row) if row.standing_minimum < row.min_member else None
            if least is not None:
                group = self.groups[key]
                notes = {**group.metadata.annotations, READY_ANNOTATION: str(least)}
                metadata = msgspec.structs.replace(group.metadata, annotations=notes)
                yield Upserted(object=msgspec.structs.replace(group, metadata=metadata))

    def _moved_pods(self, decided: Plan) -> Iterable[Event]:
        binds = {one.pod: one.node for one in decided.binds}
        promises = {one.pod: one.node for one in decided.nominations}
        evicted = {one.pod for one in decided.evictions}
        for key, pod in list(self.pods.items()):
            nominated = promises.get(key, "")
            if pod.is_terminating or (key in evicted and not self.resubmits):
                yield Deleted(kind="Pod", key=key)
            elif key in evicted:
                yield Upserted(object=_pod(pod, "", "Pending", "", None))
            elif key in binds:
                yield Upserted(object=_pod(pod, binds[key], "Running", "", self.now))
            elif not pod.spec.node_name and pod.status.nominated_node_name != nominated:
                yield Upserted(object=_pod(pod, "", pod.status.phase, nominated, None))

    def _bound_claims(self, decided: Plan) -> Iterable[Event]:
        """A claim whose node was chosen gets its volume there, one that was there already or a new one."""
        for one in decided.selections:
            claim = self.tables.claims[one.claim]
            name = f"volume-of-{claim.metadata.name}"
            if isinstance(one, BindVolume):
                name = one.volume
                yield Upserted(object=_owned(self.tables.volumes[name], claim))
            spec = msgspec.structs.replace(claim.spec, volume_name=name)
            notes = {**claim.metadata.annotations, SELECTED_NODE_ANNOTATION: one.node}
            metadata = msgspec.structs.replace(claim.metadata, annotations=notes)
            status = msgspec.structs.replace(claim.status, phase="Bound")
            yield Upserted(object=msgspec.structs.replace(claim, metadata=metadata, spec=spec, status=status))

    def _changed_groups(self, decided: Plan) -> Iterable[Event]:
        for key, outcome in decided.pod_groups.items():
            group = self.groups.get(key)
            if group is None:
                continue  # pods that wait for a group that does not exist
            was = [
                one for one in group.status.conditions if one.type == "Unschedulable" and one.status == "True"
            ]
            others = tuple(one for one in group.status.conditions if one.type != "Unschedulable")
            since = was[0].last_transition_time if was else self.now
            condition = PodGroupCondition(
                type="Unschedulable",
                status="True" if outcome.is_unschedulable else "False",
                reason=str(outcome.refusal.reason) if outcome.refusal else "",
                message=outcome.message,
                last_transition_time=since if outcome.is_unschedulable else self.now,
            )
            conditions = (*others, condition) if outcome.is_unschedulable or was else others
            status = msgspec.structs.replace(group.status, phase=outcome.phase, conditions=conditions)
            if status != group.status:
                yield Upserted(object=msgspec.structs.replace(group, status=status))


def plan_data(decided: Plan) -> Json:
    """One cycle as plain data."""
    volumes = {one.claim: one.volume for one in decided.selections if isinstance(one, BindVolume)}
    return {
        "queues": {name: queue_data(one) for name, one in sorted(decided.queues.items())},
        "binds": {one.pod: one.node for one in sorted(decided.binds, key=lambda one: one.pod)},
        "evictions": [
            {"pod": one.pod, "for": one.beneficiary, "action": one.action} for one in decided.evictions
        ],
        "nominations": {one.pod: one.node for one in sorted(decided.nominations, key=lambda one: one.pod)},
        "selections": {one.claim: one.node for one in sorted(decided.selections, key=lambda one: one.claim)},
        "podGroups": {
            key: {
                "phase": one.phase,
                "reason": str(one.refusal.reason) if one.refusal else "",
                "message": one.message,
                **(_cure(one.refusal) if one.refusal else {}),
            }
            for key, one in sorted(decided.pod_groups.items())
        },
        **({"volumes": volumes} if volumes else {}),  # which claims seldom get
        **({"whyEvicted": {one.pod: one.why for one in decided.evictions}} if decided.evictions else {}),
    }


def _cure(refusal: Refusal) -> Json:
    return {"cure": str(refusal.cure), "moreNodesHelp": refusal.more_nodes_help}


def queue_data(one: QueueStanding) -> Json:
    """A queue's standing as plain data."""
    return {
        "deserved": one.deserved.quantities(),
        "realCapability": one.real_capability.quantities(),
        "allocated": one.allocated.quantities(),
        "used": one.used.quantities(),
        "preempting": one.preempting.quantities(),
        "share": one.share,
        "state": one.state,
        "binding": dict(one.binding),
        "conditions": [
            {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
            for each in one.conditions
        ],
        "namespaces": {name: namespace_data(each) for name, each in one.namespaces.items()},
        **past_use_data(one.past_use),
    }


def namespace_data(one: NamespaceStanding) -> Json:
    """A namespace's standing as plain data."""
    figures = {"weight": one.weight, "used": one.used.quantities(), "share": one.share}
    return {**figures, **past_use_data(one.past_use)}


def _pod(pod: Pod, node: str, phase: str, nominated: str, started: datetime | None) -> Pod:
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
