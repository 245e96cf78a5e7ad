"""How long a pod is expected to run, as people and other controllers state it."""

from collections.abc import Mapping
from typing import Final

from maar.core.model.durations import BadDurationError, seconds
from maar.core.model.pod import Pod

EXPECTED_RUN_TIME: Final = "maar.sh/expected-runtime"  # on a pod, a pod group or a job
_KUEUE: Final = "kueue.x-k8s.io/max-exec-time-seconds"


def stated_seconds(annotations: Mapping[str, str], *names: str) -> float | None:
    """The first of some annotations that is a duration, or a whole number of seconds."""
    for name in names:
        text = annotations.get(name)
        if text is None:
            continue
        try:
            return seconds(f"{text}s" if text.isascii() and text.isdecimal() else text)
        except BadDurationError:
            continue
    return None


def longest_run_time(pod: Pod) -> float | None:
    """After how many seconds a pod is ended whatever it does; None where nothing says so."""
    deadline = pod.spec.active_deadline_seconds
    if deadline is not None:
        return float(deadline) if deadline >= 0 else None
    stated = stated_seconds(pod.metadata.labels, _KUEUE)
    return None if stated is None else float(int(stated))  # deadlines are whole seconds


def ran_for(pod: Pod) -> float | None:
    """How many seconds a pod that succeeded has run; None where that is not known."""
    status = pod.status
    if status.phase != "Succeeded" or status.start_time is None:
        return None
    ends = [
        one.state.terminated.finished_at
        for one in status.container_statuses
        if one.state.terminated is not None and one.state.terminated.finished_at is not None
    ]
    return max(0.0, (max(ends) - status.start_time).total_seconds()) if ends else None
