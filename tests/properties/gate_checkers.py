"""Laws of the gate and of loans (E8, E10) over several cycles."""

from collections.abc import Iterator
from copy import deepcopy

from properties.cluster_manifests import NOW
from properties.clusters import Cluster
from properties.cycle_histories import STEP, History, Planner, reached_from
from properties.cycle_outcomes import Outcome, fits_together, request, turn
from properties.definitions import asked
from properties.eviction_attempts import Attempt
from properties.loans import loaned, loaned_units
from properties.slow_gate import SlowGate


def e8_the_gate_opens_for_preempt(history: History, plan: Planner) -> Iterator[str]:
    """E8: admitted by hand, preempt would find a lawful set for it: then two cycles do not hold it.

    But for `fifo`, and for a group of its queue that was let in and has not been tried. Room at the gate is
    counted in what a group needs to start, so that one which states more than its pods ask for is left out.
    """
    for number in range(len(history.cycles) - 1):
        held = set.intersection(*[held_at_the_gate(history, one) for one in (number, number + 1)])
        for group in sorted(held):
            if all(preempt_acts(history, one, group, plan) for one in (number, number + 1)):
                yield f"group {group} is held in cycles {number} and {number + 1}; preempt would act for it"


def held_at_the_gate(history: History, number: int) -> set[str]:
    """The groups that a cycle keeps out, and not by `fifo` or by one that has not been tried."""
    outcome = Outcome.of(history.clusters[number].objects, history.cycles[number])
    reading, gate = outcome.reading, SlowGate(outcome)
    held = set[str]()
    for key, group in reading.groups.items():
        if outcome.phase(key) != "Pending" or not gate.takes_a_turn(key) or not gate.is_outside(key):
            continue
        leaf = group.spec.queue
        others = [one for one, other in reading.groups.items() if other.spec.queue == leaf and one != key]
        is_untried = any(has_not_been_tried(outcome, gate, one) for one in others)
        is_fifo = reading.queues[leaf].spec.dequeue_strategy == "fifo"
        first = request(turn(reading.at_first, key, reading.at_first.waiting(key)))
        needs = asked(reading.to_start(key) or {})
        is_honest = all(units <= first.get(one, 0) for one, units in needs.items())
        if not is_fifo and not is_untried and is_honest:
            held.add(key)
    return held


def has_not_been_tried(outcome: Outcome, gate: SlowGate, key: str) -> bool:
    """Whether a group came in this cycle, or is in and lacks pods."""
    if gate.is_outside(key):
        return outcome.is_admitted(key)
    return gate.takes_a_turn(key) and not gate.has_pods(key)


def preempt_acts(history: History, number: int, group: str, plan: Planner) -> bool:
    """Whether preempt evicts for a group that is admitted by hand."""
    documents = deepcopy(list(history.clusters[number].documents))
    for one in documents:
        key = f"{one['metadata'].get('namespace')}/{one['metadata']['name']}"
        if one["kind"] == "PodGroup" and key == group:
            one.setdefault("status", {})["phase"] = "Inqueue"
    cycle = plan(Cluster(documents), NOW + number * STEP)
    return any(one["action"] == "preempt" and one["for"] == group for one in cycle["evictions"])


def e10_loans_give_way(outcome: Outcome) -> Iterator[str]:
    """E10: once quiet, no group waits that one unit on loan in a sibling of its queue would make room for."""
    reading, moment = outcome.reading, outcome.after
    for key, group in reading.groups.items():
        waiting = [pod for pod in moment.waiting(key) if pod.spec.preemption_policy != "Never"]
        pods = turn(moment, key, waiting)
        if not pods or not outcome.is_admitted(key) or group.spec.queue not in reading.leaves:
            continue
        for other in reading.groups:
            units = list(loaned_units(moment, other, request(pods)))
            if len(units) == 1 and reading.groups[other].spec.queue in reading.leaves:
                victims = [pod.key for pod in units[0]]
                places = fits_together(moment.without(victims), pods)
                attempt = Attempt(moment, "reclaim", key, pods, places or {}, victims)
                is_sibling = len(attempt.branch(victims[0])) == 1
                if places is not None and is_sibling and not any(attempt.breaches()):
                    yield f"group {key} waits, and {victims} on loan would make room for it"


def e10_no_circle_leads_through_a_loan(history: History) -> Iterator[str]:
    """E10: who lost a loan for somebody is not, directly or through others, whom that one is evicted for."""
    lost_to, loans = dict[str, set[str]](), set[tuple[str, str]]()
    for outcome, trades in zip(history.outcomes, history.trades, strict=False):
        resources = outcome.reading.budget.keys()
        on_loan = {outcome.reading.group_of.get(pod) for pod in loaned(outcome.bound, resources)}
        for victim, beneficiary in trades:
            lost_to.setdefault(victim, set()).add(beneficiary)
            if victim in on_loan and is_reclaimed(outcome, victim, beneficiary):
                loans.add((victim, beneficiary))
    for victim, beneficiary in sorted(loans):
        if victim in reached_from(beneficiary, lost_to):
            yield f"{victim} lost a loan to {beneficiary}, and takes its place again: {lost_to}"


def is_reclaimed(outcome: Outcome, victim: str, beneficiary: str) -> bool:
    """Whether reclaim took pods of one group for another."""
    return any(
        one.action == "reclaim"
        and outcome.reading.group_of[one.pod] == victim
        and one.beneficiary == beneficiary
        for one in outcome.evictions
    )
