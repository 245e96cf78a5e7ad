"""Rules for the lifecycle policies of jobs and their tasks."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission.job_case import JobCase
from maar.core.admission.plain import brief
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule
from maar.core.model.job import JOB_ACTIONS, LifecyclePolicy

ANY_EVENT: Final = "*"
EVENTS: Final = (
    ANY_EVENT, "PodPending", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted",
    "TaskFailed", "JobUpdated",
)  # fmt: skip
DURATION: Final = re.compile(r"([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|µs|ms|s|m|h)){1,7}")


def trigger(job: JobCase) -> Iterator[Problem]:
    """A policy answers either events or an exit code."""
    for path, policy in _policies(job):
        if _events(policy) and policy.exit_code is not None:
            sentence = "must not specify event and exitCode simultaneously; remove one of them"
            yield Problem(path, brief(policy.exit_code), sentence)
        elif not _events(policy) and policy.exit_code is None:
            sentence = (
                "has no trigger: either event and exitCode should be specified; add the one that is meant"
            )
            yield Problem(path, brief(policy.action), sentence)


def event(job: JobCase) -> Iterator[Problem]:
    """A policy answers events that jobs have."""
    for path, policy in _policies(job):
        for name in dict.fromkeys(_events(policy)):
            if name not in EVENTS:
                sentence = f"has {brief(name)}, an invalid policy event; use one of {', '.join(EVENTS)}"
                yield Problem(f"{path}.event", brief(name), sentence)


def event_unique(job: JobCase) -> Iterator[Problem]:
    """An event is answered by one policy, and where `*` is answered by no other."""
    for policies in _lists(job):
        seen: dict[str, str] = {}
        for path, policy in policies:
            for name in dict.fromkeys(_events(policy)):
                if name in seen:
                    sentence = (
                        f"has a duplicate event, {brief(name)}, which {seen[name]} answers; keep one of them"
                    )
                    yield Problem(f"{path}.event", brief(name), sentence)
                elif seen and ANY_EVENT in (name, *seen):
                    first = next(iter(seen.values()))
                    sentence = (
                        f"stands beside {first}: if there's * here, no other policy should be here; keep one"
                    )
                    yield Problem(f"{path}.event", brief(name), sentence)
                seen.setdefault(name, path)


def action(job: JobCase) -> Iterator[Problem]:
    """A policy does something that can be done to a job."""
    for path, policy in _policies(job):
        if policy.action not in JOB_ACTIONS:
            wrong = brief(policy.action)
            sentence = f"is {wrong}, an invalid policy action; use one of {', '.join(JOB_ACTIONS)}"
            yield Problem(f"{path}.action", wrong, sentence)


def exit_code(job: JobCase) -> Iterator[Problem]:
    """Exit code 0, success, is not answered."""
    for path, policy in _policies(job):
        if policy.exit_code == 0:
            sentence = (
                "is 0, and 0 is not a valid error code; name a failure's, or use the event TaskCompleted"
            )
            yield Problem(f"{path}.exitCode", "0", sentence)


def exit_code_unique(job: JobCase) -> Iterator[Problem]:
    """An exit code is answered by one policy."""
    for policies in _lists(job):
        seen: dict[int, str] = {}
        for path, policy in policies:
            code = policy.exit_code
            if code is not None and code in seen:
                sentence = (
                    f"is a duplicate exitCode, {brief(code)}, which {seen[code]} answers; keep one of them"
                )
                yield Problem(f"{path}.exitCode", brief(code), sentence)
            elif code is not None:
                seen[code] = path


def timeout(job: JobCase) -> Iterator[Problem]:
    """A policy waits for a length of time such as 30s or 1h30m."""
    for path, policy in _policies(job):
        if policy.timeout is not None and not DURATION.fullmatch(policy.timeout):
            wrong = brief(policy.timeout)
            yield Problem(
                f"{path}.timeout", wrong, f"is {wrong}, no length of time; write for example 30s or 1h30m"
            )


def _lists(job: JobCase) -> Iterator[list[tuple[str, LifecyclePolicy]]]:
    """The policies of the job, then those of each task, with their paths."""
    yield [(f"spec.policies[{number}]", one) for number, one in enumerate(job.spec.policies)]
    for place, task in enumerate(job.spec.tasks):
        yield [(f"spec.tasks[{place}].policies[{number}]", one) for number, one in enumerate(task.policies)]


def _policies(job: JobCase) -> Iterator[tuple[str, LifecyclePolicy]]:
    for policies in _lists(job):
        yield from policies


def _events(policy: LifecyclePolicy) -> tuple[str, ...]:
    return (policy.event, *policy.events) if policy.event else policy.events


RULES: Final[Mapping[str, Rule[JobCase]]] = {
    "job-policy-trigger": trigger,
    "job-policy-event": event,
    "job-policy-event-unique": event_unique,
    "job-policy-action": action,
    "job-policy-exit-code": exit_code,
    "job-policy-exit-code-unique": exit_code_unique,
    "job-policy-timeout": timeout,
}
