"""Batch jobs and their pods in few words, and what is decided about them."""

from typing import Any, Final

import msgspec

from maar.embedded.batch_jobs.decision import Decision
from maar.embedded.batch_jobs.model import BatchJob, JobPod, moment, read_job, read_job_pod

NOW: Final = 1_800_000_000.0
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


OVER: Final = ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"]
