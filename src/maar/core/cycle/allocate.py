"""Allocate and backfill: turn by turn, pods go to nodes while their queue may take them.

First every queue within what it deserves; what is still idle then is lent. A turn places the pods that make a
group ready, or one more pod of a ready group, or nothing. What is reserved is never given away.
"""

from collections.abc import Callable, Sequence

from maar.core.cycle.order import Phase, Turns
from maar.core.cycle.refusals import at_fair_share, at_real_capability, more_telling, reserved
from maar.core.cycle.room import NOWHERE
from maar.core.cycle.state import GroupState, State
from maar.core.model.reasons import Held, Reason
from maar.core.tables.axis import Needs
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape

Limit = Callable[[int, Needs], Held | None]  # what keeps a leaf from using this much more
Wanted = Callable[[GroupState], list[PodRow]]


def allocate(state: State) -> None:
    """Keep promises, share out what queues deserve, then lend what is idle."""
    keep_promises(state)
    limits = Limits(state)
    _take_turns(state, "fair", limits.deserved, for_allocate)
    _take_turns(state, "lent", limits.lent, for_allocate)
    for group in state.waiting():
        group.was_unschedulable = state.is_admitted(group) and bool(group.pending) and not group.is_ready


def backfill(state: State) -> None:
    """Place pods that ask for nothing, in allocate's order; gangs hold."""
    is_gang = state.configuration.asks("gang", "enableJobReady")
    _take_turns(state, "fair", lambda _leaf, _needs: None, for_backfill, is_gang=is_gang)


def keep_promises(state: State) -> None:
    """Bind the pods that were promised a node, a group's together, once their room is free."""
    by_group: dict[str, list[PodRow]] = {}
    for pod, _ in state.promised.values():
        by_group.setdefault(pod.group_key, []).append(pod)
    for key in sorted(by_group):
        pods = sorted(by_group[key], key=lambda pod: pod.order)
        nodes = {pod.key: state.break_promise(pod) for pod in pods}
        with state.trial() as trial:
            bound = all(not state.places.claims.unbound(pod.shape) and _bind_best(state, pod) for pod in pods)
            if bound and _is_enough(state, pods):
                trial.keep()
        if not trial.is_kept:
            for pod in pods:
                state.promise(pod, nodes[pod.key])
            if not _is_enough(state, pods):
                _release(state, pods)


def _is_enough(state: State, pods: Sequence[PodRow]) -> bool:
    """Whether the pods' group is ready with them where they are now."""
    return all(pod.group is None or state.group(pod.group).is_ready for pod in pods)


def _release(state: State, pods: Sequence[PodRow]) -> None:
    """Let promises go that no longer make a gang; the pods wait again."""
    for pod in pods:
        state.break_promise(pod)
        if pod.group is not None:
            group = state.group(pod.group)
            group.pending = sorted([*group.pending, pod], key=lambda one: one.order)


class Limits:
    """What a queue may use, as refusals with their numbers."""

    def __init__(self, state: State) -> None:
        self.state, self.books = state, state.books
        self._asks_deserved = state.configuration.asks("proportion", "enabledAllocatable")

    def deserved(self, leaf: int, needs: Needs) -> Held | None:
        """A queue and all above it stay within what they deserve."""
        if self._asks_deserved:
            short = self.books.beyond(leaf, needs, self.books.deserved)
            if short is not None:
                return at_fair_share(self.state, short)
        return self.lent(leaf, needs)

    def lent(self, leaf: int, needs: Needs) -> Held | None:
        """A queue and all above it stay within their real capability, and nothing reserved is given away."""
        short = self.books.beyond(leaf, needs, self.books.real)
        if short is not None:
            return at_real_capability(self.state, short)
        short = self.books.gives_away(leaf, needs)
        return None if short is None else reserved(self.state, short)


def _take_turns(state: State, phase: Phase, limit: Limit, wanted: Wanted, *, is_gang: bool = True) -> None:
    """Give turns until nobody is left who can use one; a group without a turn steps back."""
    hopeless: set[Shape] = set()  # shapes that found no node: there will not be more room in this phase
    waiting = [group for group in state.waiting() if state.is_admitted(group) and wanted(group)]
    turns = Turns(state, phase, waiting)
    while group := turns.next():
        turn = Turn(state, group, limit, hopeless)
        if turn.succeeds(wanted(group), is_gang=is_gang):
            bound, promised = state.bound, state.promised
            group.pending = [pod for pod in group.pending if pod.key not in bound and pod.key not in promised]
            group.held = None
            if group.pending and wanted(group):
                turns.again(group)
            else:
                turns.done(group)
            continue
        group.held = more_telling(group.held, turn.held)
        turns.done(group)
        if wanted is for_allocate and state.books.rows[group.leaf].queue.spec.dequeue_strategy == "fifo":
            for behind in turns.stop(group.leaf):
                behind.held = Held(
                    reason=Reason.BEHIND_FIRST_IN_QUEUE, queue=behind.row.queue_name, others=(group.row.key,)
                )


class Turn:
    """One turn of one group."""

    def __init__(self, state: State, group: GroupState, limit: Limit, hopeless: set[Shape]) -> None:
        self.state, self.group, self.limit = state, group, limit
        self.hopeless, self.failed = hopeless, set[Shape]()
        self.chosen: dict[str, PodRow] = {}
        self.held: Held | None = None

    def succeeds(self, pods: Sequence[PodRow], *, is_gang: bool) -> bool:
        """Place what makes the group ready, or one more pod; where that cannot be done, nothing stays."""
        lacking, tasks = self.group.missing() if is_gang else (0, {})
        first = pods[: max(lacking, 1)]
        if not tasks and len(pods) >= lacking and self._are_equal(first):
            if self._succeeds_together(first):
                return True
            if len(pods) == len(first):
                return False
        with self.state.trial() as trial:
            if self._finds_enough(pods, lacking, tasks):
                trial.keep()
        if trial.is_kept:
            self._wait_for_claims()
        return trial.is_kept

    def _finds_enough(self, pods: Sequence[PodRow], lacking: int, tasks: dict[str, int]) -> bool:
        """Place pods of tasks that have a minimum first, then others, until the group is ready."""
        for pod in pods if tasks else ():
            if tasks.get(pod.task, 0) > 0 and self._takes(pod):
                tasks[pod.task] -= 1
        for pod in pods:
            if len(self.chosen) >= max(lacking, 1):
                break
            if pod.key not in self.chosen:
                self._takes(pod)
        return bool(self.chosen) and len(self.chosen) >= lacking and not any(tasks.values())

    def _wait_for_claims(self) -> None:
        """Where claims bind on first consumer, the whole turn keeps its nodes and binds once they have."""
        state = self.state
        claims = {pod.key: state.places.claims.unbound(pod.shape) for pod in self.chosen.values()}
        if any(claims.values()):
            for pod in self.chosen.values():
                node = state.unbind(pod)
                state.promise(pod, node)
                state.selections.update(dict.fromkeys(claims[pod.key], node))

    def _are_equal(self, pods: Sequence[PodRow]) -> bool:
        """Whether pods can be placed as one: of one shape, and no more than room decides where they go."""
        shape = pods[0].shape
        return (
            not shape.claims
            and all(pod.shape is shape for pod in pods)
            and not self.state.places.minds(pods[0])
        )

    def _succeeds_together(self, pods: Sequence[PodRow]) -> bool:
        """Place equal pods: what their queue may use is asked and counted once."""
        state, shape = self.state, pods[0].shape
        together = (
            shape.needs
            if len(pods) == 1
            else tuple([(row, amount * len(pods)) for row, amount in shape.needs])
        )
        self.held = state.places.never(pods[0]) or self.limit(self.group.leaf, together)
        if self.held is not None:
            return False
        nodes: list[int] = []
        while shape not in self.hopeless and len(nodes) < len(pods):
            node = state.places.best(pods[len(nodes)], "now")
            if node == NOWHERE:
                break
            state.room.change(node, shape.needs, 1, 1)
            nodes.append(node)
        if len(nodes) == len(pods):
            state.bind_together(self.group, pods, nodes)
            return True
        for node in nodes:
            state.room.change(node, shape.needs, -1, -1)
        if not nodes:
            self.hopeless.add(shape)
        self.held = state.places.why_not(pods[0])
        return False

    def _takes(self, pod: PodRow) -> bool:
        """Place one pod; what has failed once in a turn fails for all pods of its shape."""
        shape = pod.shape
        if shape in self.failed:
            return False
        held = self.state.places.never(pod) or self.limit(self.group.leaf, shape.needs)
        held = held or self._cannot_be_placed(pod)
        if held is None:
            self.chosen[pod.key] = pod
            return True
        self.failed.add(shape)
        self.held = self.held or held
        return False

    def _cannot_be_placed(self, pod: PodRow) -> Held | None:
        if pod.shape not in self.hopeless:
            node = self.state.places.best(pod, "now")
            if node != NOWHERE:
                self.state.bind(pod, node)
                return None
            if not self.chosen and not self.state.places.minds(pod):
                self.hopeless.add(pod.shape)
        if self.chosen:
            return Held(reason=Reason.NOT_ENOUGH_RESOURCES)  # there is room for some, not for all
        return self.state.places.why_not(pod)


def for_allocate(group: GroupState) -> list[PodRow]:
    """The pods that allocate places: those that ask for something, and all of a gang that mixes both."""
    asking = [pod for pod in group.pending if not pod.shape.asks_for_nothing]
    return group.pending if asking and len(asking) < len(group.pending) and not group.is_ready else asking


def for_backfill(group: GroupState) -> list[PodRow]:
    """The pods that backfill places: those that ask for nothing."""
    return [pod for pod in group.pending if pod.shape.asks_for_nothing]


def for_eviction(group: GroupState) -> list[PodRow]:
    """The pods of the group's next turn that may push others out; nobody where they are too few."""
    pods = [pod for pod in group.pending if not pod.never_preempts]
    lacking, tasks = group.missing()
    chosen: list[PodRow] = []
    for pod in pods:
        if tasks.get(pod.task, 0) > 0:
            tasks[pod.task] -= 1
            chosen.append(pod)
    for pod in pods:
        if len(chosen) >= max(lacking, 1):
            break
        if pod not in chosen:
            chosen.append(pod)
    return chosen if len(chosen) >= lacking and not any(tasks.values()) else []


def _bind_best(state: State, pod: PodRow) -> bool:
    node = state.places.best(pod, "now")
    if node != NOWHERE:
        state.bind(pod, node)
    return node != NOWHERE
