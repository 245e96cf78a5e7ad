"""Why a group waits, once a cycle has decided: the constraint that binds, its numbers, and its cure.

What was in the way during a turn may be gone at the end of the cycle, and the reason must be true
of the cluster as users see it, so groups are examined again when everything has been decided. In
this order:

1. what only a user can change: a missing queue, missing pods, gates, claims, its place in a queue;
2. what never changes on this cluster: alone on it (`Inspection.alone`), the group would not start
   either;
3. limits of its queue: a ceiling, or room that is reserved for others;
4. room: where the queue would be above its fair share with it, that share, else what the nodes
   lack.

Groups whose next turn places pods of the same shapes in the same queue wait for the same reason, so
that many that wait cost little. A refusal says that more nodes help where, with any number of them,
the group's queue would let it start and a new node could take its pods.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec

from maar.core.cycle.inspect import GroupState, Hold, Inspection, NodeChooser, for_next_turn
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.model.resources import PODS
from maar.core.reasons.counted_nodes import CountedNodes, idle_at_most
from maar.core.reasons.held_room import planned_start, room_held
from maar.core.reasons.missing_pods import exceeded_quota, too_few_pods
from maar.core.reasons.node_tally import NodeTally, closed_nodes, tally
from maar.core.tables.axis import Needs
from maar.core.tables.counting import together
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape

_FEW: Final = 3  # names in one message
# More nodes might help, but not reliably, or not this group: an autoscaler should not add any for it.
_OF_THE_CLUSTERS_SIZE: Final = (Reason.CLUSTER_OVERCOMMITTED, Reason.NOT_ENOUGH_RESOURCES)
_NO_NODES_WANTED: Final = (
    Reason.CLAIM_NOT_BOUND,
    Reason.RESOURCE_CLAIM,
    Reason.GUARANTEE_BLOCKED,
    Reason.VICTIMS_PROTECTED_UNTIL,
)


class Diagnosis:
    """The reasons of one cycle; made when it has decided."""

    def __init__(self, inspection: Inspection, holds: Sequence[Hold] = ()) -> None:
        """With the room that is held, which the state must not count: reasons are of the cluster as it is."""
        self.inspection, self.tables, self.nodes = inspection, inspection.tables, inspection.nodes
        self.names, self.holds = inspection.tables.axis.names, holds
        self._known: dict[object, Refusal] = {}
        self._counted: dict[Shape, CountedNodes] = {}
        self.starting_alone: set[object] | None = None  # groups that would start alone on the cluster

    def of(self, group: GroupState) -> Refusal | None:
        """What holds a group whose pods wait, or that waits for admission; None where nothing does."""
        decided, waits = self.inspection.decided, bool(group.pending or group.row.gated)
        if group.leaf < 0:
            return self._no_queue(group) if waits else None
        if decided.promises and any(pod.key in decided.promises for pod in group.row.pods.values()):
            return self._promised(group)
        has_none = group.phase == "Inqueue" and not group.row.pods
        if not waits and not has_none and not group.was_unschedulable:
            return self._not_let_in(group, []) if group.phase == "Pending" else None
        leaving = sum(pod.key in decided.gone for pod in group.row.pods.values())
        refusal = too_few_pods(group, leaving)
        if refusal is not None and refusal.reason == Reason.NOT_ENOUGH_TASKS:
            refusal = exceeded_quota(self.tables, group, refusal) or (None if has_none else refusal)
        if refusal is not None or not waits:
            return refusal
        pods = for_next_turn(group)
        if group.phase not in ADMITTED_PHASES:
            return self._not_let_in(group, pods)
        return self._waits(group, pods) if pods else self._loses_pods(group)

    def _loses_pods(self, group: GroupState) -> Refusal:
        """Some of its pods are being evicted, and those that wait are too few without them."""
        pods = group.pending[: max(1, group.missing()[0])]
        return self._no_room(group, pods, together(pods))

    # --- what a user or a controller has to do

    def _no_queue(self, group: GroupState) -> Refusal:
        name, ledger = group.row.queue_name, self.inspection.queues
        row = self.tables.queues.get(name)
        if row is None:
            return Refusal(reason=Reason.QUEUE_MISSING, cure=Cure.SOMEBODY_ACTS, queue=name)
        if row.index < 0:
            why = self.tables.set_aside.get(name, "")
            return Refusal(reason=Reason.QUEUE_SET_ASIDE, cure=Cure.SOMEBODY_ACTS, queue=name, others=(why,))
        leaves = [
            one.name for one in ledger.rows if one.is_leaf and row.index in (*ledger.paths[one.index], 0)
        ]
        others = tuple(sorted(leaves))
        return Refusal(reason=Reason.QUEUE_NOT_LEAF, cure=Cure.SOMEBODY_ACTS, queue=name, others=others)

    def _promised(self, group: GroupState) -> Refusal:
        """Room is being freed for it, or a volume is being made where it will run."""
        name = group.row.queue_name
        victims = sorted(self.inspection.decided.victims.get(group.row.key, ()))
        claims = {key for pod in group.row.pods.values() for key in self.nodes.claims.unbound(pod.shape)}
        if claims and not victims:
            return Refusal(reason=Reason.CLAIM_NOT_BOUND, queue=name, others=tuple(sorted(claims)[:_FEW]))
        return Refusal(reason=Reason.WAITING_FOR_VICTIMS, queue=name, others=tuple(victims[:_FEW]))

    # --- what keeps it from being admitted

    def _not_let_in(self, group: GroupState, pods: list[PodRow]) -> Refusal | None:
        refusal = group.refusal
        if refusal is None or refusal.reason == Reason.BEHIND_FIRST_IN_QUEUE:
            return self._behind(refusal) if refusal is not None else None
        if refusal.more_nodes_help and not self._would_start_with_nodes(group, pods, together(pods)):
            refusal = refusal.with_all(more_nodes_help=False)
        alone = (
            self.inspection.alone
            if group.placed + len(group.pending) >= group.row.min_member
            else self.inspection.alone_if_tolerated
        )
        if never := alone.kept_out(group):
            return self._never_let_in(group, refusal, {self.names[row] for row in never})
        if pods and refusal.reason in _OF_THE_CLUSTERS_SIZE:
            found = self._tally(pods[0])
            return msgspec.structs.replace(
                refusal, nodes=found.nodes, taking=found.taking, clauses=found.clauses
            )
        return refusal

    def _behind(self, refusal: Refusal) -> Refusal:
        """It waits for the first of its queue, and so for what lets that one start.

        In one phase of allocate that one may itself have been behind another, or even behind this one.
        """
        first = self.tables.groups.get(refusal.others[0])
        state = self.inspection.group(first) if first is not None else None
        if state is None or (
            state.refusal is not None and state.refusal.reason == Reason.BEHIND_FIRST_IN_QUEUE
        ):
            return refusal
        blocker = self.of(state)
        if blocker is None:
            return refusal
        cure = Cure.SOMEBODY_ACTS if blocker.cure == Cure.NEVER else blocker.cure
        return msgspec.structs.replace(refusal, cure=cure)

    def _never_let_in(self, group: GroupState, refusal: Refusal, never: set[str]) -> Refusal:
        """Put first what keeps the group out even when all others finish; closed nodes may help."""
        limits = [msgspec.structs.replace(one, further=()) for one in (refusal, *refusal.further)]
        lasting = [one for one in limits if any(short.resource in never for short in one.shortages)]
        others = [one for one in limits if one not in lasting]
        cure = self._cure_of_never(is_never=bool(self.inspection.alone_if_opened.kept_out(group)))
        first, *rest = [msgspec.structs.replace(one, **cure) for one in lasting] + others
        return msgspec.structs.replace(first, further=tuple(rest))

    def _cure_of_never(self, *, is_never: bool) -> dict[str, object]:
        """The cure for a group that never starts on the usable nodes: other nodes, if there are any."""
        if is_never:
            return {"cure": Cure.NEVER}
        nodes = self.tables.node_list
        return {"cure": Cure.OTHER_NODES, "nodes": len(nodes), "clauses": closed_nodes(nodes)}

    def _tally(self, pod: PodRow, count: int = 1) -> NodeTally:
        """The nodes as they are, for a pod; one tally for all pods of a shape where that alone matters."""
        if not self.nodes.depend_on_shapes_only((pod,)):
            return tally(self.nodes, pod, count)
        found = self.counted(pod).tally
        return replace(found, fits=min(found.fits, count))

    def counted(self, pod: PodRow) -> CountedNodes:
        """The nodes, counted for pods like this one where nothing but their shape matters."""
        return self._counted.get(pod.shape) or self.use(pod.shape, CountedNodes.of(self.nodes, pod))

    def use(self, shape: Shape, counted: CountedNodes) -> CountedNodes:
        """Use what is known of the nodes for a shape."""
        self._counted[shape] = counted
        return counted

    # --- what keeps the pods of the next turn from being placed

    def _waits(self, group: GroupState, pods: list[PodRow]) -> Refusal:
        if group.refusal is not None and group.refusal.reason == Reason.BEHIND_FIRST_IN_QUEUE:
            return self._behind(group.refusal)
        for hold in self.holds:
            if hold.group is not group:
                continue
            counted = tuple((resource, 0) for resource, _ in hold.planned.needs)  # in the larger cluster
            helped = self._would_start_with_nodes(group, pods, counted)
            return msgspec.structs.replace(planned_start(self.inspection, hold), more_nodes_help=helped)
        key: object = group
        if group.is_idle and self.nodes.depend_on_shapes_only(pods):
            key = (group.leaf, frozenset(Counter(pod.shape for pod in pods).items()), group.refusal)
        refusal = self._known.get(key)
        if refusal is None:
            refusal = self._known[key] = self._find_reason(group, pods)
        return refusal

    def _find_reason(self, group: GroupState, pods: list[PodRow]) -> Refusal:
        needs = together(pods)
        never = self._claims(pods) or self._unfit(pods) or self._known_never(group, pods, needs)
        refusal = never or group.refusal
        refusal = refusal or self.inspection.beyond_limits(group, needs)
        refusal = refusal or self._no_room(group, pods, needs)
        if refusal.reason in _NO_NODES_WANTED:
            return refusal
        if self.holds and refusal.cure not in (Cure.NEVER, Cure.OTHER_NODES):
            refusal = room_held(self.inspection, group, self.holds) or refusal
        return msgspec.structs.replace(
            refusal, more_nodes_help=self._would_start_with_nodes(group, pods, needs)
        )

    def _claims(self, pods: list[PodRow]) -> Refusal | None:
        claims = self.nodes.claims
        refusal = (claims.hold(pod.shape) or claims.lacking(pod.shape) for pod in pods if _has_claims(pod))
        return next((one for one in refusal if one is not None), None)

    def _unfit(self, pods: list[PodRow]) -> Refusal | None:
        """No node, be it empty, would take one of the pods."""
        places = self.nodes
        if not self.tables.node_list:
            return Refusal(reason=Reason.NOT_ENOUGH_RESOURCES, cure=Cure.OTHER_NODES)
        for pod in {pod.shape: pod for pod in pods if places.never_fits(pod.shape)}.values():
            opened = self.inspection.alone_if_opened.places
            cure = Cure.OTHER_NODES if opened.large_enough(pod.shape).any() else Cure.NEVER
            refusal = self._of_nodes(Reason.NO_NODE_FITS, cure, pod, tally(places, pod, 1))
            taints = next(iter(places.taints_in_the_way(pod.shape)), ())
            closed = int((opened.pods_per_node(pod.shape, opened.idle("now"), 1) > 0).sum())
            return msgspec.structs.replace(refusal, others=tuple(map(str, taints)), available=closed)
        return None

    def _known_never(self, group: GroupState, pods: list[PodRow], needs: Needs) -> Refusal | None:
        """The same; that there is no such reason is kept for groups that have a kind, with equal pods."""
        kind, known = group.of_class, self.starting_alone
        key = (group.leaf, *(pod.shape for pod in pods))
        if known is None or kind is None or group.placed:
            return self._never(group, pods, needs)
        never = self._never(group, pods, needs) if key not in known else None
        if never is None:
            known.add(key)
        return never

    def _never(self, group: GroupState, pods: list[PodRow], needs: Needs) -> Refusal | None:
        """Not even alone on the cluster would the group start."""
        alone = self.inspection.alone
        too_much = tuple(
            one for one in self._of_total(alone.with_own(group, needs)) if one.wanted > one.limit
        )
        limits = alone.limits(group, needs)
        if limits is not None:
            cure = self._cure_of_never(
                is_never=self.inspection.alone_if_opened.limits(group, needs) is not None
            )
            return self._with_total(limits, too_much, len(pods)).with_all(**cure)
        return self._never_room(group, pods, needs, too_much)

    def _never_room(
        self, group: GroupState, pods: list[PodRow], needs: Needs, too_much: tuple[Shortage, ...]
    ) -> Refusal | None:
        """Not even alone there is room for the group; its own pods may be in the way."""
        places, alone = self.nodes, self.inspection.alone
        with alone.beside_own(group) as own:
            if alone.has_room(pods):
                return None
            room = self._room(pods, alone.places, Cure.NEVER)
        if own and alone.has_room([*own, *pods]):
            named = tuple(pod.key for pod in own[:_FEW])
            return msgspec.structs.replace(room, cure=Cure.SOMEBODY_ACTS, others=named)
        for pod in filter(places.has_affinity, pods):
            has_place = places.must_join_others(pod) and places.would_take(pod).any()
            return None if has_place else self._never_together(pods, pod)
        all_open = self.inspection.alone_if_opened
        with all_open.beside_own(group):
            is_never = all_open.limits(group, needs) is not None or not all_open.has_room(pods)
        if room.reason == Reason.CLAIM_NOT_BOUND:
            return room
        if not is_never:
            return msgspec.structs.replace(room, cure=Cure.OTHER_NODES)
        together = {"wanted": len(own) + room.wanted} if too_much else {}
        return msgspec.structs.replace(room, shortages=too_much, **together)

    def _with_total(self, limits: Refusal, too_much: tuple[Shortage, ...], pods: int) -> Refusal:
        """Add to limits of queues what the whole cluster has too little of."""
        named = {short.resource for one in (limits, *limits.further) for short in one.shortages}
        rest = tuple(one for one in too_much if one.resource not in named)
        if not rest:
            return limits
        nodes = len(self.tables.node_list)
        size = Refusal(reason=Reason.NOT_ENOUGH_RESOURCES, shortages=rest, wanted=pods, nodes=nodes)
        return msgspec.structs.replace(limits, further=(*limits.further, size))

    def _no_room(self, group: GroupState, pods: list[PodRow], needs: Needs) -> Refusal:
        """No node has room for the pods; the queue's share is the reason where that prevents reclaim."""
        with_affinity = [pod for pod in pods if self.nodes.has_affinity(pod)]
        if with_affinity and tally(self.nodes, with_affinity[0], 1).roomy:
            return self._kept_off(with_affinity[0], Cure.OTHERS_FINISH)
        refusal = self._room(pods, self.nodes, Cure.OTHERS_FINISH)
        share = None
        if ("proportion", "enabledAllocatable") in self.inspection.configuration.enabled:
            share = self.inspection.beyond_deserved(group, needs)
        if share is None or refusal.reason == Reason.CLAIM_NOT_BOUND:
            return refusal
        return refusal.with_limit_of(share)

    def _never_together(self, pods: list[PodRow], pod: PodRow) -> Refusal:
        """Not even alone there are nodes for a pod near the others it needs, or for all pods together."""
        places = self.nodes if self.nodes.must_join_others(pod) else self.inspection.alone.places
        found = tally(places, pod, 1)
        cure = Cure.NEVER if found.taking else Cure.SOMEBODY_ACTS
        refusal = self._of_nodes(Reason.NO_NODE_FITS, cure, pod, found)
        return msgspec.structs.replace(refusal, wanted=len(pods))

    def _kept_off(self, pod: PodRow, cure: Cure) -> Refusal:
        """Other pods keep a pod off the nodes that have room for it."""
        return self._of_nodes(Reason.NO_NODE_FITS, cure, pod, tally(self.nodes, pod, 1))

    def _room(self, pods: list[PodRow], places: NodeChooser, cure: Cure) -> Refusal:
        """What the nodes lack for the kind of pods of which the least part finds room, or else volumes."""
        kinds: dict[object, list[PodRow]] = {}
        for pod in pods:
            kinds.setdefault(pod.shape, []).append(pod)
        count_fits = self._tally if places is self.nodes else partial(tally, places)
        tallies = [(kind[0], len(kind), count_fits(kind[0], len(kind))) for kind in kinds.values()]
        pod, count, found = min(tallies, key=lambda one: one[2].fits / one[1])
        claims = [key for pod in pods for key in places.claims.unbound(pod.shape)]
        if claims and found.fits >= count:
            return Refusal(
                reason=Reason.CLAIM_NOT_BOUND, cure=Cure.SOMEBODY_ACTS, others=tuple(claims[:_FEW])
            )
        refusal = self._of_nodes(Reason.NOT_ENOUGH_RESOURCES, cure, pod, found)
        return msgspec.structs.replace(refusal, wanted=count, available=found.fits)

    def _of_nodes(self, reason: Reason, cure: Cure, pod: PodRow, found: NodeTally) -> Refusal:
        """A refusal by the nodes, with what the pod wants and the most that is free on one of them."""
        known, places = self._counted.get(pod.shape), self.nodes
        idle = idle_at_most(places, pod.shape) if known is None else known.idle_at_most
        shortages = tuple(
            Shortage(resource=self.names[row], wanted=amount, used=0, limit=idle[row])
            for row, amount in pod.shape.needs
            if self.names[row] != PODS or len(pod.shape.needs) == 1
        )
        return Refusal(
            reason=reason,
            cure=cure,
            shortages=shortages,
            nodes=found.nodes,
            taking=found.taking,
            clauses=found.clauses,
        )

    def _of_total(self, needs: Needs) -> Iterator[Shortage]:
        """What is wanted beside what the cluster has in all."""
        total = self.inspection.alone.total
        for row, amount in needs:
            yield Shortage(resource=self.names[row], wanted=amount, used=0, limit=total[row])

    def _would_start_with_nodes(self, group: GroupState, pods: list[PodRow], needs: Needs) -> bool:
        """Whether, with any number of nodes more, the group's queue would let it start, and nodes take it."""
        refusal = self.inspection.beyond_limits(group, needs, of_larger_cluster=True)
        return refusal is None and self.nodes.helped_by_new_nodes(pods)


def _has_claims(pod: PodRow) -> bool:
    return bool(pod.shape.claims or pod.shape.has_resource_claims)
