"""When an attempt that failed would succeed, if nothing changes but the time.

The problem. Units may be left out of a search because of minimum run times alone
(`min_runtimes.py`). Then the group has the reason VictimsProtectedUntil with the earliest time from
which there is a lawful set, and the scheduler decides again at that time.

How it works. As time passes units are only added: what is lawful once remains so. So the times at
which a minimum run time ends are sorted, the search is done at the last of them, and if it succeeds
there, by bisection. A beneficiary becomes free to take younger pods by its own waiting too. That
differs between groups that are alike otherwise, so the earliest time is kept for each length of
waiting that matters (`lengths`), and for one group it is the earliest at which it has waited for so
long and there is a lawful set for those that have. Attempts with equal equivalence keys share these
times.
"""

from bisect import bisect_left
from math import inf
from typing import Final, NamedTuple

from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.units import Unit
from maar.core.cycle.group_state import GroupState
from maar.core.model.reasons import Cure, Reason, Refusal

_FEW: Final = 3  # names in one message


class _Found(NamedTuple):
    """A time from which there is a lawful set, and by which fields of queues it is protected until then."""

    time: float
    protected_by: tuple[str, ...]


class ProtectedUntil:
    """The times of attempts that failed; one object for as long as nothing that they depend on changes."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, float], _Found | None] = {}
        self._latest = inf  # the time that was found last

    def note(
        self, attempt: Attempt, equivalence_key: object, alike: GroupState | None = None
    ) -> Refusal | None:
        """Give the group of an attempt that has failed its reason, if it is protection for a time alone.

        Or another group whose attempt would have the same equivalence key. Where it has been given an earlier
        time already, by another action, that stays.
        """
        group = alike or attempt.group
        found = self._until(attempt, equivalence_key, group)
        if found is None:
            return None
        before = group.refusal
        attempt.state.times_to_come.append(found.time)
        if before is not None and before.until is not None and before.until <= found.time:
            return before
        group.refusal = Refusal(
            reason=Reason.VICTIMS_PROTECTED_UNTIL,
            cure=Cure.TIME_PASSES,
            queue=group.row.queue_name,
            others=found.protected_by,
            until=found.time,
        )
        return group.refusal

    def may_note(self, attempt: Attempt, equivalence_key: object) -> bool:
        """Whether groups of such an attempt have a time at which it would succeed."""
        return self._earliest(attempt, equivalence_key, attempt.waited) is not None

    def _until(self, attempt: Attempt, key: object, group: GroupState) -> _Found | None:
        lengths = attempt.search.min_runtimes.lengths
        found = self._earliest(attempt, key, attempt.waited)
        since = group.row.unschedulable_since
        if found is None or since is None or group.is_ready:
            return found
        for length in lengths:
            if attempt.waited < length < found.time - since:
                free = self._earliest(attempt, key, length)
                if free is not None:
                    found = min(found, free._replace(time=max(free.time, since + length)))
        return found

    def _earliest(self, attempt: Attempt, key: object, waited: float) -> _Found | None:
        """The earliest time for a beneficiary that has waited for so long, now or once it has."""
        if (key, waited) not in self._known:
            before = attempt.waited
            attempt.waited = waited
            self._known[key, waited] = self._search(attempt, before)
            attempt.waited, attempt.moment = before, attempt.state.now
        return self._known[key, waited]

    def _search(self, attempt: Attempt, waited_now: float) -> _Found | None:
        now, min_runtimes = attempt.state.now, attempt.search.min_runtimes
        if not attempt.is_worthwhile():
            return None
        leaves = [leaf for leaf in attempt.leaves() if min_runtimes.holds(leaf, waited_now)]
        pools = [attempt.search.pool(leaf, now, waited_now) for leaf in leaves]
        if not any(pool.may_gain(attempt.may_be_victim) for pool in pools):
            return None  # as time passes no unit is added
        ends = {end for leaf in leaves for end in attempt.units(leaf).ends}
        moments = sorted(ends if attempt.waited == waited_now else {now, *ends})
        if not moments:
            return None
        first, last, victims = self._between(attempt, moments)
        while first < last and victims is not None:
            middle = (first + last) // 2
            earlier = _victims_at(attempt, moments[middle])
            if earlier is None:
                first = middle + 1
            else:
                victims, last = earlier, middle
        if victims is None:
            return None
        self._latest = moments[last]
        return _Found(moments[last], _protecting(attempt, victims, leaves))

    def _between(self, attempt: Attempt, moments: list[float]) -> tuple[int, int, list[Unit] | None]:
        """Between which moments the earliest is, and a lawful set at the last of them; None: there is none.

        Groups of one queue mostly wait for the same victims, so it is looked for around the time of the last.
        """
        last, step = len(moments) - 1, 1
        near = bisect_left(moments, self._latest)
        victims = _victims_at(attempt, moments[last])
        if victims is None or near >= last:
            return 0, last, victims
        then = _victims_at(attempt, moments[near])
        if then is None:
            return near + 1, last, victims
        victims = then
        while near:
            before = max(near - step, 0)
            earlier = _victims_at(attempt, moments[before])
            if earlier is None:
                return before + 1, near, victims
            victims, near, step = earlier, before, 2 * step
        return 0, 0, victims


def _victims_at(attempt: Attempt, moment: float) -> list[Unit] | None:
    attempt.moment = moment
    return attempt.find()


def _protecting(attempt: Attempt, victims: list[Unit], leaves: list[int]) -> tuple[str, ...]:
    """The fields that protect the victims now; where they are lawful victims now, those of all leaves."""
    min_runtimes = attempt.search.min_runtimes
    young = [
        unit.leaf
        for unit in victims
        if unit.leaf in leaves and any(pod.key in min_runtimes.ends(unit.row) for pod in unit.pods)
    ]
    queues = dict.fromkeys(found.queue for leaf in young or leaves if (found := min_runtimes.of(leaf)))
    return tuple(f"spec.{attempt.action}MinRuntime of queue {name}" for name in list(queues)[:_FEW])
