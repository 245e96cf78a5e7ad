"""The status of a pod as a kubelet writes it, and each that a pod on a virtual node goes through."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from maar.embedded.failures import Json
from maar.embedded.lifecycle import time_text
from maar.embedded.nodes.node import pod_address
from maar.embedded.nodes.pod import FINISHED, BoundPod, NamedContainer
from maar.embedded.nodes.script import first_container


@dataclass(frozen=True)
class Standing:
    """Where a pod stands; addresses stay as they were where none are given."""

    phase: str
    containers: Sequence[Json] = ()
    init_containers: Sequence[Json] = ()
    initialized: bool = True
    reason: str = ""
    message: str = ""
    pod_ip: str = ""
    host_ip: str = ""

    def status(self, old: Json, now: str) -> Json:
        """The status that says so, in place of an old one; what others have written there stays."""
        status = {name: part for name, part in old.items() if name not in ("reason", "message")}
        status["phase"] = self.phase
        status.setdefault("startTime", now)
        if self.reason:
            status["reason"], status["message"] = self.reason, self.message
        if self.pod_ip:
            status["podIP"], status["podIPs"] = self.pod_ip, [{"ip": self.pod_ip}]
        if self.host_ip:
            status["hostIP"], status["hostIPs"] = self.host_ip, [{"ip": self.host_ip}]
        if self.containers:
            status["containerStatuses"] = list(self.containers)
            status["conditions"] = self._conditions(old, now)
        if self.init_containers:
            status["initContainerStatuses"] = list(self.init_containers)
        return status

    def _conditions(self, old: Json, now: str) -> list[Json]:
        """Conditions with their times; one that holds as it did keeps its time."""
        ready = self.phase == "Running" and all(container["ready"] for container in self.containers)
        unready = "PodCompleted" if self.phase == "Succeeded" else "ContainersNotReady"
        found = {
            "PodReadyToStartContainers": (self.phase not in FINISHED, ""),
            "Initialized": (self.initialized, "ContainersNotInitialized"),
            "Ready": (ready, unready),
            "ContainersReady": (ready, unready),
            "PodScheduled": (True, ""),
        }
        before = {str(one.get("type")): one for one in cast(list[Json], old.get("conditions") or [])}
        conditions: list[Json] = []
        for name, (holds, reason) in found.items():
            text, was = "True" if holds else "False", before.pop(name, {})
            since = was.get("lastTransitionTime") if was.get("status") == text else None
            condition: Json = {"type": name, "status": text, "lastProbeTime": None}
            condition["lastTransitionTime"] = since or now
            if reason and not holds:
                condition["reason"] = reason
            conditions.append(condition)
        return [*conditions, *before.values()]


def running(since: str) -> Json:
    """The state of a container that runs."""
    return {"running": {"startedAt": since}}


def waiting(reason: str, message: str = "") -> Json:
    """The state of a container that is not started yet, or not again yet."""
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def terminated(exit_code: int, since: str, now: str, reason: str = "", message: str = "") -> Json:
    """The state of a container that has ended."""
    state: Json = {"exitCode": exit_code, "reason": reason or ("Error" if exit_code else "Completed")}
    if message:
        state["message"] = message
    return {"terminated": {**state, "startedAt": since, "finishedAt": now}}


def container_status(
    pod: BoundPod, container: NamedContainer, state: Json, restarts: int = 0, last: Json | None = None
) -> Json:
    """What is known of one container."""
    runs, identity = "running" in state, f"maar://{pod.metadata.uid}/{container.name}/{restarts}"
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        **({"containerID": identity} if last or "waiting" not in state else {}),
        "ready": runs,
        "started": runs,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }


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
    return [container_status(pod, container, state, count, last) for container in pod.spec.containers]


def _init_containers(pod: BoundPod, sidecar: Json, now: str) -> list[Json]:
    taken = _text(pod.status.start_time, now)
    return [
        container_status(
            pod, container, sidecar if container.restart_policy == "Always" else terminated(0, taken, taken)
        )
        for container in pod.spec.init_containers
    ]


def _text(time: datetime | None, otherwise: str) -> str:
    return time_text(time.timestamp()) if time else otherwise
