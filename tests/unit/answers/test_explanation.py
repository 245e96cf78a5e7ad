"""What explanations say of small clusters: smallest changes, the rules that groups run by, and evictions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from maar.core.answers.explain.ask import Explainer, GroupExplanation, with_changes
from maar.core.answers.explain.past_evictions import past_evictions
from maar.core.answers.explain.subject import Subject
from maar.core.answers.explain.text import change_text, explanation_lines
from maar.core.answers.future import Present
from maar.core.model.kinds import from_document
from maar.core.policy.configuration import parse
from maar.core.views.job_summary import EventSummary
from properties.cluster_manifests import (
    NOW,
    Document,
    GroupPlan,
    node,
    pod_group,
    pods_of,
    priority_class,
    queue,
)
from properties.clusters import as_object

OLD: Final = 50_000


def nodes(count: int, cpu: int = 4, memory: int = 8) -> list[Document]:
    """Some equal nodes."""
    return [
        node(f"n{number}", {"cpu": 1000 * cpu, "memory": memory << 30, "pods": 110}, {})
        for number in range(count)
    ]


def group(
    name: str,
    where: str,
    size: int = 1,
    cpu: int = 1,
    *,
    on: Sequence[str] = (),
    **more: Any,  # noqa: ANN401
) -> list[Document]:
    """A gang and its pods, which run where nodes are named."""
    least = more.pop("least", size)
    request = {"cpu": 1000 * cpu, **more.pop("request", {})}
    plan = GroupPlan(
        name=name, namespace="team", queue=where, size=size, min_member=least, request=request, **more
    )
    pods = pods_of(plan)
    for pod, place in zip(pods, on, strict=False):
        pod["spec"]["nodeName"] = place
        pod["status"] = {"phase": "Running", "startTime": "2026-06-01T11:50:00Z"}
    return [pod_group(plan, "Running" if on else "Inqueue"), *pods]


def explained(documents: Sequence[Document], name: str, configuration: object = None) -> GroupExplanation:
    """Everything that is said of a group."""
    present = Present(tuple(map(as_object, documents)), now=NOW.timestamp())
    if configuration is not None:
        present = replace(present, configuration=parse(configuration))
    explainer = Explainer(present, Subject("podgroup", f"team/{name}", f"team/{name}"))
    found = explainer.explanation()
    return with_changes(found, explainer.changes(found))


def changes(documents: Sequence[Document], name: str) -> list[str]:
    """The smallest changes as sentences, with the victims."""
    found = explained(documents, name).changes
    assert found is not None
    assert found.is_complete
    return [
        change_text(one.change) + "".join(f"; evicts {pod}" for pod in one.victims) for one in found.changes
    ]


def text(found: GroupExplanation) -> str:
    """An explanation in one line."""
    return " ".join(
        " ".join("".join(part.text for part in line) for line in explanation_lines(found, 100)).split()
    )


# --- smallest changes


def test_a_capability_and_the_job_that_uses_it_up() -> None:
    cluster = [
        *nodes(2),
        queue("a", {"capability": {"cpu": 2}}, OLD),
        *group("g", "a", 2, on=["n0"] * 2),
        *group("w", "a", 3),
    ]
    assert changes(cluster, "w") == [
        "raise the capability of queue a to cpu 5 (from cpu 2)",
    ]


def test_capabilities_of_two_resources_are_raised_together() -> None:
    capability = {"cpu": 1, "memory": "1Gi"}
    cluster = [
        *nodes(1),
        queue("a", {"capability": capability}, OLD),
        *group("w", "a", 1, 2, request={"memory": 5 << 29}),
    ]
    assert changes(cluster, "w") == [
        "raise the capability of queue a to cpu 2, memory 3Gi (from cpu 1, memory 1Gi)"
    ]


def test_capabilities_of_two_queues_are_raised_together() -> None:
    above = queue("above", {"capability": {"cpu": 2}}, OLD)
    cluster = [
        *nodes(1),
        above,
        queue("a", {"parent": "above", "capability": {"cpu": 1}}, OLD),
        *group("w", "a", 1, 3),
    ]
    assert changes(cluster, "w") == [
        "raise the capability of queue a to cpu 3 (from cpu 1) and of queue above to cpu 3 (from cpu 2)"
    ]


def test_a_capability_above_that_alone_is_in_the_way() -> None:
    above = queue("above", {"capability": {"cpu": 2}}, OLD)
    cluster = [
        *nodes(1),
        above,
        queue("a", {"parent": "above", "capability": {"cpu": 9}}, OLD),
        *group("w", "a", 1, 3),
    ]
    assert changes(cluster, "w") == ["raise the capability of queue above to cpu 3 (from cpu 2)"]


def test_a_weight_with_which_others_are_evicted() -> None:
    cluster = [
        *nodes(1, 8),
        queue("a", {"weight": 1}, OLD),
        queue("b", {"weight": 3}, OLD),
        *group("g", "b", 6, on=["n0"] * 6, least=1),
        *group("h", "a", 2, on=["n0"] * 2, least=1),
        *group("w", "a", 2),
        *group("v", "b", 2),
    ]
    assert changes(cluster, "w") == [
        "add 1 node like n0 (cpu=8,memory=8Gi)",
        "delete pod group team/h, or wait until it ends (2 pods on nodes, queue a)",
        "delete pod group team/g, or wait until it ends (6 pods on nodes, queue b)",
        "set the weight of queue a to 3 (from 1); evicts team/g-5; evicts team/g-4",
    ]


def test_so_many_nodes_as_those_before_it_leave_room() -> None:
    cluster = [
        *nodes(1, 1),
        queue("a", {}, OLD),
        *group("first", "a", 1, age=9000),
        *group("second", "a", 3, age=900),
    ]
    assert changes(cluster, "second") == ["add 3 nodes like n0 (cpu=1,memory=8Gi)"]


def test_gates_are_removed() -> None:
    cluster = [*nodes(1), queue("a", {}, OLD), *group("w", "a", 2)]
    for pod in cluster[-2:]:
        pod["spec"]["schedulingGates"] = [{"name": "later"}]
    assert changes(cluster, "w") == ["remove the scheduling gates of its 2 pods"]


def test_a_queue_is_created() -> None:
    assert changes([*nodes(1), *group("w", "nowhere")], "w") == ["create queue nowhere"]


def test_the_first_of_a_queue_that_is_first_in_first_out_goes() -> None:
    fifo = queue("a", {"dequeueStrategy": "fifo"}, OLD)
    cluster = [*nodes(1), fifo, *group("large", "a", 1, 9, age=9000), *group("w", "a", 1, age=900)]
    found = changes(cluster, "w")
    assert found[-1] == "delete pod group team/large, or wait until it ends (it waits, queue a)"


def test_where_no_change_helps_none_is_given() -> None:
    missing = [*nodes(1), queue("a", {}, OLD), *group("w", "a", 2, least=3)]
    assert changes(missing, "w") == []
    assert explained(missing, "w").reason == "NotEnoughTasks"
    assert changes([*nodes(1), queue("a", {}, OLD), *group("w", "a", 1, 9)], "w") == []


def test_a_group_that_starts_needs_no_change() -> None:
    found = explained([*nodes(1), queue("a", {}, OLD), *group("w", "a")], "w")
    assert (found.state, found.binds) == ("starts", (("team/w-0", "n0"),))
    assert text(found).startswith("Pod group team/w starts now (queue a, Running; 0 of 1 pod on nodes")


# --- by which rule a group runs

FULL: Final[dict[str, Any]] = {"on": ["n0"] * 4, "least": 1}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"guarantee": {"resource": {"cpu": 4}}},
            "It runs within the guarantee of its queue: queue a uses cpu 4 of 4 guaranteed.",
        ),
        ({}, "It runs within what its queue deserves: queue a uses cpu 4 of 4 deserved."),
    ],
    ids=["guarantee", "deserved"],
)
def test_within_what_a_queue_has(spec: Document, sentence: str) -> None:
    assert sentence in text(explained([*nodes(1), queue("a", spec, OLD), *group("g", "a", 4, **FULL)], "g"))


def test_on_what_is_lent() -> None:
    cluster = [
        *nodes(1),
        queue("a", {}, OLD),
        queue("b", {}, OLD),
        *group("g", "a", 4, **FULL),
        *group("w", "b", 3),
    ]
    found = text(explained(cluster, "g"))
    assert "It runs on what is idle elsewhere and lent: queue a uses cpu 4 of 2 deserved." in found
    assert (
        "reclaim: queue a uses cpu 4 of 2 deserved, and queues that stay within theirs may take that back; "
        "none of those that wait now may"
    ) in found


def test_on_loan() -> None:
    cluster = [
        *nodes(1),
        queue("a", {}, OLD),
        queue("b", {}, OLD),
        *group("g", "a", 3, on=["n0"] * 3),
        *group("w", "b", 2),
    ]
    found = explained(cluster, "g")
    assert "It runs on loan: alone it is more than its queue deserves: it uses cpu 3 of 2 deserved." in text(
        found
    )
    assert found.state == "is evicted"
    assert [(one.action, one.beneficiary) for one in found.evicted_now] == [("reclaim", "team/w")] * 3


def test_on_loan_beyond_a_guarantee() -> None:
    def cluster(guarantee: int) -> list[Document]:
        reserved = {"guarantee": {"resource": {"cpu": str(guarantee)}}}
        return [
            *nodes(1),
            queue("a", reserved, OLD),
            queue("b", {}, OLD),
            *group("g", "a", 2, 2, on=["n0"] * 2),
            *group("w", "b", 1, 2),
        ]

    found = explained(cluster(2), "g")
    assert found.state == "is evicted"
    assert (
        "If it is reclaimed, queue a is left with cpu 0 of 2 guaranteed: a guarantee does not keep a group "
        "that is larger than what its queue deserves. Guarantee as much as the group needs, "
        "or make it smaller."
    ) in text(found)
    cured = explained(cluster(4), "g")
    assert cured.state == "runs"
    assert "It runs within the guarantee of its queue" in text(cured)
    assert "If it is reclaimed" not in text(cured)


def dangers(cluster: Sequence[Document], name: str, configuration: object = None) -> list[str]:
    """What is said of each action."""
    found = text(explained(cluster, name, configuration)).partition("Who could take its place: ")[2]
    reclaim, _, preempt = found.partition(" preempt: ")
    return [reclaim.removeprefix("reclaim: "), preempt]


def test_a_group_that_may_not_be_evicted() -> None:
    cluster = [*nodes(1), queue("a", {}, OLD), *group("g", "a", 1, on=["n0"], preemptable="false")]
    assert (
        dangers(cluster, "g")
        == ["nobody, team/g-0 may not be evicted (volcano.sh/preemptable, or a plugin)"] * 2
    )


def test_actions_that_are_not_configured() -> None:
    cluster = [*nodes(1), queue("a", {}, OLD), *group("g", "a", 1, on=["n0"])]
    found = dangers(cluster, "g", {"actions": "enqueue, allocate, backfill"})
    assert found == ["nobody, reclaim is not configured", "nobody, preempt is not configured"]


def test_a_queue_that_is_not_reclaimable_and_a_minimum_run_time() -> None:
    spec = {"reclaimable": False, "preemptMinRuntime": "1h"}
    cluster = [
        *nodes(1),
        queue("a", spec, OLD),
        queue("b", {}, OLD),
        priority_class("high", 7),
        *group("g", "a", 4, on=["n0"] * 4),
        *group("w", "a", 1, priority_class="high"),
        *group("v", "b", 2),
    ]
    reclaim, preempt = dangers(cluster, "g")
    assert reclaim == "nobody, queue a is not reclaimable"
    assert preempt == (
        "in queue a, groups of namespace team with a priority above 0; groups of other namespaces with a "
        "priority of at least 0, while namespace team uses more per weight than theirs; protected until "
        "2026-06-01T12:50:00Z by spec.preemptMinRuntime; of those that wait now team/w may, if that makes "
        "enough room"
    )


# --- evictions that have happened

TOO_FEW: Final = "1 of the 2 pods that its group needs to work have nodes, for too long"


def event(
    message: str, kind: str = "PodGroup", name: str = "g", time: str = "2026-06-01T11:00:00Z"
) -> EventSummary:
    """An event as the scheduler writes it."""
    document = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "team"},
        "involvedObject": {"kind": kind, "name": name},
        "reason": "Evict",
        "message": message,
        "lastTimestamp": time,
    }
    return from_document(EventSummary, document)


def test_past_evictions() -> None:
    why = "preempt for team/w: it has priority 7, this one 0"
    events = [
        event(f"pod team/g-0 was evicted by {why}"),
        event(f"evicted by {why}", "Pod", "g-0"),  # the same
        event(f"pod team/g-1 was evicted by cleanup: {TOO_FEW}", time="2026-06-01T12:00:00Z"),
        event(f"pod team/x-0 was evicted by {why}", name="x"),
        event("pod team/g-1 was evicted by mistake"),
        event(f"evicted by {why}", "Pod", "x-0"),
    ]
    found = past_evictions(events, "team/g", {"team/g-0", "team/g-1"})
    assert [(one.pod, one.action, one.beneficiary, one.right) for one in found] == [
        ("team/g-1", "cleanup", "", TOO_FEW),
        ("team/g-0", "preempt", "team/w", "it has priority 7, this one 0"),
    ]
