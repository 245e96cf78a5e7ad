"""What is decided about a batch/v1 Job, from its spec, its status and its pods."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from maar.embedded.batch_jobs.decision import Decision, JobEvent, decide
from maar.embedded.batch_jobs.indexes import format_indexes, parse_indexes
from maar.embedded.batch_jobs.model import BatchJob, JobPod, moment, read_job, read_job_pod
from maar.embedded.batch_jobs.pod_failures import wait
from maar.embedded.batch_jobs.pod_work import NewPod

NOW = 1_800_000_000.0
Document = dict[str, Any]


def at(seconds: float) -> str:
    """A time in a document, some seconds from now."""
    return moment(NOW + seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def job(status: Document | None = None, **spec: object) -> BatchJob:
    """A job that started now, of two pods at a time and three in all, unless something else is said."""
    made = {
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "d", "uid": "u"},
        "spec": {"parallelism": 2, "completions": 3, **spec},
        "status": {"startTime": at(0), **(status or {})},
    }
    return read_job(msgspec.json.encode(made))


def pod(name: str, *marks: str, ended: float = -1000.0, **notes: object) -> JobPod:
    """A pod; marks are its phase, `counted`, `deleted`, `gone` from its node, `ready`, or a condition."""
    phase = next((one for one in marks if one in ("Pending", "Running", "Succeeded", "Failed")), "Running")
    meta: Document = {"name": name, "namespace": "d", "uid": name, "creationTimestamp": at(-2000)}
    if "counted" not in marks:
        meta["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    if "deleted" in marks or "gone" in marks:
        meta |= {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 0 if "gone" in marks else 30}
    keys = {"index": "job-completion-index", "failures": "job-index-failure-count"}
    meta["annotations"] = {
        f"batch.kubernetes.io/{key}": str(notes[word]) for word, key in keys.items() if word in notes
    }
    state: Document = {"running": {}}
    if phase in ("Succeeded", "Failed"):
        code = notes.get("code", int(phase == "Failed"))
        state = {"terminated": {"exitCode": code, "finishedAt": at(ended)}}
    container = {"name": "main", "state": state, "restartCount": notes.get("restarts", 0)}
    conditions = [{"type": str(notes["condition"]), "status": "True"}] if "condition" in notes else []
    if "ready" in marks:
        conditions.append({"type": "Ready", "status": "True"})
    status = {"phase": phase, "containerStatuses": [container], "conditions": conditions}
    spec = {} if phase == "Pending" else {"nodeName": "n"}
    return read_job_pod(
        msgspec.json.encode({"kind": "Pod", "metadata": meta, "spec": spec, "status": status})
    )


def shown(decision: Decision) -> Document:
    """A decision as a few words and numbers; what is zero or empty is left out."""
    status = decision.status
    holding = [
        f"{one.type} {one.reason}" if one.status == "True" else f"not {one.type}" for one in status.conditions
    ]
    found: Document = {
        "active": status.active,
        "terminating": status.terminating,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "completed": status.completed_indexes,
        "failed_indexes": status.failed_indexes,
        "conditions": holding,
        "untrack": [one.metadata.name for one in decision.untrack],
        "delete": [one.metadata.name for one in decision.delete],
        "create": len(decision.create),
        "indexes": [one.index for one in decision.create if one.index is not None],
        "events": [one.reason for one in decision.events],
        "wake": None if decision.wake_at is None else decision.wake_at - NOW,
        "expired": decision.is_expired,
    }
    return {name: value for name, value in found.items() if value}


OVER = ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"]
LIMIT = "BackoffLimitExceeded"
RULES = {
    "rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "Count", "onExitCodes": {"containerName": "main", "operator": "NotIn", "values": [7]}},
    ]
}
PER_INDEX: Document = {"completionMode": "Indexed", "backoffLimitPerIndex": 1, "backoffLimit": 2**31 - 1}

CASES: list[tuple[str, BatchJob, Sequence[JobPod], Document]] = [
    ("a new job gets its pods", job(), [], {"create": 2}),
    ("no more pods than completions are left", job({"succeeded": 2}), [], {"succeeded": 2, "create": 1}),
    ("pods that run are enough", job(), [pod("a"), pod("b", "ready")], {"active": 2}),
    (
        "a success is counted with its finalizer, and the next pod made",
        job(),
        [pod("a", "Succeeded"), pod("b")],
        {"active": 1, "succeeded": 1, "untrack": ["a"], "create": 1},
    ),
    (
        "a success that was counted counts once",
        job({"succeeded": 1}),
        [pod("a", "Succeeded", "counted"), pod("b"), pod("c")],
        {"active": 2, "succeeded": 1},
    ),
    (
        "the last success completes the job",
        job({"succeeded": 2}),
        [pod("a", "Succeeded")],
        {"succeeded": 3, "untrack": ["a"], "conditions": OVER, "events": ["Completed"]},
    ),
    (
        "pods that are too many go before the job is complete, and are no failures",
        job({"succeeded": 2}),
        [pod("a", "Succeeded"), pod("b")],
        {
            "succeeded": 3,
            "untrack": ["a", "b"],
            "delete": ["b"],
            "terminating": 1,
            "conditions": OVER[:1],
        },
    ),
    (
        "a job that has succeeded waits for its last pod",
        job({"succeeded": 3, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}),
        [pod("b", "deleted", "counted")],
        {"succeeded": 3, "terminating": 1, "conditions": ["SuccessCriteriaMet "]},
    ),
    (
        "nothing to complete is complete",
        job(completions=0),
        [],
        {"conditions": OVER, "events": ["Completed"]},
    ),
    (
        "less parallelism removes those that have come least far",
        job(parallelism=1),
        [pod("a", "ready"), pod("b", "Pending"), pod("c")],
        {"active": 1, "untrack": ["b", "c"], "delete": ["b", "c"], "terminating": 2},
    ),
    ("parallelism 0 makes no pods", job(parallelism=0), [], {}),
    (
        "a work queue runs as many as it may",
        job(completions=None, parallelism=3),
        [pod("a")],
        {"active": 1, "create": 2},
    ),
    (
        "a work queue makes no more pods after a success",
        job(completions=None),
        [pod("a", "Succeeded"), pod("b")],
        {"active": 1, "succeeded": 1, "untrack": ["a"]},
    ),
    (
        "a work queue is complete when its last pod has ended",
        job({"succeeded": 1}, completions=None),
        [],
        {"succeeded": 1, "conditions": OVER, "events": ["Completed"]},
    ),
    (
        "a failure is retried after ten seconds",
        job(),
        [pod("a", "Failed", ended=-4), pod("b")],
        {"active": 1, "failed": 1, "untrack": ["a"], "wake": 6.0},
    ),
    (
        "after the wait, whoever counted the failure",
        job({"failed": 1}),
        [pod("a", "Failed", "counted", ended=-10), pod("b")],
        {"active": 1, "failed": 1, "create": 1},
    ),
    (
        "the third failure in a row waits for forty seconds",
        job({"failed": 2}, parallelism=1),
        [pod(one, "Failed", "counted", ended=-90) for one in "ab"] + [pod("c", "Failed", ended=-1)],
        {"failed": 3, "untrack": ["c"], "wake": 39.0},
    ),
    (
        "failures before a success are forgiven",
        job({"failed": 2}, parallelism=1),
        [pod("a", "Failed", "counted", ended=-5), pod("b", "Succeeded", ended=-3)],
        {"failed": 2, "succeeded": 1, "untrack": ["b"], "create": 1},
    ),
    (
        "one failure more than the limit ends the job, and its other pods",
        job({"failed": 6}),
        [pod("a", "Failed"), pod("b")],
        {
            "failed": 8,
            "untrack": ["a", "b"],
            "delete": ["b"],
            "terminating": 1,
            "conditions": [f"FailureTarget {LIMIT}"],
        },
    ),
    (
        "it has failed once they have ended",
        job({"failed": 8, "conditions": [{"type": "FailureTarget", "status": "True", "reason": LIMIT}]}),
        [],
        {"failed": 8, "conditions": [f"FailureTarget {LIMIT}", f"Failed {LIMIT}"], "events": [LIMIT]},
    ),
    (
        "no retry at all with backoffLimit 0",
        job(backoffLimit=0, completions=1),
        [pod("a", "Failed")],
        {
            "failed": 1,
            "untrack": ["a"],
            "conditions": [f"FailureTarget {LIMIT}", f"Failed {LIMIT}"],
            "events": [LIMIT],
        },
    ),
    (
        "restarts of containers are retries where pods restart them",
        job(backoffLimit=3, completions=1, template={"spec": {"restartPolicy": "OnFailure"}}),
        [pod("a", restarts=3)],
        {
            "failed": 1,
            "untrack": ["a"],
            "delete": ["a"],
            "terminating": 1,
            "conditions": [f"FailureTarget {LIMIT}"],
        },
    ),
    (
        "fewer restarts are none",
        job(backoffLimit=3, completions=1, template={"spec": {"restartPolicy": "OnFailure"}}),
        [pod("a", restarts=2)],
        {"active": 1},
    ),
    (
        "a deleted pod is replaced at once",
        job(completions=1, parallelism=1),
        [pod("a", "deleted")],
        {"failed": 1, "terminating": 1, "untrack": ["a"], "create": 1},
    ),
    (
        "a deleted pod is replaced once it has ended where the policy says so",
        job(completions=1, parallelism=1, podReplacementPolicy="Failed"),
        [pod("a", "deleted")],
        {"terminating": 1},
    ),
    (
        "a deleted pod that never ran has ended",
        job(completions=1, parallelism=1, podReplacementPolicy="Failed"),
        [pod("a", "Pending", "gone")],
        {"failed": 1, "terminating": 1, "untrack": ["a"]},
    ),
    (
        "a pod that succeeded before it was deleted has succeeded",
        job(),
        [pod("a", "Succeeded", "deleted"), pod("b")],
        {"active": 1, "succeeded": 1, "untrack": ["a"], "create": 1},
    ),
    (
        "a deadline is waited for",
        job(activeDeadlineSeconds=60),
        [pod("a"), pod("b")],
        {"active": 2, "wake": 60.0},
    ),
    (
        "a deadline ends the job",
        job({"startTime": at(-60)}, activeDeadlineSeconds=60),
        [pod("a")],
        {
            "failed": 1,
            "untrack": ["a"],
            "delete": ["a"],
            "terminating": 1,
            "conditions": ["FailureTarget DeadlineExceeded"],
        },
    ),
    (
        "a suspended job loses its pods, which are no failures",
        job(suspend=True),
        [pod("a"), pod("b", "Succeeded")],
        {
            "succeeded": 1,
            "untrack": ["a", "b"],
            "delete": ["a"],
            "terminating": 1,
            "conditions": ["Suspended JobSuspended"],
            "events": ["Suspended"],
        },
    ),
    (
        "a suspended job has no deadline",
        job({"startTime": at(-90)}, suspend=True, activeDeadlineSeconds=60),
        [],
        {"conditions": ["Suspended JobSuspended"], "events": ["Suspended"]},
    ),
    (
        "a resumed job has its pods again, and all of its time",
        job(
            {"startTime": at(-30), "conditions": [{"type": "Suspended", "status": "True"}]},
            activeDeadlineSeconds=60,
        ),
        [],
        {"create": 2, "conditions": ["not Suspended"], "events": ["Resumed"], "wake": 60.0},
    ),
    (
        "a finished job keeps nothing back, and stays",
        job({"conditions": [{"type": "Complete", "status": "True"}]}),
        [pod("a", "Succeeded")],
        {"conditions": ["Complete "], "untrack": ["a"]},
    ),
    (
        "a finished job stays for its time to live",
        job(
            {"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": at(-4)}]},
            ttlSecondsAfterFinished=10,
        ),
        [],
        {"conditions": ["Failed "], "wake": 6.0},
    ),
    (
        "and goes after it",
        job(
            {"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": at(-10)}]},
            ttlSecondsAfterFinished=10,
        ),
        [],
        {"conditions": ["Failed "], "expired": True},
    ),
    ("another controller's job is left alone", job(managedBy="kueue.x-k8s.io/multikueue"), [pod("a")], {}),
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


def test_a_job_starts_now_unless_it_is_suspended() -> None:
    unstarted: Document = {"startTime": None}
    assert decide(job(unstarted), [], NOW).status.start_time == moment(NOW)
    assert decide(job(unstarted, suspend=True), [], NOW).status.start_time is None


def test_a_job_that_is_deleted_lets_its_pods_go_and_makes_none() -> None:
    deleted = msgspec.structs.replace(
        job(), metadata=msgspec.structs.replace(job().metadata, deletion_timestamp=moment(NOW))
    )
    assert shown(decide(deleted, [pod("a")], NOW)) == {"untrack": ["a"]}


def test_the_reason_names_the_container_and_the_rule() -> None:
    decision = decide(job(podFailurePolicy=RULES), [pod("a", "Failed", code=42)], NOW)
    message = "Container main for pod d/a failed with exit code 42 matching FailJob rule at index 0"
    assert decision.events == [JobEvent("PodFailurePolicy", message, is_warning=True)]


def test_a_replacement_knows_how_often_its_index_has_failed() -> None:
    given = job(backoffLimit=9, completionMode="Indexed", backoffLimitPerIndex=3, parallelism=1)
    failed = pod("a", "Failed", index=0, failures=1, ended=-5)
    assert decide(given, [failed], NOW).wake_at == NOW + 15
    assert decide(given, [failed], NOW + 15).create == [NewPod(0, 2)]


def test_waits_double_up_to_six_minutes() -> None:
    assert [wait(one) for one in range(1, 9)] == [10, 20, 40, 80, 160, 320, 360, 360]


@pytest.mark.parametrize("text", ["", "0", "0,1", "0-2", "1,3-5,7,8,10-12"])
def test_indexes_are_read_as_they_are_written(text: str) -> None:
    assert format_indexes(parse_indexes(text, 100)) == text


def test_indexes_that_make_no_sense_are_left_out() -> None:
    assert parse_indexes("x,1,2-,3-5,-4", 5) == {1, 3, 4}
