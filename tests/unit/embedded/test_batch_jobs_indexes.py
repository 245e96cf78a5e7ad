"""What is decided about Jobs with indexes, failure policies and success policies."""

from collections.abc import Sequence

import pytest

from maar.core.model.index_ranges import format_indexes, parse_indexes
from maar.embedded.batch_jobs.decision import JobEvent, decide
from maar.embedded.batch_jobs.model import BatchJob, JobPod
from maar.embedded.batch_jobs.pod_work import NewPod
from support.batch_jobs import NOW, OVER, Document, job, pod, shown

RULES = {
    "rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "Count", "onExitCodes": {"containerName": "main", "operator": "NotIn", "values": [7]}},
    ]
}
PER_INDEX: Document = {"completionMode": "Indexed", "backoffLimitPerIndex": 1, "backoffLimit": 2**31 - 1}

CASES: list[tuple[str, BatchJob, Sequence[JobPod], Document]] = [
    (
        "indexes are made from the first",
        job(completionMode="Indexed"),
        [],
        {"create": 2, "indexes": [0, 1]},
    ),
    (
        "each index succeeds once",
        job({"succeeded": 1, "completedIndexes": "1"}, completionMode="Indexed"),
        [pod("a", "Succeeded", index=0), pod("b", "Succeeded", index=0), pod("c", index=1)],
        {
            "succeeded": 2,
            "completed": "0,1",
            "untrack": ["a", "b", "c"],
            "delete": ["c"],
            "terminating": 1,
        },
    ),
    (
        "pods without an index, beyond the last or of an index that another has go",
        job(completionMode="Indexed", parallelism=9),
        [pod("a", "ready", index=0), pod("b", "Pending", index=0), pod("c", index=3), pod("d")],
        {"active": 1, "untrack": ["b", "c", "d"], "delete": ["b", "c", "d"], "terminating": 3},
    ),
    (
        "all indexes complete the job",
        job({"completedIndexes": "0,1"}, completionMode="Indexed"),
        [pod("a", "Succeeded", index=2)],
        {"succeeded": 3, "completed": "0-2", "untrack": ["a"], "conditions": OVER, "events": ["Completed"]},
    ),
    (
        "a failure policy fails the job at once",
        job(podFailurePolicy=RULES, completions=1),
        [pod("a", "Failed", code=42)],
        {
            "failed": 1,
            "untrack": ["a"],
            "conditions": ["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"],
            "events": ["PodFailurePolicy"],
        },
    ),
    (
        "a failure policy ignores disruptions",
        job(podFailurePolicy=RULES, completions=1, backoffLimit=0),
        [pod("a", "Failed", code=143, condition="DisruptionTarget")],
        {"untrack": ["a"], "create": 1},
    ),
    (
        "what no rule is about is counted",
        job(podFailurePolicy=RULES, completions=1),
        [pod("a", "Failed", code=7)],
        {"failed": 1, "untrack": ["a"], "create": 1},
    ),
    (
        "an index that is retried on its own keeps its failure until it is replaced",
        job(**PER_INDEX),
        [pod("a", "Failed", index=0), pod("b", index=1)],
        {"active": 1, "create": 1, "indexes": [0]},
    ),
    (
        "then the failure is counted",
        job(**PER_INDEX),
        [pod("a", "Failed", index=0), pod("b", index=1), pod("c", index=0, failures=1)],
        {"active": 2, "failed": 1, "untrack": ["a"]},
    ),
    (
        "an index that failed too often does not stop the others",
        job(**PER_INDEX),
        [pod("a", "Failed", index=0, failures=1), pod("b", index=1)],
        {"active": 1, "failed": 1, "failed_indexes": "0", "untrack": ["a"], "create": 1, "indexes": [2]},
    ),
    (
        "an index is failed at once by a policy",
        job(
            podFailurePolicy={
                "rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [9]}}]
            },
            **PER_INDEX,
        ),
        [pod("a", "Failed", index=0, code=9), pod("b", index=1)],
        {"active": 1, "failed": 1, "failed_indexes": "0", "untrack": ["a"], "create": 1, "indexes": [2]},
    ),
    (
        "a job whose other indexes succeeded has failed",
        job({"completedIndexes": "1,2"}, **PER_INDEX),
        [pod("a", "Failed", index=0, failures=1)],
        {
            "succeeded": 2,
            "failed": 1,
            "completed": "1,2",
            "failed_indexes": "0",
            "untrack": ["a"],
            "conditions": ["FailureTarget FailedIndexes", "Failed FailedIndexes"],
            "events": ["FailedIndexes"],
        },
    ),
    (
        "more failed indexes than allowed end the job",
        job(maxFailedIndexes=0, **PER_INDEX),
        [pod("a", "Failed", index=0, failures=1)],
        {
            "failed": 1,
            "failed_indexes": "0",
            "untrack": ["a"],
            "conditions": ["FailureTarget MaxFailedIndexesExceeded", "Failed MaxFailedIndexesExceeded"],
            "events": ["MaxFailedIndexesExceeded"],
        },
    ),
    (
        "a success policy needs no more than it names",
        job(completionMode="Indexed", successPolicy={"rules": [{"succeededIndexes": "0"}]}),
        [pod("a", "Succeeded", index=0), pod("b", index=1)],
        {
            "succeeded": 1,
            "completed": "0",
            "untrack": ["a", "b"],
            "delete": ["b"],
            "terminating": 1,
            "conditions": ["SuccessCriteriaMet SuccessPolicy"],
        },
    ),
]


@pytest.mark.parametrize(("given", "pods", "expected"), [one[1:] for one in CASES], ids=[c[0] for c in CASES])
def test_what_is_decided(given: BatchJob, pods: Sequence[JobPod], expected: Document) -> None:
    assert shown(decide(given, pods, NOW)) == expected


def test_the_reason_names_the_container_and_the_rule() -> None:
    decision = decide(job(podFailurePolicy=RULES), [pod("a", "Failed", code=42)], NOW)
    message = "Container main for pod d/a failed with exit code 42 matching FailJob rule at index 0"
    assert decision.events == [JobEvent("PodFailurePolicy", message, is_warning=True)]


def test_a_replacement_knows_how_often_its_index_has_failed() -> None:
    given = job(backoffLimit=9, completionMode="Indexed", backoffLimitPerIndex=3, parallelism=1)
    failed = pod("a", "Failed", index=0, failures=1, ended=-5)
    assert decide(given, [failed], NOW).wake_at == NOW + 15
    assert decide(given, [failed], NOW + 15).create == [NewPod(0, 2)]


@pytest.mark.parametrize("text", ["", "0", "0,1", "0-2", "1,3-5,7,8,10-12"])
def test_indexes_are_read_as_they_are_written(text: str) -> None:
    assert format_indexes(parse_indexes(text, 100)) == text


def test_indexes_that_make_no_sense_are_left_out() -> None:
    assert parse_indexes("x,1,2-,3-5,-4", 5) == {1, 3, 4}
