"""Planned starts: when each waiting group starts, how sure that is, and what it waits for.

The problem. Users ask when their job starts. Nobody can know what will be submitted and what will
fail; what can be said is when it starts if nothing else happens: the engine goes on deciding from
the objects as they are, and pods end when they are expected to (docs/planned-starts.md).

How it works. The future is simulated until all groups in question have started, or nothing more can
happen. A group starts with the first decision that binds pods of it. That start is as sure as the
ends of all pods that ran before: an end that is moved by a second can change every decision after
it. So it is exact where all of them are stated, and where it starts at once. Pods of DaemonSets and
of the system do not count: they run for ever.

A group that does not start is unknown, because of pods that run for ever as far as anybody knows,
or because the engine refuses it whoever ends.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from math import inf
from typing import Final, NamedTuple

from maar.core.answers.future import EndsNotStated, Future, Present, Start, StoppedError
from maar.core.answers.starts.first import MANY, count_waiting
from maar.core.model.durations import time_to_come
from maar.core.model.plan import GroupOutcome, Plan
from maar.core.model.reasons import Cure, Reason, Refusal
from maar.core.simulation.collection import without_collection
from maar.core.tables.groups import is_finished, is_ready
from maar.core.tables.rows import GroupRow
from maar.core.tables.tables import Tables

_ROUNDED: Final = 0.05  # part of the time until then, where many wait
_FEW: Final = 3  # names in one sentence
_FINAL: Final = (  # no end of a pod changes that
    Reason.BAD_OBJECT,
    Reason.QUEUE_MISSING,
    Reason.QUEUE_NOT_LEAF,
    Reason.QUEUE_SET_ASIDE,
    Reason.SCHEDULING_GATED,
    Reason.NOT_ENOUGH_TASKS,
    Reason.NOT_ENOUGH_PODS_OF_TASK,
    Reason.EXCEEDED_QUOTA,
)
_ENDS_HELP: Final = (Cure.OTHERS_FINISH, Cure.SHARE_GROWS, Cure.LIMIT_CHANGES, Cure.TIME_PASSES)


@without_collection()
def planned_starts(
    present: Present,
    *,
    first: int | None = None,
    groups: Collection[str] | None = None,
    precision: float | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> dict[str, Start]:
    """When waiting groups start: all of them, the first of each leaf queue, or those that are named.

    A group that is named and does not wait is left out. With a precision (0.05: five percent of the time
    until then) it takes a fraction of the time, and no start but one at once is exact. Unless it is given,
    times are rounded where thousands wait. When it is no longer wanted, those that were not found are
    unknown, and it is said before when they do not start.
    """
    if precision is None:
        precision = _ROUNDED if count_waiting(present.objects) > MANY else 0.0
    future = Future(present, precision, is_wanted=is_wanted)
    asked = waiting_groups(future.tables(), first, groups)
    return _StartSearch(future, asked).starts() if asked else {}


class _StartSearch:
    """The starts of some groups in one future."""

    def __init__(self, future: Future, asked: list[str]) -> None:
        self.future, self.asked, self.engine = future, asked, future.simulation.engine
        self._may_grow = future.may_total_change()
        self._sureness = _Sureness(future.not_stated, future.precision)
        self._left = dict.fromkeys(asked)
        self._found: dict[str, Start] = {}
        self._waits_for: dict[str, str] = {}
        self._unread = dict.fromkeys(asked)  # whose reasons have not been read since they have pods

    def starts(self) -> dict[str, Start]:
        """Go on until all have started, nothing more can happen, or the answer is no longer wanted."""
        try:
            self._run()
        except StoppedError:
            start = _not_before(self.future.simulation.time)
            self._found.update(dict.fromkeys(self._left, start))
        return {key: self._with_reason(key, self._found[key]) for key in self.asked}

    def _run(self) -> None:
        for time, plan in self.future.run():
            self._sureness.decide_at(time)
            for key in _bound(self.future, plan):
                if key in self._left:
                    self._found[key] = self._sureness.of_start(key, time)
                    del self._left[key]
            self._read_reasons(plan)
            if not self._left:
                return
        self._give_up()

    def _read_reasons(self, plan: Plan) -> None:
        """Find groups that are refused whoever ends: they need no simulation.

        What holds a group is of interest at first, and once its pods are there.
        """
        have_pods = {key: None for key in self._unread if not self.future.has_pods_to_come(key)}
        if self.future.simulation.is_brief:
            self.future.simulation.is_brief = not have_pods
            return
        outcomes = plan.pod_groups
        have_pods |= {  # the pods that are to come cannot be created
            key: None for key in self._unread if _is_of_quota(outcomes.get(key))
        }
        if not self._waits_for:
            self._waits_for = {key: outcomes[key].message for key in self.asked if key in outcomes}
        for key in have_pods:
            del self._unread[key]
            if key in self._left and _is_final(outcomes, key, self.future, may_grow=self._may_grow):
                del self._left[key]
                self._found[key] = _never(outcomes.get(key))
        self.future.simulation.is_brief = True

    def _give_up(self) -> None:
        """Say why those that are left do not start."""
        outcomes = self.engine.decide(self.future.simulation.time).pod_groups
        stays = [*self.future.still_running()]
        for key in self._left:
            outcome = outcomes.get(key)
            refusal = outcome.refusal if outcome is not None else None
            others = [] if refusal is None else [one for one in stays if self._may_be_for(one, key, refusal)]
            is_held = refusal is not None and _may_be_lent_or_freed(refusal)
            self._found[key] = (
                _after(self.future.not_stated, others) if is_held and others else _never(outcome)
            )

    def _may_be_for(self, pod: str, group: str, refusal: Refusal) -> bool:
        """Whether the end of a pod may let a group start: it is another's, and below the limit that binds."""
        tables = self.engine.tables
        row, queue = tables.pods[pod], tables.queues.get(refusal.queue)
        if row.group_key == group:
            return False
        if refusal.reason != Reason.QUEUE_AT_CAPABILITY or refusal.further or queue is None:
            return True
        leaf = None if row.group is None else row.group.leaf
        return leaf is not None and queue.index in tables.paths[leaf.index]

    def _with_reason(self, key: str, start: Start) -> Start:
        """A start with what holds the group at present, unless it starts at once."""
        is_now = start.time == self.future.began
        return start if is_now else start._replace(waits_for=self._waits_for.get(key, ""))


def waiting_groups(
    tables: Tables, first: int | None = None, named: Collection[str] | None = None
) -> list[str]:
    """The groups that wait for their start, or the first of each leaf queue, or those that are named.

    The first of a queue are the first of its namespaces, one after the other, by priority and then by age.
    """
    waiting = [row for row in tables.groups.values() if _waits(row) and (named is None or row.key in named)]
    if first is None:
        return [row.key for row in waiting]
    ranks: dict[tuple[str, str], int] = {}
    chosen: dict[str, list[tuple[int, int, GroupRow]]] = {}
    for row in sorted(waiting, key=lambda one: (-one.priority, one.order)):
        rank = ranks[row.queue_name, row.namespace] = ranks.get((row.queue_name, row.namespace), 0) + 1
        if rank <= first:
            chosen.setdefault(row.queue_name, []).append((rank, len(ranks), row))
    return [row.key for rows in chosen.values() for _, _, row in sorted(rows, key=lambda one: one[0])[:first]]


def _waits(row: GroupRow) -> bool:
    """Whether a group is not ready, or is without any minimum and has nothing on a node yet."""
    if is_finished(row):
        return False
    return not is_ready(row) or bool(row.pending and not row.placed)


def _bound(future: Future, plan: Plan) -> Iterable[str]:
    pods = future.simulation.engine.tables.pods
    return {pods[one.pod].group_key: None for one in plan.binds}


def _may_be_lent_or_freed(refusal: Refusal) -> bool:
    """Whether the end of others may help; what a queue has beyond its share is lent to it once it is idle."""
    return refusal.cure in _ENDS_HELP or refusal.reason == Reason.QUEUE_AT_FAIR_SHARE


def _is_final(outcomes: Mapping[str, GroupOutcome], key: str, future: Future, *, may_grow: bool) -> bool:
    """Whether a group is refused whoever ends.

    One that is too large for the cluster stays so, unless pods of its own hold room of it, or pods of others
    that count as no part of it.
    """
    outcome = outcomes.get(key)
    if outcome is None:
        return True  # it has no pods, and no leaf queue that it could be admitted to
    refusal = outcome.refusal
    if refusal is None or refusal.cure != Cure.NEVER:
        return refusal is not None and refusal.reason in _FINAL and refusal.cure not in _ENDS_HELP
    pods = future.simulation.engine.tables.groups[key].pods.values()
    return not may_grow and not any(pod.node_name for pod in pods)


def _is_of_quota(outcome: GroupOutcome | None) -> bool:
    """Whether a ResourceQuota refuses pods of a group."""
    refusal = outcome.refusal if outcome is not None else None
    return refusal is not None and refusal.reason == Reason.EXCEEDED_QUOTA


# --- sentences


class _Doubt(NamedTuple):
    """Pods of one kind whose ends are not stated."""

    pods: Iterable[str]
    number: int
    one: str
    many: str

    @property
    def text(self) -> str:
        """How many, what of them, and the first few."""
        what = self.one if self.number == 1 else self.many
        return f"{self.number} {what} ({_named(self.pods, self.number)})"


class _Sureness:
    """How sure starts are: by what had run before the moment of the last decision."""

    def __init__(self, not_stated: EndsNotStated, precision: float) -> None:
        self._not_stated = not_stated
        self._rounded = (
            f"Times are rounded by up to {precision:.0%} of the time until then." if precision else ""
        )
        self._is_first = True
        self._moment = inf
        self._before = (0,) * len(not_stated.counts)  # a start at once depends on nothing
        self._latest = self._before
        self._texts: dict[tuple[int, ...], str] = {}

    def decide_at(self, time: float) -> None:
        """A decision was made at a time; what its binds begin, and those before at the time, is no cause."""
        if time > self._moment:
            self._before, self._is_first = self._latest, False
        self._moment, self._latest = time, self._not_stated.counts

    def of_start(self, group: str, time: float) -> Start:
        """The start of a group by the decision that is being looked at."""
        if group in self._not_stated.stand_in:
            pods = "Its pods do not exist yet: equal parts of its minResources stand for them. "
            return Start(time, "bound", f"{pods}{self._text()}".strip())
        text = self._text()
        return Start(time, "bound" if text else "exact", text)

    def _text(self) -> str:
        """What a start depends on that nobody has stated; empty where there is nothing."""
        counts = self._before
        known = self._texts.get(counts)
        if known is None:
            known = self._texts[counts] = _depends_on(self._not_stated, counts) if any(counts) else ""
        return known if self._is_first else f"{known} {self._rounded}".strip()


def _depends_on(ends: EndsNotStated, counts: tuple[int, ...]) -> str:
    deadline, median, unknown, overdue, stand_in = counts
    doubts = [
        _Doubt(ends.deadline, deadline, "pod that has only a deadline", "pods that have only deadlines"),
        _Doubt(
            ends.median,
            median,
            "pod that is expected to run as long as earlier ones",
            "pods that are expected to run as long as earlier ones",
        ),
        _Doubt(ends.unknown, unknown, "pod whose end is unknown", "pods whose ends are unknown"),
        _Doubt(ends.overdue, overdue, "pod that is overdue", "pods that are overdue"),
        _Doubt(ends.stand_in, stand_in, "group without pods yet", "groups without pods yet"),
    ]
    return f"It depends on {_listed([one.text for one in doubts if one.number])}."


def _after(ends: EndsNotStated, stays: list[str]) -> Start:
    """Unknown because of pods that run on."""
    ordered = [*(one for one in stays if one in ends.overdue), *(one for one in stays if one in ends.unknown)]
    overdue = sum(one in ends.overdue for one in stays)
    late = f", {overdue} of them overdue" if overdue else ""
    pods = (
        "a pod whose end is unknown" if len(ordered) == 1 else f"{len(ordered)} pods whose ends are unknown"
    )
    return Start(
        None,
        "unknown",
        f"It waits for {pods}{late}: {_named(ordered, len(ordered))}. "
        "The annotation maar.sh/expected-runtime on a pod or its job says how long it runs.",
    )


def _not_before(time: float) -> Start:
    return Start(
        None, "unknown", f"It does not start before {time_to_come(time)}; what comes then was not looked at."
    )


def _never(outcome: GroupOutcome | None) -> Start:
    message = outcome.message if outcome is not None else "it has no pods"
    if _is_of_quota(outcome):
        return Start(None, "unknown", f"Its pods cannot be created: {message}.")
    return Start(None, "unknown", f"It does not start when others end: {message}.")


def _named(names: Iterable[str], count: int) -> str:
    few = [*islice(names, min(_FEW, count))]
    return ", ".join(few) if count <= _FEW else f"{', '.join(few)} and {count - _FEW} more"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
