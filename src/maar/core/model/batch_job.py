"""What a Job of batch/v1 says: how many pods it makes from its template, and what it does when pods fail."""

from typing import Literal

from maar.core.model.job import PodTemplate
from maar.core.model.metadata import Condition, Record


class OnExitCodes(Record, frozen=True):
    """Exit codes that a rule is about; of any container where none is named."""

    container_name: str | None = None
    operator: str = "In"
    values: tuple[int, ...] = ()


class ConditionPattern(Record, frozen=True):
    """A condition of a pod that a rule is about."""

    type: str = ""
    status: str = "True"


Action = Literal["FailJob", "FailIndex", "Ignore", "Count"]


class FailureRule(Record, frozen=True):
    """What follows from one kind of failure."""

    action: Action = "Count"
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] = ()


class FailurePolicy(Record, frozen=True):
    """The first rule that matches a failed pod counts."""

    rules: tuple[FailureRule, ...] = ()

    @property
    def ignores_evictions(self) -> bool:
        """Whether an evicted pod is no failure: no rule before the one that ignores it can match."""
        for rule in self.rules:
            if any(one.type == "DisruptionTarget" and one.status == "True" for one in rule.on_pod_conditions):
                return rule.action == "Ignore"
            if rule.action != "Ignore":
                return False
        return False


class BatchJobSpec(Record, frozen=True):
    """What is wanted; defaults are those of the API server."""

    suspend: bool = False
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    managed_by: str = ""
    pod_failure_policy: FailurePolicy | None = None
    template: PodTemplate = PodTemplate()


class BatchJobStatus(Record, frozen=True):
    """How far the Job has come."""

    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    conditions: tuple[Condition, ...] = ()
