"""The simulated run of a pod on a virtual node: what its annotations ask for, what happens next, and when."""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from maar.core.model.durations import BadDurationError, seconds
from maar.embedded.nodes.pod import BoundPod, ContainerStatus

RUN_FOR: Final = "maar.sh/run-for"
EXIT_CODE: Final = "maar.sh/exit-code"
_STOP_AFTER: Final = "maar.sh/stop-after"

_FIRST_WAIT: Final = 10.0
_LONGEST_WAIT: Final = 300.0
_BACKOFF_RESET_AFTER: Final = 600.0  # seconds; after a run as long the wait is the first again

_LARGEST_CODE: Final = 255
_DOUBLINGS: Final = 5  # more would exceed the longest wait


class BadAnnotationError(ValueError):
    """An annotation that cannot be followed."""


class Script(NamedTuple):
    """How a pod runs: for how long (None: until it is deleted), how it ends, how long it takes to stop."""

    run_for: float | None = None
    exit_code: int = 0
    stop_after: float = 0.0


_UNTIL_DELETED: Final = Script()


def script_of(annotations: Mapping[str, str]) -> Script:
    """Read the annotations of a pod."""
    run_for, code, stop_after = (annotations.get(name) for name in (RUN_FOR, EXIT_CODE, _STOP_AFTER))
    if run_for is code is stop_after is None:
        return _UNTIL_DELETED
    return Script(
        None if run_for is None else _duration(RUN_FOR, run_for),
        0 if code is None else _exit_code(code),
        0.0 if stop_after is None else _duration(_STOP_AFTER, stop_after),
    )


def _duration(name: str, text: str) -> float:
    try:
        return seconds(text)
    except BadDurationError as error:
        raise BadAnnotationError(f"annotation {name}: {error}") from None


def _exit_code(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST_CODE))):
        raise BadAnnotationError(f'annotation {EXIT_CODE}: {text!r} is not an exit code: write "0" or "1"')
    if int(text) > _LARGEST_CODE:
        raise BadAnnotationError(f"annotation {EXIT_CODE}: {text} is above {_LARGEST_CODE}: write less")
    return int(text)


def wait_before(restart: int, ran: float) -> float:
    """Seconds before the n-th restart of a container whose last run took `ran` seconds."""
    if restart <= 1 or ran >= _BACKOFF_RESET_AFTER:
        return 0.0
    return min(_FIRST_WAIT * 2.0 ** min(restart - 2, _DOUBLINGS), _LONGEST_WAIT)


class Act(Enum):
    """What a virtual node does to a pod."""

    STOP = "stop"  # it is deleted, and has stopped
    EXPIRE = "expire"  # it was active longer than it may be
    END = "end"  # it has run for as long as it was to
    RESTART = "restart"  # it has waited long enough after its last failure


class Step(NamedTuple):
    """An act and its time."""

    at: float
    act: Act


class Times(NamedTuple):
    """When a pod was taken, when its containers last started, and when they are to start again."""

    taken: float
    started: float
    restart: float | None = None


def next_step(pod: BoundPod, script: Script, times: Times) -> Step | None:
    """The next act for a pod; None: nothing until it changes."""
    steps: list[Step] = []
    meta, limit = pod.metadata, pod.spec.active_deadline_seconds
    if meta.deletion_timestamp is not None:
        grace = meta.deletion_grace_period_seconds or 0
        asked = meta.deletion_timestamp.timestamp() - grace
        steps.append(Step(asked + min(script.stop_after, grace), Act.STOP))
    if limit is not None:
        steps.append(Step(times.taken + limit, Act.EXPIRE))
    if times.restart is not None:
        steps.append(Step(times.restart, Act.RESTART))
    elif script.run_for is not None:
        steps.append(Step(times.started + script.run_for, Act.END))
    return min(steps, key=lambda step: step.at, default=None)


def first_container(pod: BoundPod) -> ContainerStatus:
    """The status that stands for all: containers of a virtual pod start and end together."""
    return pod.status.container_statuses[0] if pod.status.container_statuses else ContainerStatus()


def times_of(pod: BoundPod) -> Times:
    """The times of a pod as its status tells them, to the second."""
    taken = pod.status.start_time.timestamp() if pod.status.start_time else 0.0
    first = first_container(pod)
    if first.state.running is not None and first.state.running.started_at is not None:
        return Times(taken, first.state.running.started_at.timestamp())
    last = first.last_state.terminated
    if first.state.waiting is None or last is None or last.started_at is None or last.finished_at is None:
        return Times(taken, taken)
    started, ended = last.started_at.timestamp(), last.finished_at.timestamp()
    return Times(taken, started, ended + wait_before(first.restart_count + 1, ended - started))
