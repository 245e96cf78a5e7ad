"""What a job and its pods say of themselves, as far as `maar run` shows it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

Document = dict[str, object]

INDEX_LABEL: Final = "volcano.sh/task-index"
ENDED: Final = ("Completed", "Failed", "Terminated", "Aborted")

_OVER: Final = ("Succeeded", "Failed")
_NO_CODE: Final = 1  # of a pod that failed without ending by itself: it was refused or evicted


@dataclass(frozen=True)
class PodSeen:
    """A pod at one moment."""

    name: str
    uid: str
    index: int
    phase: str
    has_started: bool
    exit_code: int | None
    message: str

    @classmethod
    def of(cls, pod: Document) -> "PodSeen":
        """Read a pod."""
        meta, status = _part(pod, "metadata"), _part(pod, "status")
        name, phase = str(meta.get("name", "")), str(status.get("phase") or "Pending")
        label = str(_part(meta, "labels").get(INDEX_LABEL) or name.rpartition("-")[2])
        states = [_part(container, "state") for container in _list(status, "containerStatuses")]
        ended = [_part(state, "terminated") for state in states if "terminated" in state]
        codes = [cast(int, end["exitCode"]) for end in ended if isinstance(end.get("exitCode"), int)]
        code = next(filter(None, codes), 0 if phase == "Succeeded" else None)
        said = [str(end["message"]) for end in ended if end.get("message")]
        said += [str(end["reason"]) for end in ended if end.get("reason") in ("OOMKilled", "Lost")]
        return cls(
            name,
            str(meta.get("uid", "")),
            int(label) if label.isdecimal() else 0,
            phase,
            phase in _OVER or any("running" in state or "terminated" in state for state in states),
            code if code is not None or phase != "Failed" else _NO_CODE,
            str(status.get("message") or "; ".join(said)),
        )


def phase_of(job: Document) -> str:
    """How far a job has come."""
    return str(_state(job).get("phase") or "Pending")


def message_of(job: Document) -> str:
    """What a job says about where it stands."""
    return str(_state(job).get("message") or "")


def why_not_scheduled(group: Document) -> str:
    """What a pod group waits for, in the scheduler's words."""
    conditions = _list(_part(group, "status"), "conditions")
    waits = [
        str(condition.get("message") or "")
        for condition in conditions
        if condition.get("type") == "Unschedulable"
    ]
    return waits[-1] if waits else ""


def first_failure(pods: Iterable[PodSeen]) -> PodSeen | None:
    """The pod that failed, of several the one with the lowest index."""
    failed = [pod for pod in pods if pod.exit_code]
    return min(failed, key=lambda pod: (pod.index, pod.name), default=None)


def _state(job: Document) -> Document:
    return _part(_part(job, "status"), "state")


def _part(value: Document, name: str) -> Document:
    part = value.get(name)
    return cast(Document, part) if isinstance(part, dict) else {}


def _list(value: Document, name: str) -> list[Document]:
    part = value.get(name)
    return [cast(Document, item) for item in part if isinstance(item, dict)] if isinstance(part, list) else []
