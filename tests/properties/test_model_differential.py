"""The engine against the reference model: the same decisions, or another lawful answer.

What must agree on every cluster that the model covers:

- deserved and real capability, to within one unit for every level of the tree (the model does not
  round);
- binds: the same pods on the same nodes, where the model goes along with the engine's choice of
  nodes;
- phases, seen after the plan (the model shows what was bound one cycle later);
- on one node: evictions, pod by pod, and promises.

Between several nodes there may be more than one lawful set of victims, and the model cuts units
before it looks at nodes. So there the first attempt in which the two differ decides: the engine's
is lawful by the checkers, which is another lawful answer; or the engine left out a reclaim of the
model's that the checkers find lawful, and that fails. (How far preempt searches, the page does not
say: both take units in its order, and stop where the next may not be taken.) What comes after a
first difference cannot be compared. The same holds on one node where a victim's group is bound or
promised something in the same cycle: the engine counts that as placed, and takes nothing from a
group that room is being freed for; the model counts running pods. Nor need that group be a victim
in the end: what may be taken after it depends on whether it was taken, so that two plans may differ
where it runs pods that may have had to go.

A group that has lost pods and has none waiting keeps its phase in the model; the engine says that
it cannot work (decision 15). A group that runs fewer pods than minMember, and waits for no more, is
Pending or Inqueue in the model; in the engine it is Unknown: a group that has pods on nodes has
been let in (decision 22).
"""

from collections.abc import Callable, Iterator
from itertools import zip_longest

import pytest

from maar.core.model.pod import Pod
from maar.core.model.resources import Resources
from properties.cluster_manifests import HOSTNAME, NOW, GroupPlan, pod_group, pods_of, priority_class, quota
from properties.cluster_manifests import node as ready_node
from properties.cluster_reading import Reading
from properties.cluster_recipe import Reach
from properties.cluster_trials import ENOUGH_EVICTIONS, Case, Trial
from properties.clusters import Cluster, recipes
from properties.cycle_histories import Cycle
from properties.cycle_outcomes import Outcome
from properties.definitions import lacking
from properties.eviction_attempts import Attempt
from properties.eviction_checkers import explained
from properties.how_many import cases
from properties.kept_recipes import DIFFERED
from properties.reference_model import advised_plan, exact_shares

REACHES = {Reach.SINGLE: cases(250), Reach.MODEL: cases(250)}


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where the two are compared."""
    return Trial(seed, record_property)


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: reach.name)
def test_the_engine_decides_as_the_reference_model_does(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        yield from differences(case, is_single=reach is Reach.SINGLE)

    trial.of(check, recipes(reach), REACHES[reach], kept=DIFFERED.get(reach, [])).require(ENOUGH_EVICTIONS)


@pytest.mark.parametrize(("there", "differs"), [(1, False), (2, True)])
def test_only_a_group_that_grows_excuses_a_search_that_ends_early(there: int, *, differs: bool) -> None:
    """Nobody is evicted for `wants`: a lawful answer only if `grows`, of which more is bound, came before."""
    running = [
        GroupPlan(name="holds", namespace="alpha", request={"cpu": 1000, "nvidia.com/gpu": 2}),
        GroupPlan(name="grows", namespace="alpha", request={"cpu": 1000}, size=2, min_member=there),
        GroupPlan(name="idles", namespace="beta", size=2, min_member=2, priority_class="low"),
    ]
    wants = GroupPlan(name="wants", namespace="beta", request={"cpu": 500, "nvidia.com/gpu": 1})
    documents = [ready_node("n", {"cpu": 16000, "nvidia.com/gpu": 2, "pods": 12}, {}), quota("beta", "2")]
    documents += [priority_class("low", -10), pod_group(wants, "Inqueue"), *pods_of(wants)]
    for one in running:
        pods = pods_of(one)
        for pod in pods[: one.min_member]:
            pod["spec"]["nodeName"], pod["status"]["phase"] = "n", "Running"
        documents += [pod_group(one, "Running"), *pods]
    case = Case.of(Cluster(documents))
    quiet = {**case.cycle, "evictions": [], "nominations": {}}
    silent = Case(case.cluster, quiet, Outcome(case.outcome.reading, quiet))
    assert any(one.startswith("the engine evicts") for one in differences(silent, is_single=True)) == differs


def test_both_let_go_of_a_promise_that_cannot_be_kept() -> None:
    apart = GroupPlan(name="apart", namespace="alpha", request={"cpu": 1000}, size=2, keeps_apart=True)
    there, beneficiary = pods_of(apart)
    there["spec"]["nodeName"], there["status"]["phase"] = "n", "Running"
    beneficiary["status"]["nominatedNodeName"] = "n"
    node = ready_node("n", {"cpu": 4000, "pods": 9}, {HOSTNAME: "n"})
    case = Case.of(Cluster([node, pod_group(apart, "Running"), there, beneficiary]))
    assert not case.cycle["nominations"]
    assert not list(differences(case, is_single=True))


def differences(case: Case, *, is_single: bool) -> Iterator[str]:
    """Say where the engine's plan is not the model's, nor another lawful answer."""
    advice = {**case.cycle["nominations"], **case.cycle["binds"]}
    theirs = advised_plan(case.cluster.documents, NOW, advice)
    yield from other_shares(case)
    yield from other_figures(case.cycle, theirs)
    if case.cycle["binds"] != theirs["binds"]:
        ours, others = set(case.cycle["binds"].items()), set(theirs["binds"].items())
        yield f"only the engine binds {sorted(ours - others)}, only the model {sorted(others - ours)}"
        return
    expected = Outcome(case.outcome.reading, theirs)
    if is_single and not are_counted_differently(case.outcome, expected):
        yield from other_evictions(case.cycle, theirs)
    else:
        yield from unlawful_evictions(case.outcome, expected)
    if evictions(case.cycle) == evictions(theirs):
        yield from other_phases(case.outcome, theirs)


def other_shares(case: Case) -> Iterator[str]:
    """Compare with the model's fractions, which are cut to whole units when shown."""
    exact = exact_shares(case.cluster.documents, NOW)
    for name, path in case.outcome.reading.path.items():
        for figure in ("deserved", "realCapability"):
            reported = Resources.parse(case.cycle["queues"][name][figure])
            expected = Resources.parse(exact[name][figure])
            for resource in {*reported, *expected}:
                apart = abs(reported.get(resource, 0) - expected.get(resource, 0))
                if apart > len(path) + 1:
                    yield f"{name}: {figure} is {reported} instead of {expected}, apart by {apart} {resource}"


def other_figures(ours: Cycle, theirs: Cycle) -> Iterator[str]:
    """Compare what queues use and their state."""
    for name, expected in theirs["queues"].items():
        reported = ours["queues"][name]
        used, theirs_used = Resources.parse(reported["used"]), Resources.parse(expected["used"])
        if any(used.get(one, 0) != theirs_used.get(one, 0) for one in {*used, *theirs_used}):
            yield f"{name}: used is {reported['used']}, not {expected['used']}"
        if reported["state"] != expected["state"]:
            yield f"{name}: state is {reported['state']}, not {expected['state']}"


def evictions(cycle: Cycle) -> list[tuple[str, str, str | None]]:
    """Action, victim and beneficiary, in order; in cleanup nobody benefits."""
    return [
        (one["action"], one["pod"], None if one["action"] == "cleanup" else one["for"])
        for one in cycle["evictions"]
    ]


def are_counted_differently(ours: Outcome, theirs: Outcome) -> bool:
    """Whether a group that paid, or may have had to where the two differ, is given something as well."""
    if takes_from_the_served(ours) or takes_from_the_served(theirs):
        return True
    reading = ours.reading
    payers = {reading.groups[key].spec.queue for key in served(ours) | served(theirs) if runs(reading, key)}
    for action, _, group in {*evictions(ours.cycle)} ^ {*evictions(theirs.cycle)}:
        leaf = reading.groups[group].spec.queue if group else ""
        if (action == "preempt" and leaf in payers) or (action == "reclaim" and payers - {leaf}):
            return True
    return False


def takes_from_the_served(outcome: Outcome) -> bool:
    """Whether a victim's group is given something in the same cycle; the two count surplus differently."""
    return any(outcome.reading.group_of[one.pod] in served(outcome) for one in outcome.evictions)


def served(outcome: Outcome) -> set[str]:
    """The groups that are bound or promised something."""
    pods = (*outcome.binds, *outcome.nominations)
    return {outcome.reading.group_of[pod] for pod in pods if pod in outcome.reading.group_of}


def runs(reading: Reading, group: str) -> bool:
    """Whether a group has pods that could be victims."""
    return bool(reading.at_first.running(group))


def other_evictions(ours: Cycle, theirs: Cycle) -> Iterator[str]:
    """On one node the order of the page leaves no choice."""
    if sorted(evictions(ours), key=str) != sorted(evictions(theirs), key=str):
        yield f"the engine evicts {evictions(ours)}, the model {evictions(theirs)}"
    elif ours["nominations"] != theirs["nominations"]:
        yield f"the engine promises {ours['nominations']}, the model {theirs['nominations']}"


def unlawful_evictions(ours: Outcome, theirs: Outcome) -> Iterator[str]:
    """The first attempt in which they differ decides; see above."""
    for attempt, other in zip_longest(explained(ours).attempts, explained(theirs).attempts):
        if attempt is not None and other is not None and is_same(attempt, other):
            continue
        if attempt is not None:
            yield from (f"{law}: {why}" for law, why in attempt.breaches())
        elif other is not None and is_binding(other) and not takes_from_the_served(theirs):
            yield f"the engine leaves out the reclaim of {other.victims} for {other.group}"
        return


def is_binding(attempt: Attempt) -> bool:
    """Whether an attempt of the model's is one that the engine must make too."""
    return attempt.action == "reclaim" and not any(attempt.breaches())


def is_same(attempt: Attempt, other: Attempt) -> bool:
    """Whether two attempts are for the same pods and take the same victims."""
    return (attempt.action, attempt.group, set(attempt.victims), dict(attempt.places)) == (
        other.action,
        other.group,
        set(other.victims),
        dict(other.places),
    )


def other_phases(outcome: Outcome, theirs: Cycle) -> Iterator[str]:
    """Compare the phases of groups that the plan leaves where they are; the others' come a cycle later."""
    moved = {
        outcome.reading.group_of[pod] for pod in (*outcome.binds, *(one.pod for one in outcome.evictions))
    }
    for group, expected in theirs["podGroups"].items():
        spec = outcome.reading.groups[group]
        is_at_rest = not outcome.bound.waiting(group) and outcome.phase(group) == spec.status.phase
        is_held = spec.spec.queue not in outcome.reading.leaves
        if group in moved or is_held or is_at_rest:
            continue
        phase = deserted_phase(outcome, group) or expected["phase"]
        if phase in ("Pending", "Inqueue") and any(map(is_running, outcome.reading.pods_of[group])):
            phase = "Unknown"
        if outcome.phase(group) != phase:
            yield f"group {group} is {outcome.phase(group)}, not {phase}"


def is_running(pod: Pod) -> bool:
    """Whether a pod runs on a node and stays there."""
    return bool(pod.spec.node_name) and pod.status.phase == "Running" and not pod.is_terminating


def deserted_phase(outcome: Outcome, group: str) -> str | None:
    """The phase of a group that runs with too few pods and has none waiting; the model lets it rest."""
    spec, pods = outcome.reading.groups[group], outcome.reading.pods_of[group]
    there = [pod for pod in pods if pod.spec.node_name]
    holds = any(not (pod.is_finished or pod.is_terminating) for pod in there)
    if outcome.bound.waiting(group) or outcome.bound.is_ready(group) or not holds:
        return None
    if lacking(spec, there) == (0, {}):
        return None
    return "Unknown" if any(pod.status.phase == "Running" for pod in there) else None
