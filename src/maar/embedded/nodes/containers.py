"""One container on this machine: its state, and what its supervisor is to run."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from maar.core.model.resources import CPU, MEMORY, Resources
from maar.embedded.calls import text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part
from maar.embedded.lifecycle import time_text
from maar.embedded.nodes.cgroups import Cgroups
from maar.embedded.nodes.container_supervisor import RunRequest
from maar.embedded.nodes.environment import environment, expanded
from maar.embedded.nodes.gpus import Gpus
from maar.embedded.nodes.local_pod import LocalContainer, LocalPod
from maar.embedded.nodes.machine import Processors
from maar.embedded.nodes.processes import CAN_OUTLIVE, KILLED, LOST, Ending, Process, runs_on
from maar.embedded.nodes.status import container_status, terminated, waiting
from maar.embedded.nodes.substitution import substitution

_LOG_BYTES: Final = 10 << 20  # of one file; a container has at most four: two of this run, two of the last

_NICENESS: Final = 5  # the server comes first
_NICENESS_UNASKED: Final = 10  # of a container that requests no CPU: those that do come first


@dataclass(frozen=True)
class NodeRuntime:
    """What all pods of the local node share: cluster, data folder, and what the machine has."""

    cluster: Cluster
    folder: Path
    allocatable: Resources
    processors: Processors
    clock: Callable[[], float]
    gpus: Gpus
    cgroups: Cgroups | None = None
    keeps_running: bool = False  # processes, when the server is stopped

    def logs(self, pod: LocalPod) -> Path:
        """Where the logs of a pod are."""
        return self.folder / "logs" / pod.folder_name

    def files(self, pod: LocalPod) -> Path:
        """Where a pod keeps its files."""
        return self.folder / "pods" / pod.folder_name

    def records(self, pod: LocalPod, container: str) -> Path:
        """Where the supervisors of a container report for a later server, a file for each run."""
        return self.files(pod) / "runs" / container

    def has_processes(self, pod: LocalPod) -> bool:
        """Whether something of a pod that an earlier server has started still runs."""
        return any(map(runs_on, (self.files(pod) / "runs").glob("*/*.json")))

    def forget(self, folder_name: str) -> None:
        """Remove the files of a pod; what is left of its processes ends. Its output stays for a while."""
        shutil.rmtree(self.folder / "pods" / folder_name, ignore_errors=True)


class Container:
    """A container of a pod and its last two runs."""

    def __init__(self, spec: LocalContainer, status: Json) -> None:
        self.spec = spec
        self.restarts = cast(int, status.get("restartCount", 0))
        self.state: Json = part(status, "state") or waiting("ContainerCreating")
        self.last: Json = part(status, "lastState")
        self.process: Process | None = None
        self.attempted = asyncio.Event()  # set once it was started, or could not be
        self.ran = 0.0  # seconds

    def recall(self, records: Path, now: str) -> None:
        """Find the process of its last run, where that has not ended as far as is known."""
        number = max((int(one.stem) for one in records.glob("*.json")), default=-1)
        is_known = number == self.restarts and "terminated" in self.state
        if number >= self.restarts and not is_known:
            if number > self.restarts and "terminated" in self.state:
                self.last = self.state
            self.restarts = number
            self.process = Process.found(records / f"{number}.json")
        elif "running" in self.state:
            message = f"there is no record of its process in {records}: its exit code is not known"
            self.end(Ending(KILLED, LOST, message), now)

    def release(self) -> None:
        """Leave its process to a later server, if it runs."""
        if self.process is not None:
            self.process.release()

    @property
    def is_sidecar(self) -> bool:
        """Whether it runs beside the containers, though it starts before them."""
        return self.spec.restart_policy == "Always"

    @property
    def exit_code(self) -> int | None:
        """How its last run ended; None while it runs and before it has."""
        if "running" in self.state:
            return None
        last = part(self.state, "terminated") or part(self.last, "terminated")
        return cast(int, last["exitCode"]) if last else None

    def status(self, pod: LocalPod) -> Json:
        """Its part of the status of the pod."""
        return container_status(pod, self.spec, self.state, self.restarts, self.last)

    def end(self, ending: Ending, now: str) -> None:
        """Take note that its process has ended."""
        ended = now if ending.at is None else time_text(ending.at)
        since = text(part(self.state, "running"), "startedAt") or ended
        self.state = terminated(ending.exit_code, since, ended, ending.reason, ending.message)

    def run_request(self, runtime: NodeRuntime, pod: LocalPod, folders: Mapping[str, str]) -> RunRequest:
        """What its supervisor is to run, and within which limits."""
        here = substitution(pod, self.spec, folders)
        found = environment(runtime.cluster, pod, self.spec, folders, here)
        found |= runtime.gpus.variables(pod, self.spec)
        limits, request = self.spec.resources.limits, self.spec.resources.request
        log = runtime.logs(pod) / self.spec.name / f"{self.restarts}.log"
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        record = runtime.records(pod, self.spec.name) / f"{self.restarts}.json"
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (log.parent, record.parent):
            for old in folder.glob(f"{self.restarts - 2}.*"):
                old.unlink()
        work = runtime.files(pod) / "work"
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
        return {
            "command": [expanded(here(word), found) for word in (*self.spec.command, *self.spec.args)],
            "environment": found,
            "folder": self.spec.working_dir or str(work),
            "log": str(log),
            "log_bytes": _LOG_BYTES,
            "memory": limits.get(MEMORY, runtime.allocatable[MEMORY]),
            "process_memory": runtime.allocatable[MEMORY],
            "cpus": [],
            "niceness": _NICENESS if request.get(CPU) else _NICENESS_UNASKED,
            "record": str(record),
            "outlives": CAN_OUTLIVE,
            "cgroup": "",
        }
