"""Evictions: every group that waits, in allocate's order, tries to make room until none succeeds.

Thousands may wait, and they are of few kinds (`tables/alike.py`): one that fails stands for those behind it.
They would have failed too until another succeeds, and what had its turn before that is done. Between two
successes nothing changes the order of queues and namespaces, so it is all of a leaf before the next one has
turns, and in its only namespace what comes before the group that succeeds; those that come after it have
turns of their own. Where a leaf has several namespaces, the ages of groups that are done decide between them,
and each of its groups has its own turn, unless one of each kind shows that all fail.
"""

from collections.abc import Collection, Iterable, Sequence

from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.protected_until import ProtectedUntil
from maar.core.cycle.evicting.units import Unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import Job, TurnOrder
from maar.core.model.reasons import Refusal
from maar.core.tables.groups import ADMITTED_PHASES


def evict(state: State, attempt: type[Attempt]) -> None:
    """Let every group try; one that succeeds has another turn while more of its pods wait.

    A failure leaves everything as it was. Until an attempt succeeds, all with the same equivalence key would
    fail too and are skipped: in a full cluster many groups wait, and they are of few kinds.
    """
    waiting = _waiting(state)
    mixed = _leaves_of_several_namespaces(waiting)
    standing_for_others = [group for group in waiting if group.alike is not None and group.leaf in mixed]
    if not waiting or (standing_for_others and _all_fail(state, attempt, waiting)):
        return
    state.groups.separate_all(standing_for_others)
    search, turns = VictimSearch(state, attempt.action), _Turns(state, _waiting(state), mixed)
    failed: dict[object, Refusal | None] = {}  # by equivalence key: what blocked it, where known
    alike: dict[object, list[GroupState]] = {}  # the groups that have failed, by equivalence key
    failed_before = list[GroupState]()  # an attempt that succeeded afterwards
    while group := turns.next():
        if attempt.cannot_succeed(search, group):
            turns.failed(group)
            continue
        one = attempt(search, group)
        equivalence_key = _equivalence_key(one)
        is_tried, job = equivalence_key not in failed, turns.order.job(group)
        victims = state.held_room.without_hold(group, one.try_evict) if is_tried else None
        if victims is None:
            blocked = failed.setdefault(equivalence_key, one.blocked)
            alike.setdefault(equivalence_key, []).extend(turns.failed(group, blocked))
            continue
        failed.clear()
        search.without_victims.clear()
        failed_before += [one for groups in alike.values() for one in groups]
        alike.clear()
        group.pending = [pod for pod in group.pending if pod.key not in state.promised]
        search.refresh(group)
        turns.succeeded(group, job, victims)
    if search.min_runtimes.lengths:
        for group in failed_before:
            one = attempt(search, group)
            equivalence_key = _equivalence_key(one)
            if equivalence_key in alike or one.find() is None:
                alike.setdefault(equivalence_key, []).append(group)
        _note_protection([(key, attempt(search, groups[0]), groups) for key, groups in alike.items()])


def _waiting(state: State) -> list[GroupState]:
    return [group for group in state.waiting if group.pending and group.phase in ADMITTED_PHASES]


def _leaves_of_several_namespaces(groups: Sequence[GroupState]) -> set[int]:
    """The leaves in which groups of several namespaces wait."""
    namespaces = dict[int, set[str]]()
    for group in groups:
        namespaces.setdefault(group.leaf, set()).add(group.row.namespace)
    return {leaf for leaf, names in namespaces.items() if len(names) > 1}


class _Turns:
    """The order of turns, in which those behind a group that failed may have turns after another succeeds.

    A group stands for those of its kind that it stood for before, or that were separated and hold nothing.
    """

    def __init__(self, state: State, groups: Sequence[GroupState], mixed: Collection[int]) -> None:
        """Every group has its own turns in leaves of several namespaces."""
        self._state = state
        self._behind = _first_of_kinds(group for group in groups if group.leaf not in mixed)
        standing_for = {one for behind in self._behind.values() for one in behind}
        self.order = TurnOrder(state, "fair", [group for group in groups if group not in standing_for])
        # Those that failed since one succeeded, of the leaf whose turn it is, and what they were told before.
        self._failed = list[tuple[GroupState, Refusal | None]]()

    def next(self) -> GroupState | None:
        """The group whose turn it is; None when none is left."""
        group = self.order.next()
        if group is not None and self._failed and self._failed[0][0].leaf != group.leaf:
            self._failed.clear()  # all that they stand for would have failed by now
        return group

    def failed(self, group: GroupState, blocked: Refusal | None = None) -> Sequence[GroupState]:
        """A group whose turn it was has no more, and those behind it have none until another succeeds.

        Where it is told what blocks it, each of those that have states is told so in its own turn. Gives it
        and those that fail with it.
        """
        before, group.refusal = group.refusal, blocked or group.refusal
        for behind in self._behind.pop(group, ()) if blocked is not None else ():
            self.order.add_behind(group, behind)
        self.order.done(group)
        if group.alike is not None or group in self._behind:
            self._failed.append((group, before))
        return (group, *self._behind.get(group, ()))

    def succeeded(self, group: GroupState, job: Job, victims: Sequence[Unit]) -> None:
        """A group has another turn if it still waits; so have those that come after where it was."""
        order = self.order
        order.add_behind(group, self._next_after_success(job, group))
        for one, refusal in self._failed:
            behind = self._next_after(job, one)
            order.add_behind(one, behind)
            if behind is not None and behind.alike is not None:
                behind.refusal = refusal
        self._failed.clear()
        if group.pending:
            order.again(group)
        else:
            order.done(group)
        for victim in {unit.group.row.key: unit.group for unit in victims}.values():
            order.refresh_group(victim)

    def _next_after_success(self, job: Job, group: GroupState) -> GroupState | None:
        """The same of a group that has succeeded, and stands for itself alone from now on."""
        if group.alike is None:
            return self._next_after(job, group)
        behind = self._state.groups.separate(group)
        if behind is None:
            return None
        place = behind.place + self.order.first_after(job, behind, behind.rows)
        return behind if place == behind.place else self._state.groups.split(behind, place)

    def _next_after(self, job: Job, group: GroupState) -> GroupState | None:
        """The first of those that a group stands for and that come after a job; it stands for the rest."""
        behind = self._behind.pop(group, ())
        if group.alike is not None:
            place = group.place + self.order.first_after(job, group, group.rows)
            return self._state.groups.split(group, place)
        place = self.order.first_after(job, group, [one.row for one in behind])
        if place == len(behind):
            return None
        self._behind[behind[place]] = behind[place + 1 :]
        return behind[place]


def _first_of_kinds(groups: Iterable[GroupState]) -> dict[GroupState, Sequence[GroupState]]:
    """The first of each kind among groups that have states of their own and hold nothing, and the others."""
    kinds = dict[int, list[GroupState]]()
    for group in groups:
        if group.row.kind is not None and group.alike is None and not group.placed:
            kinds.setdefault(id(group.row.kind), []).append(group)
    found = dict[GroupState, Sequence[GroupState]]()
    for alike in kinds.values():
        first, *others = sorted(alike, key=lambda group: group.row.order)
        found[first] = others
    return {first: others for first, others in found.items() if others}


def _all_fail(state: State, attempt: type[Attempt], waiting: Sequence[GroupState]) -> bool:
    """Whether groups of which some stand for others that are alike all fail; nothing is changed if not.

    What groups are told that blocks them is told them here where all fail.
    """
    if all(group.alike is None for group in waiting):
        return False
    known, search = state.groups.known(), VictimSearch(state, attempt.action)
    failed: dict[object, Refusal | None] = {}
    alike: dict[object, list[GroupState]] = {}
    for group in waiting:
        if attempt.cannot_succeed(search, group):
            continue
        one = attempt(search, group)
        equivalence_key = _equivalence_key(one)
        if equivalence_key not in failed:
            if _would_succeed(state, one):
                state.groups.forget_all_but(known)
                return False
            failed[equivalence_key] = one.blocked
            alike[equivalence_key] = []
        alike[equivalence_key].append(group)
    for equivalence_key, groups in alike.items():
        for group in groups:
            group.refusal = failed[equivalence_key] or group.refusal
    if search.min_runtimes.lengths:
        _note_protection([(key, attempt(search, groups[0]), groups) for key, groups in alike.items()])
    return True


def _would_succeed(state: State, attempt: Attempt) -> bool:
    """Whether an attempt finds a lawful set; the group goes on holding the room that it holds."""
    hold = state.held_room.of(attempt.group)
    found = state.held_room.without_hold(attempt.group, attempt.find)
    if found is not None and hold is not None:
        state.held_room.hold_again(hold)
    return found is not None


def _note_protection(attempts: list[tuple[object, Attempt, list[GroupState]]]) -> None:
    """Give the reason to those that would succeed later, as things are once all have tried."""
    until = ProtectedUntil()
    for equivalence_key, one, groups in attempts:
        for group in groups:
            if until.may_note(one, equivalence_key):
                for each in one.state.groups.by_age_of_refusal(group):
                    until.note(one, equivalence_key, each)


def _equivalence_key(attempt: Attempt) -> object:
    return attempt.equivalence_key() if attempt.is_like_others() else attempt.group
