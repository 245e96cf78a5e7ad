"""Why a job, a pod group or a pod is as it is: what decided it, as data.

One decision is made on the present, as the scheduler would make it, and everything is read from
that one: the reason, the place in the order with its terms, what each node lacks, by which rule the
group runs and who could take its place. What has to be decided again, the smallest change and the
planned start, is asked for by itself (`Explainer.changes`, `Explainer.start`).
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final, Literal, cast

import msgspec

from maar.core.answers.explain.order_terms import Order, place_in_order
from maar.core.answers.explain.past_evictions import PastEviction, past_evictions
from maar.core.answers.explain.placement import Placement, placement_of
from maar.core.answers.explain.single_changes import SingleChange
from maar.core.answers.explain.smallest_change import GoOn, Search, smallest_changes
from maar.core.answers.explain.subject import Subject, SubjectKind
from maar.core.answers.future import Certainty, Present
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.starts.published import as_published, has_moved, published_starts
from maar.core.cycle import decide, settle
from maar.core.cycle.inspect import Inspection, for_next_turn
from maar.core.engine import Engine
from maar.core.model.durations import time_to_come
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.job import Job
from maar.core.model.kinds import plain, to_json
from maar.core.model.metadata import Record
from maar.core.model.plan import GroupOutcome, Plan
from maar.core.model.writes import Evict
from maar.core.reasons.node_tally import Clauses, NodeTally, tally
from maar.core.reporting.plan import plan_of
from maar.core.tables.groups import missing_group_key, phase_at_rest
from maar.core.tables.rows import GroupRow, PodRow
from maar.core.views.job_summary import EventSummary

_TIMES: Final = ("now", "created", "since", "time", "until")

GroupState = Literal["waits", "starts", "makes room", "runs", "is evicted", "has ended", "is not placed"]


class PodCounts(Record, frozen=True):
    """How many pods of a group there are, and have nodes, and start together."""

    exist: int
    placed: int
    least: int


class NodeAnswer(Record, frozen=True):
    """How many nodes take one of the pods, how many pods find room, and what the other nodes lack."""

    nodes: int
    taking: int
    pods: int  # of a kind, that the next turn has to place
    fits: int  # those of them that there is room for
    clauses: Clauses


class StartAnswer(Record, frozen=True):
    """When the group starts if nothing else happens, how sure that is and what it depends on."""

    time: float | None
    certainty: Certainty
    because: str = ""
    moved_from: str = ""  # what the status of the group still says


class ChangeAnswer(Record, frozen=True):
    """A change with which the group starts now; the pods are evicted for it."""

    change: SingleChange
    victims: tuple[str, ...] = ()


class ChangesAnswer(Record, frozen=True):
    """The smallest changes that were found; incomplete where the search was stopped."""

    tries: int
    is_complete: bool
    changes: tuple[ChangeAnswer, ...]


class GroupExplanation(Record, frozen=True):
    """Everything that is known of why a job, a pod group or a pod is as it is."""

    kind: SubjectKind
    name: str  # its key
    now: float
    state: GroupState
    node: str = ""  # of a pod
    pod_group: str = ""
    jobs: dict[str, str] = msgspec.field(default_factory=dict)  # by pod group, where it is of one
    queue: tuple[str, ...] = ()  # the path, from below the root
    phase: str = ""
    created: float = 0.0
    pods: PodCounts | None = None
    reason: str = ""
    message: str = ""
    cure: str = ""
    more_nodes_help: bool = False
    nodes: NodeAnswer | None = None
    order: Order | None = None
    binds: tuple[tuple[str, str], ...] = ()  # pods of it, and the nodes they go to with this decision
    evicts: tuple[str, ...] = ()  # pods that are evicted for it with this decision
    evicted_now: tuple[Evict, ...] = ()  # pods of it that are evicted with this decision
    placement: Placement | None = None
    evictions: tuple[PastEviction, ...] = ()
    start: StartAnswer | None = None  # None: not asked for, or it does not wait
    changes: ChangesAnswer | None = None  # None: not asked for

    def data(self) -> dict[str, object]:
        """The same as plain data, with times as Kubernetes writes them."""
        return cast("dict[str, object]", _with_times(plain(to_json(self))))


class Explainer:
    """One decision on the present, and what it says about a subject."""

    def __init__(self, present: Present, subject: Subject, events: Iterable[EventSummary] = ()) -> None:
        self.present, self.subject, self._events = present, subject, events
        self._engine = Engine(present.configuration, present.scheduler_name)
        objects = [one for one in present.objects if not isinstance(one, Job)]
        self._engine.feed(Upserted(object=cast("AnyObject", one)) for one in objects)
        if present.configuration.usage is not None:
            self._engine.decide(present.now)  # learns the past use that weights are scaled by

    @cached_property
    def _inspection(self) -> Inspection:
        return self._decided_before("")

    def _decided_before(self, action: str) -> Inspection:
        tables, configuration, now = self._engine.tables, self.present.configuration, self.present.now
        settle(tables, configuration, now)
        return decide(tables, configuration, now, before=action)

    @cached_property
    def plan(self) -> Plan:
        """What is decided now."""
        return plan_of(self._inspection)

    @cached_property
    def _row(self) -> GroupRow | None:
        return self._engine.tables.groups.get(self.subject.group)

    @property
    def _outcome(self) -> GroupOutcome | None:
        """What becomes of the group, or of a pod without one."""
        key = self.subject.group
        pod = self._engine.tables.orphans.get(self.subject.key) if not key else None
        return self.plan.pod_groups.get(missing_group_key(pod) if pod is not None else key)

    def explanation(self) -> GroupExplanation:
        """Everything that one decision says."""
        row, outcome, subject = self._row, self._outcome, self.subject
        refusal = None if outcome is None else outcome.refusal
        mine: frozenset[str] = frozenset() if row is None else frozenset(row.pods)
        found = GroupExplanation(
            kind=subject.kind,
            name=subject.key,
            now=self.present.now,
            state="waits" if refusal is not None else "is not placed",
            message=subject.why_no_group or ("" if outcome is None else outcome.message),
            reason="" if refusal is None else str(refusal.reason),
            cure="" if refusal is None else str(refusal.cure),
            more_nodes_help=refusal is not None and refusal.more_nodes_help,
        )
        if row is None:
            return found
        binds = tuple((one.pod, one.node) for one in self.plan.binds if one.pod in mine)
        evicts = tuple(one.pod for one in self.plan.evictions if one.beneficiary == row.key)
        gone = tuple(one for one in self.plan.evictions if one.pod in mine)
        state = self._group_state(row, is_held=refusal is not None, binds=bool(binds), evicts=bool(evicts))
        is_waiting = state in ("waits", "makes room")
        known = msgspec.structs.replace(
            found,
            state="is evicted" if gone else state,
            node=row.pods[subject.key].node_name if subject.key in row.pods else "",
            pod_group=row.key,
            queue=self._path(row),
            phase=phase_at_rest(row) if outcome is None else outcome.phase,
            created=row.created,
            pods=self._counts(row),
            nodes=self._nodes(row) if is_waiting else None,
            order=self._order(row) if is_waiting or state == "starts" else None,
            binds=binds,
            evicts=evicts,
            evicted_now=gone,
            placement=self._placement(row),
            evictions=tuple(past_evictions(self._events, row.key, mine)),
        )
        return msgspec.structs.replace(known, jobs=self._jobs(known))

    def start(self, is_wanted: Callable[[], bool] = lambda: True) -> StartAnswer | None:
        """When the group starts; None where it does not wait."""
        starts = planned_starts(self.present, groups=[self.subject.group], is_wanted=is_wanted)
        now, published = self.present.now, published_starts(self.present.objects)
        found = as_published(starts, published, now).get(self.subject.group)
        if found is None:
            return None
        before, moved_from = published.get(self.subject.group), ""
        if before is not None and has_moved(before, found.time, found.certainty, now):
            moved_from = time_to_come(before.time.timestamp()) if before.time is not None else "unknown"
        return StartAnswer(
            time=found.time, certainty=found.certainty, because=found.because, moved_from=moved_from
        )

    def changes(self, known: GroupExplanation, go_on: GoOn = lambda _: True) -> Search:
        """The smallest changes with which the group starts now; nothing where it does not wait."""
        outcome = self._outcome
        if self._row is None or known.state != "waits":
            return Search((), 0, is_complete=True)
        refusal = None if outcome is None else outcome.refusal
        first = known.order.first if known.order is not None else ()
        return smallest_changes(self.present, self._inspection, refusal, self._row.key, first, go_on)

    # --- parts

    def _jobs(self, known: GroupExplanation) -> dict[str, str]:
        first = known.order.first if known.order is not None else ()
        dangers = known.placement.dangers if known.placement is not None else ()
        named = (known.pod_group, *first, *(key for one in dangers for key in one.groups))
        rows = {key: self._engine.tables.groups.get(key) for key in named}
        return {key: row.title for key, row in rows.items() if row is not None and row.owner}

    def _path(self, row: GroupRow) -> tuple[str, ...]:
        if row.leaf is None:
            return (row.queue_name,)
        ledger = self._inspection.queues
        return tuple(ledger.rows[queue].name for queue in reversed(ledger.paths[row.leaf.index]))

    def _group_state(self, row: GroupRow, *, is_held: bool, binds: bool, evicts: bool) -> GroupState:
        if evicts:
            return "makes room"
        if binds:
            return "starts"
        if is_held:
            return "waits"
        return "runs" if any(pod.node_name and pod.is_live for pod in row.pods.values()) else "has ended"

    def _order(self, row: GroupRow) -> Order | None:
        tables, is_full = self._engine.tables, not self.plan.binds
        return place_in_order(tables, self.present.configuration, self.present.now, row.key, is_full=is_full)

    def _counts(self, row: GroupRow) -> PodCounts:
        live = [pod for pod in row.pods.values() if pod.is_live and not pod.is_terminating]
        placed = sum(bool(pod.node_name) for pod in live)
        return PodCounts(exist=len(live), placed=placed, least=row.min_member)

    def _nodes(self, row: GroupRow) -> NodeAnswer | None:
        """What the nodes lack for the kind of pods of which the least part finds room."""
        group = self._inspection.group(row)
        pods = for_next_turn(group) or group.pending[:1]
        if not pods or row.leaf is None or not self._inspection.tables.node_list:
            return None
        with self._inspection.without_held_room():
            count, found = self._least_fitting(pods)
        return NodeAnswer(
            nodes=found.nodes, taking=found.taking, pods=count, fits=found.fits, clauses=found.clauses
        )

    def _least_fitting(self, pods: list[PodRow]) -> tuple[int, NodeTally]:
        kinds: dict[object, list[PodRow]] = {}
        for pod in pods:
            kinds.setdefault(pod.shape, []).append(pod)
        tallies = [(len(kind), tally(self._inspection.nodes, kind[0], len(kind))) for kind in kinds.values()]
        return min(tallies, key=lambda one: one[1].fits / one[0])

    def _placement(self, row: GroupRow) -> Placement | None:
        actions = self.present.configuration.actions
        if not any(pod.node_name and pod.is_live for pod in row.pods.values()):
            return None
        inspection = self._decided_before(actions[0] if actions else "")
        return placement_of(inspection, row.key, self.subject.key)


def _with_times(value: object, name: str = "") -> object:
    if isinstance(value, dict):
        return {key: _with_times(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_times(one) for one in value]
    return time_to_come(value) if name in _TIMES and isinstance(value, int | float) else value


def with_changes(known: GroupExplanation, search: Search) -> GroupExplanation:
    """An explanation with the smallest changes that were found."""
    answers = tuple(ChangeAnswer(change=change, victims=effect.victims) for change, effect in search.found)
    found = ChangesAnswer(tries=search.tries, is_complete=search.is_complete, changes=answers)
    if search.starts is None:
        return msgspec.structs.replace(known, changes=found)
    state: GroupState = "makes room" if search.starts.victims else "starts"
    return msgspec.structs.replace(known, state=state, evicts=search.starts.victims, changes=found)
