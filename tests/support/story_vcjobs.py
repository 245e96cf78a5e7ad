"""What stories of Volcano's jobs need: jobs, Commands, ends of pods, and every change in order."""

import json
from collections.abc import Callable, Mapping, Sized
from subprocess import CompletedProcess
from typing import Final

from support.processes import Group
from support.programs import find_binaries
from support.story import Document, Story
from support.until import wait_until

VCJOB: Final = "jobs.batch.volcano.sh"
COMMAND: Final = "commands.bus.volcano.sh"
JOB_NAME: Final = "volcano.sh/job-name"
WATCHED: Final = {
    "jobs": "/apis/batch.volcano.sh/v1alpha1/jobs",
    "podgroups": "/apis/scheduling.volcano.sh/v1beta1/podgroups",
    "configmaps": "/api/v1/configmaps",
    "pods": "/api/v1/pods",
}
ENDING: Final = ("Aborting", "Terminating", "Completing")


class Watches:
    """Everything that becomes of jobs, their groups, their ConfigMaps and their pods, as a client sees it."""

    def __init__(
        self, kubectl: Callable[..., CompletedProcess[str]], beside: Group, environment: Mapping[str, str]
    ) -> None:
        self._beside, binaries = beside, find_binaries()
        self._read = dict.fromkeys(WATCHED, 0)
        self._changes: dict[str, list[Document]] = {kind: [] for kind in WATCHED}
        for kind, path in WATCHED.items():
            listed = json.loads(kubectl("get", "--raw", path).stdout)
            since = f"watch=true&resourceVersion={listed['metadata']['resourceVersion']}"
            beside.start(
                f"watch-{kind}", [f"{binaries}/kubectl", "get", "--raw", f"{path}?{since}"], environment
            )

    def changes(self, kind: str) -> list[Document]:
        """The changes of a kind so far: each has its `type` and its `object`."""
        with self._beside.log(f"watch-{kind}").open("rb") as log:
            log.seek(self._read[kind])
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read[kind] += len(whole)
        self._changes[kind] += map(json.loads, whole.splitlines())
        return self._changes[kind]

    def states(self, job: str) -> list[Document]:
        """The states that a job was seen in, in order; those of one phase follow each other."""
        found = [one["object"] for one in self.changes("jobs") if one["type"] != "DELETED"]
        return [one for one in found if one["metadata"]["name"] == job and phase_of(one)]

    def phases(self, job: str) -> list[str]:
        """The phases of a job in the order in which they were seen."""
        phases = [phase_of(one) for one in self.states(job)]
        return [now for before, now in zip(["", *phases], phases, strict=False) if now != before]

    def until(self, job: str, *phases: str) -> Document:
        """Wait until a job went through these phases and no others; its status then."""
        expected = list(phases)

        def is_there() -> bool:
            self._beside.check()
            found = self.phases(job)
            assert found == expected[: len(found)], f"{job} went through {found}, not through {expected}"
            return found == expected

        wait_until(f"{job} goes through {expected}", is_there)
        self._check_numbers(job)
        return dict(self.states(job)[-1]["status"])

    def first(self, kind: str, name: str, phase: str = "") -> int:
        """The resource version at which an object whose name begins so was first there, or in a phase."""
        for one in self.changes(kind):
            found = one["object"]
            is_meant = str(found["metadata"]["name"]).startswith(name)
            if is_meant and phase in ("", found.get("status", {}).get("phase")):
                return int(found["metadata"]["resourceVersion"])
        raise AssertionError(f"no {kind} {name} was ever there, or {phase}")

    def _check_numbers(self, job: str) -> None:
        """What clients rely on: the counters with which a job enters a phase."""
        before = ""
        for state in self.states(job):
            phase, found = phase_of(state), state["status"]
            if phase != before:
                assert _is_entered_well(before, phase, found), f"{job} was {phase} after {before}: {found}"
            before = phase


def _is_entered_well(before: str, phase: str, found: Document) -> bool:
    pending, running, terminating = numbers(found, "pending", "running", "terminating")
    if phase == "Running":
        return bool(running >= found["minAvailable"])
    if phase in ENDING or (phase == "Restarting" and before != "Aborted"):
        return bool(terminating > 0)
    if before in ENDING and phase != "Restarting":
        return not (pending or running or terminating)
    return True


def phase_of(job: Document) -> str:
    """The phase of a job."""
    return str(job.get("status", {}).get("state", {}).get("phase", ""))


def vcjob(
    name: str,
    tasks: Mapping[str, int | Document],
    *,
    namespace: str = "default",
    annotations: Mapping[str, str] | None = None,
    **spec: object,
) -> Document:
    """A job of Volcano: its tasks by name, each with its replicas or with all of it."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "annotations": dict(annotations or {})},
        "spec": {
            **spec,
            "tasks": [
                {"name": task, "template": template(), **_task(given)} for task, given in tasks.items()
            ],
        },
    }


def _task(given: int | Document) -> Document:
    return given if isinstance(given, dict) else {"replicas": given}


def template(**more: object) -> Document:
    """The template of a task whose pods ask for one processor."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5, "containers": [container]}
    return {"metadata": {"labels": {"group": "vcjob"}}, "spec": {**spec, **more}}


def command(kubectl: Callable[..., CompletedProcess[str]], job: str, action: str) -> None:
    """Give an order as Volcano's clients do."""
    found = json.loads(kubectl("get", VCJOB, job, "-o", "json").stdout)
    target = {name: found[name] for name in ("apiVersion", "kind")}
    target |= {name: found["metadata"][name] for name in ("name", "uid")}
    order = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {
            "generateName": f"{job}-{action.lower()}-",
            "namespace": found["metadata"]["namespace"],
            "ownerReferences": [{**target, "controller": True}],
        },
        "target": target,
        "action": action,
    }
    kubectl("create", "-f", "-", stdin=json.dumps(order))


def finish(story: Story, *pods: str, code: int = 0) -> None:
    """Let the containers of pods end, as a kubelet says it."""
    ended = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": None}
    container = {"name": "main", "image": "busybox", "imageID": "", "ready": False, "restartCount": 0}
    status = {
        "phase": "Failed" if code else "Succeeded",
        "containerStatuses": [{**container, "state": {"terminated": ended}}],
    }
    patch = json.dumps({"status": status})
    for pod in pods:
        story.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", patch)


def pods_of_job(story: Story, job: str, namespace: str = "default") -> dict[str, str]:
    """The phases of a job's pods by name; those that go are called Terminating."""
    found = story.kubectl("get", "pods", "-n", namespace, "-l", f"{JOB_NAME}={job}", "-o", "json").stdout
    return {
        one["metadata"]["name"]: "Terminating"
        if "deletionTimestamp" in one["metadata"]
        else one["status"]["phase"]
        for one in json.loads(found)["items"]
    }


def until_running(story: Story, job: str, *pods: str) -> None:
    """Wait until exactly these pods of a job are there, and run."""
    expected = {f"{job}-{pod}": "Running" for pod in pods}
    story.until(f"{pods} of {job} run", lambda: pods_of_job(story, job), expected)


def status(story: Story, job: str, namespace: str = "default") -> Document:
    """The status of a job."""
    return dict(story.get(VCJOB, job, namespace).get("status", {}))


def message(story: Story, job: str, namespace: str = "default") -> str:
    """Why a job waits."""
    return str(status(story, job, namespace).get("state", {}).get("message", ""))


def numbers(found: Document, *names: str) -> list[int]:
    """Counters of a status; those that are not there are zero."""
    return [int(found.get(name, 0)) for name in names]


def until_none(story: Story, what: str, look: Callable[[], Sized]) -> None:
    """Wait until nothing is left."""
    story.until(f"{what}", lambda: len(look()), 0)
