"""Evictions: every group that waits, in allocate's order, tries to make room until none succeeds.

Thousands may wait, and they are of few kinds (`tables/alike.py`): one that fails stands for those behind it.
They would have failed too until another succeeds, and what had its turn before that is done. Between two
successes nothing changes the order of queues and namespaces, so it is all of a leaf before the next one has
turns, and in its only namespace what comes before the group that succeeds; those that come after it have
turns of their own. Where a leaf has several namespaces, the ages of groups that are done decide between them,
and each of its groups has its own turn, unless one of each kind shows that all fail.
"""

from collections.abc import Sequence

from maar.core.cycle.attempt import Attempt
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.protected_until import ProtectedUntil
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import Job, TurnOrder
from maar.core.cycle.units import Unit
from maar.core.cycle.victim_search import VictimSearch
from maar.core.model.reasons import Refusal
from maar.core.tables.groups import ADMITTED_PHASES


def evict(state: State, attempt: type[Attempt]) -> None:
    """Let every group try; one that succeeds has another turn while more of its pods wait.

    A failure leaves everything as it was. Until an attempt succeeds, all with the same equivalence key would
    fail too and are skipped: in a full cluster many groups wait, and they are of few kinds.
    """
    mixed = _leaves_of_several_namespaces(_waiting(state))
    if mixed and _all_fail(state, attempt, _waiting(state)):
        return
    state.groups.separate_all(group for group in _waiting(state) if group.leaf in mixed)
    search, turns = VictimSearch(state, attempt.action), _Turns(state, _waiting(state))
    failed: dict[object, Refusal | None] = {}  # by equivalence key: what blocked it, where known
    alike: dict[object, list[GroupState]] = {}  # the groups that have failed, by equivalence key
    failed_before = list[GroupState]()  # an attempt that succeeded afterwards
    while group := turns.next():
        if state.groups.have_alike_equal_turns and attempt.cannot_succeed(search, group):
            turns.failed(group)
            continue
        one = attempt(search, group)
        equivalence_key = _equivalence_key(one)
        is_tried, job = equivalence_key not in failed, turns.order.job(group)
        victims = state.held_room.without_hold(group, one.succeeds) if is_tried else None
        if victims is None:
            failed.setdefault(equivalence_key, one.blocked)
            group.refusal = failed[equivalence_key] or group.refusal
            alike.setdefault(equivalence_key, []).append(group)
            turns.failed(group)
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
    """The leaves in which groups of several namespaces wait, some of which stand for others."""
    namespaces = dict[int, set[str]]()
    for group in groups:
        namespaces.setdefault(group.leaf, set()).add(group.row.namespace)
    return {group.leaf for group in groups if group.alike is not None and len(namespaces[group.leaf]) > 1}


class _Turns:
    """The order of turns, in which those behind a group that failed may have turns after another succeeds."""

    def __init__(self, state: State, groups: Sequence[GroupState]) -> None:
        self._state, self.order = state, TurnOrder(state, "fair", groups)
        self._failed = list[GroupState]()  # since one succeeded, of the leaf whose turn it is

    def next(self) -> GroupState | None:
        """The group whose turn it is; None when none is left."""
        group = self.order.next()
        if group is not None and self._failed and self._failed[0].leaf != group.leaf:
            self._failed.clear()  # all that they stand for would have failed by now
        return group

    def failed(self, group: GroupState) -> None:
        """A group whose turn it was has no more, and those behind it have none until another succeeds."""
        self.order.done(group)
        if group.alike is not None:
            self._failed.append(group)

    def succeeded(self, group: GroupState, job: Job, victims: Sequence[Unit]) -> None:
        """A group has another turn if it still waits; so have those that come after where it was."""
        groups, order = self._state.groups, self.order
        order.add_behind(group, groups.separate(group))
        for one in self._failed:
            place = order.first_after(job, one)
            if one.alike is not None and place < len(one.alike.rows):
                order.add_behind(one, groups.separate_before(one, place))
        self._failed.clear()
        if group.pending:
            order.again(group)
        else:
            order.done(group)
        for victim in {unit.group.row.key: unit.group for unit in victims}.values():
            order.refresh_group(victim)


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
            if one.find() is not None:
                state.groups.forget_all_but(known)
                return False
            failed[equivalence_key] = one.blocked
            alike[equivalence_key] = []
        alike[equivalence_key].append(group)
    for equivalence_key, groups in alike.items():
        for group in groups:
            group.refusal = failed[equivalence_key] or group.refusal
    return True


def _note_protection(attempts: list[tuple[object, Attempt, list[GroupState]]]) -> None:
    """Give the reason to those that would succeed later, as things are once all have tried."""
    until = ProtectedUntil()
    for equivalence_key, one, groups in attempts:
        for group in groups:
            until.note(one, equivalence_key, group)


def _equivalence_key(attempt: Attempt) -> object:
    return attempt.equivalence_key() if attempt.is_like_others() else attempt.group
