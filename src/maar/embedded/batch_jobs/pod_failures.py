"""What follows from failed pods: which rule of a failure policy matches, and how long a retry waits."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from maar.core.model.batch_job import Action, FailurePolicy, FailureRule
from maar.embedded.batch_jobs.model import BatchJob, JobPod
from maar.embedded.nodes.pod import ContainerStatus

_FIRST_WAIT_S: Final = 10.0
_LONGEST_WAIT_S: Final = 360.0
_DOUBLINGS: Final = 6  # more would exceed the longest wait


class Verdict(NamedTuple):
    """What the first matching rule says about a failed pod."""

    action: Action = "Count"
    message: str = ""


_COUNTED: Final = Verdict()


def is_failed(pod: JobPod, job: BatchJob) -> bool:
    """Whether a pod counts as failed; one that is deleted does at once, unless the job waits for its end."""
    if not pod.is_terminating:
        return pod.status.phase == "Failed"
    return not job.spec.replaces_failed_only or pod.has_left_node


def verdict(policy: FailurePolicy | None, pod: JobPod) -> Verdict:
    """What a failure policy says about a failed pod; without a rule for it, it counts."""
    for position, rule in enumerate(policy.rules if policy is not None else ()):
        if why := _match(rule, pod):
            return Verdict(rule.action, f"{why} matching {rule.action} rule at index {position}")
    return _COUNTED


def retry_at(pods: Iterable[JobPod]) -> float:
    """When the next pod may be made after the failures since the last success.

    Deleted pods are no reason to wait: nothing says that another would fail too.
    """
    ended = [pod for pod in pods if pod.is_finished and pod.metadata.deletion_timestamp is None]
    success = max((one.ended for one in ended if one.status.phase == "Succeeded"), default=0.0)
    failures = [one.ended for one in ended if one.status.phase == "Failed" and one.ended > success]
    return max(failures) + wait(len(failures)) if failures else 0.0


def wait(failures: int) -> float:
    """Seconds to wait after the n-th failure in a row."""
    doubled = _FIRST_WAIT_S * 2.0 ** min(failures - 1, _DOUBLINGS)
    return min(doubled, _LONGEST_WAIT_S)


def _match(rule: FailureRule, pod: JobPod) -> str:
    """How a rule matches a failed pod; nothing where it does not."""
    called = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
            code = _exit_code(rule, status)
            if code:
                return f"Container {status.name} for pod {called} failed with exit code {code}"
        return ""
    wanted = {(condition.type, condition.status) for condition in rule.on_pod_conditions}
    types = (
        condition.type for condition in pod.status.conditions if (condition.type, condition.status) in wanted
    )
    return next((f"Pod {called} has condition {matched}" for matched in types), "")


def _exit_code(rule: FailureRule, status: ContainerStatus) -> int:
    """The exit code of a container that a rule is about; 0 for any other."""
    codes, ended = rule.on_exit_codes, status.state.terminated
    if codes is None or ended is None or codes.container_name not in (None, status.name):
        return 0
    return ended.exit_code if (ended.exit_code in codes.values) == (codes.operator == "In") else 0
