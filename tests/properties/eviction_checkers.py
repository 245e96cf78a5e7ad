"""The laws of eviction (E1 to E5) as checkers of one plan.

A plan says who is evicted for whom and who is promised room, not which victims went for which turn.
The checkers take the lawful explanation if there is one: turns in the order of the plan, a group's
first turn makes it ready, every further one is for one more pod.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations, groupby, islice, pairwise
from weakref import WeakKeyDictionary

from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.pod import Pod
from properties.cluster_manifests import NOW
from properties.cluster_reading import Moment, Reading
from properties.cycle_outcomes import Eviction, Outcome, turn
from properties.eviction_attempts import Attempt
from properties.placement_rules import selects

MOST_SPLITS = 200
GRACE_PERIOD = timedelta(seconds=60)


@dataclass(frozen=True)
class Story:
    """How a plan's evictions may have come about, and what is wrong with them then."""

    attempts: tuple[Attempt, ...] = ()
    breaches: tuple[tuple[str, str], ...] = ()

    def followed_by(self, attempt: Attempt) -> "Story":
        """Return the story with one more attempt."""
        return Story((*self.attempts, attempt), (*self.breaches, *attempt.breaches()))


_EXPLAINED: WeakKeyDictionary[Outcome, Story] = WeakKeyDictionary()  # five laws ask


def explained(outcome: Outcome) -> Story:
    """Return the story with the fewest breaches."""
    if outcome not in _EXPLAINED:
        _EXPLAINED[outcome] = _best_story(outcome)
    return _EXPLAINED[outcome]


def _best_story(outcome: Outcome) -> Story:
    story, moment = Story(), outcome.bound
    evictions = [one for one in outcome.evictions if one.action != "cleanup"]
    runs = [(action, group or "", list(run)) for (action, group), run in groupby(evictions, _for_whom)]
    turns_to_come = Counter(group for _, group, _ in runs)
    for action, group, run in runs:
        turns_to_come[group] -= 1
        victims = [one.pod for one in run]
        stories = _stories(outcome, moment, (action, group, victims), is_last=not turns_to_come[group])
        best, moment = min(stories, key=lambda found: len(found[0].breaches))
        story = Story((*story.attempts, *best.attempts), (*story.breaches, *best.breaches))
    half_gangs = {
        one.beneficiary for one in outcome.evictions if one.action == "cleanup"
    }  # others go for them
    promised = {pod for pod in outcome.promises if outcome.reading.group_of[pod] not in half_gangs}
    unexplained = sorted(promised - moment.places.keys())
    breaches = [("E1", f"{pod} is promised room, and nobody evicted for it") for pod in unexplained]
    return Story(story.attempts, (*story.breaches, *breaches))


def _for_whom(eviction: Eviction) -> tuple[str, str | None]:
    return eviction.action, eviction.beneficiary


def _stories(
    outcome: Outcome, moment: Moment, run: tuple[str, str, list[str]], *, is_last: bool
) -> Iterator[tuple[Story, Moment]]:
    """Tell how victims in a row may have gone for one turn after the other; stop at a lawful way."""
    action, group, victims = run
    promised = [pod for pod in _promised_to(outcome, group) if pod.key not in moment.places]
    turns = list(_turns(moment, group, promised, outcome))
    counts = [len(turns)] if is_last else range(1, len(turns) + 1)
    found = False
    for count in counts:
        for parts in islice(_splits(victims, count), MOST_SPLITS):
            story, now = Story(), moment
            without_victims: list[list[str]] = [[]] * (count - len(parts))  # promised without a victim
            for pods, part in zip(turns[:count] or [[]], [*parts, *without_victims], strict=True):
                places = {pod.key: outcome.promises[pod.key] for pod in pods}
                attempt = Attempt(now, action, group, pods, places, part, outcome.yet_to_take)
                story, now = story.followed_by(attempt), attempt.after
            found = True
            yield story, now
            if not story.breaches:
                return
    if not found:
        attempt = Attempt(moment, action, group, [], {}, victims)
        yield Story().followed_by(attempt), attempt.after


def _promised_to(outcome: Outcome, group: str) -> list[Pod]:
    return [pod for pod in outcome.reading.pods_of.get(group, []) if pod.key in outcome.promises]


def _turns(moment: Moment, group: str, pods: list[Pod], outcome: Outcome) -> Iterator[list[Pod]]:
    """Cut promised pods into turns: what makes the group ready, then one by one."""
    while pods:
        chosen = turn(moment, group, pods) or list(pods)
        yield chosen
        moment = moment.with_places({pod.key: outcome.promises[pod.key] for pod in chosen})
        pods = [pod for pod in pods if pod not in chosen]


def _splits(victims: list[str], parts: int) -> Iterator[list[list[str]]]:
    """Every way to cut the victims, in their order, into so many parts, none of them empty."""
    count = max(1, min(parts, len(victims)))
    for cuts in combinations(range(1, len(victims)), count - 1):
        borders = [0, *cuts, len(victims)]
        yield [victims[start:end] for start, end in pairwise(borders)]


def _of_law(outcome: Outcome, law: str) -> list[str]:
    return [sentence for found, sentence in explained(outcome).breaches if found == law]


def e1_the_beneficiary_starts(outcome: Outcome) -> list[str]:
    """E1: no eviction unless the beneficiary's group becomes ready, or its one more pod runs."""
    return _of_law(outcome, "E1")


def e2_victims_are_minimal_units(outcome: Outcome) -> list[str]:
    """E2: a surplus pod or a whole gang, and dropping any unit breaks the fit."""
    return _of_law(outcome, "E2")


def e3_guarantees_hold_and_the_worse_off_side_rises(outcome: Outcome) -> list[str]:
    """E3: reclaim takes from overused branches, which stay above guarantee and the beneficiary's share."""
    return _of_law(outcome, "E3")


def e4_the_beneficiary_stays_within_deserved(outcome: Outcome) -> list[str]:
    """E4: reclaim within deserved, preempt within real capability, and nothing reserved is given away."""
    return _of_law(outcome, "E4")


def e5_vetoes_hold(outcome: Outcome) -> list[str]:
    """E5: nobody protected is evicted, and only who is proposed; budgets hold; nobody is evicted twice."""
    twice = [pod for pod, count in Counter(one.pod for one in outcome.evictions).items() if count > 1]
    breaches = [*_of_law(outcome, "E5"), *(f"{pod} is evicted twice" for pod in twice)]
    for budget in outcome.reading.budgets.values():
        meant = [one.pod for one in outcome.evictions if _is_under(budget, outcome.reading.pods[one.pod])]
        if len(meant) > budget.status.disruptions_allowed:
            breaches.append(f"budget {budget.key} allows {budget.status.disruptions_allowed} of {meant}")
    return breaches


def _is_under(budget: PodDisruptionBudget, pod: Pod) -> bool:
    same_namespace = pod.metadata.namespace == budget.metadata.namespace
    return same_namespace and selects(budget.spec.selector, pod.metadata.labels)


def cleanup_takes_only_who_starves(outcome: Outcome, now: datetime = NOW) -> Iterator[str]:
    """Cleanup: all of a group that has starved for long: in an overused queue, or to make room for others."""
    reading = outcome.reading
    cleaned = [one for one in outcome.evictions if one.action == "cleanup"]
    first = moment = outcome.after.with_places(
        {one.pod: reading.pods[one.pod].spec.node_name for one in cleaned}
    )
    for group in dict.fromkeys(reading.group_of[one.pod] for one in cleaned):
        pods = {one.pod for one in cleaned if reading.group_of[one.pod] == group}
        leaf = reading.groups[group].spec.queue
        if leaf not in reading.leaves:
            yield f"cleanup of {group}: nobody is entitled to what it holds, as queue {leaf} is no leaf"
        elif not first.is_overused(leaf, first.used[leaf]) and not any(
            one.beneficiary for one in cleaned if one.pod in pods
        ):
            yield f"cleanup of {group}: queue {leaf} is not overused"
        if not moment.is_starving(group) or {pod.key for pod in moment.running(group)} != pods:
            yield f"cleanup of {group}: it does not starve, or {pods} are not all of it"
        if not starved_long(reading, group, now):
            yield f"cleanup of {group}: it has not been starving for a minute"
        if any(pod.key in outcome.nominations for pod in reading.pods_of[group]):
            yield f"cleanup of {group}: room is being freed for it"
        moment = moment.without(pods)


def starved_long(reading: Reading, group: str, now: datetime) -> bool:
    """Whether its `Unschedulable` condition turned true more than a minute ago."""
    turned = [
        condition.last_transition_time
        for condition in reading.groups[group].status.conditions
        if condition.type == "Unschedulable" and condition.status == "True"
    ]
    return any(since is not None and now - since > GRACE_PERIOD for since in turned)
