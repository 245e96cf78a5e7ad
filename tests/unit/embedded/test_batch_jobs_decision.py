"""What is decided about a batch/v1 Job, from its spec, its status and its pods."""

from collections.abc import Sequence

import msgspec
import pytest

from maar.embedded.batch_jobs.decision import decide
from maar.embedded.batch_jobs.model import BatchJob, JobPod, moment
from maar.embedded.batch_jobs.pod_failures import wait
from support.batch_jobs import NOW, OVER, Document, at, job, pod, shown

LIMIT = "BackoffLimitExceeded"
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


def test_waits_double_up_to_six_minutes() -> None:
    assert [wait(one) for one in range(1, 9)] == [10, 20, 40, 80, 160, 320, 360, 360]
