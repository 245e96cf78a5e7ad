"""The status of a pod on a virtual node, at each step of its lifecycle."""

from datetime import datetime
from typing import Final

from maar.embedded.failures import Json
from maar.embedded.lifecycle import time_text
from maar.embedded.nodes.node import pod_address
from maar.embedded.nodes.pod import BoundPod
from maar.embedded.nodes.script import first_container
from maar.embedded.nodes.status import (
    Standing,
    container_status,
    running,
    terminated,
    waiting,
)

KILLED: Final = 143  # the exit code of a process that SIGTERM ended


def started(pod: BoundPod, host_ip: str, now: str) -> Standing:
    """All containers run; what was to run before them has ended."""
    return Standing(
        "Running",
        _containers(pod, running(now)),
        _init_containers(pod, running(now), now),
        pod_ip=pod_address(pod.metadata.uid),
        host_ip=host_ip,
    )


def restarted(pod: BoundPod, last: Json, now: str) -> Standing:
    """All containers run again."""
    return Standing("Running", _containers(pod, running(now), last, first_container(pod).restart_count + 1))


def backing_off(pod: BoundPod, last: Json, seconds: float) -> Standing:
    """All containers have failed and wait for another try."""
    meta = pod.metadata
    message = f"back-off {seconds:g}s restarting failed pod={meta.name}_{meta.namespace}({meta.uid})"
    return Standing("Running", _containers(pod, waiting("CrashLoopBackOff", message), last))


def ended(pod: BoundPod, exit_code: int, now: str, reason: str = "", message: str = "") -> Standing:
    """All containers have ended, and the pod with them."""
    return Standing(
        "Failed" if exit_code else "Succeeded",
        _containers(pod, failure(pod, exit_code, now), last_failure(pod)),
        _init_containers(pod, terminated(0, _text(pod.status.start_time, now), now), now),
        reason=reason,
        message=message,
    )


def failure(pod: BoundPod, exit_code: int, now: str) -> Json:
    """The state of containers that have just ended."""
    state = first_container(pod).state.running
    return terminated(exit_code, _text(state.started_at if state else None, now), now)


def last_failure(pod: BoundPod) -> Json | None:
    """How the containers ended before they were started again."""
    last = first_container(pod).last_state.terminated
    if last is None:
        return None
    return terminated(last.exit_code, _text(last.started_at, ""), _text(last.finished_at, ""))


def _containers(
    pod: BoundPod, state: Json, last: Json | None = None, restarts: int | None = None
) -> list[Json]:
    count = first_container(pod).restart_count if restarts is None else restarts
    return [container_status(pod, one, state, count, last) for one in pod.spec.containers]


def _init_containers(pod: BoundPod, sidecar: Json, now: str) -> list[Json]:
    taken = _text(pod.status.start_time, now)
    return [
        container_status(pod, one, sidecar if one.restart_policy == "Always" else terminated(0, taken, taken))
        for one in pod.spec.init_containers
    ]


def _text(time: datetime | None, otherwise: str) -> str:
    return time_text(time.timestamp()) if time else otherwise
