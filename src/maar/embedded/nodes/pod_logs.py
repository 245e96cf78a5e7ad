"""The log of a pod: the output of its processes, or the generated log of a virtual pod."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, bad_request
from maar.embedded.nodes.kept_output import KeptOutput
from maar.embedded.nodes.log_files import POLL, LogOptions, read_log, stamp
from maar.embedded.nodes.pod import BoundPod, ContainerStatus, read_pod
from maar.embedded.nodes.reports import PODS, pod_key
from maar.embedded.nodes.script import RUN_FOR

_STAMP: Final = 30  # the length of 2026-01-31T12:00:00.000000000Z
_TEXT: Final = 33  # where the text of a line begins, behind its stamp and mark


class _Run(NamedTuple):
    """One run of one container of a pod."""

    pod: BoundPod
    container: str
    number: int


class PodLogs:
    """Reads the logs of pods; `folder` is the data folder, in which the local node keeps its logs."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder / "logs"

    async def read(self, namespace: str, name: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The log that a request asks for, as it comes; refused at once where there is none."""
        options = LogOptions.of(query)
        try:
            pod = read_pod(self._cluster.get(PODS, namespace, name))
        except ApiError as error:
            kept = KeptOutput(self._folder).folder_of(namespace, name)
            if error.code != HTTPStatus.NOT_FOUND or kept is None:
                raise
            lines = read_log(_kept_file(kept, options), options.tail_lines, lambda: True)
            return _shown(lines, options, options.since(self._cluster.clock()))
        container = _chosen(pod, options.container)
        if not pod.spec.node_name:
            return _nothing()
        run = _Run(pod, container, _number(pod, container, previous=options.previous))
        folder = self._folder / pod.folder_name / container
        if folder.is_dir():
            lines = read_log(
                folder / f"{run.number}.log",
                options.tail_lines,
                lambda: not options.follow or self._is_over(run),
            )
        else:
            lines = self._generated(run, options)
        return _shown(lines, options, options.since(self._cluster.clock()))

    def _status(self, run: _Run) -> ContainerStatus | None:
        """What is known of the container now; None where it has gone with its pod."""
        body = self._cluster.store.get(pod_key(run.pod))
        pod = None if body is None else read_pod(body)
        if pod is None or pod.metadata.uid != run.pod.metadata.uid:
            return None
        return _find(pod, run.container)

    def _is_over(self, run: _Run) -> bool:
        status = self._status(run)
        return status is None or status.restart_count != run.number or status.state.running is None

    async def _generated(self, run: _Run, options: LogOptions) -> AsyncIterator[bytes]:
        """A line for the start of a run and one for its end, when that has come."""
        sent: list[bytes] = []
        while True:
            over = not options.follow or self._is_over(run)
            status = self._status(run)
            lines = [] if status is None else _generated_lines(run, status)
            if not sent and options.tail_lines is not None:
                sent = lines[: len(lines) - options.tail_lines]
            for line in lines[len(sent) :]:
                yield line
                sent.append(line)
            if over:
                return
            await asyncio.sleep(POLL)


def _kept_file(folder: Path, options: LogOptions) -> Path:
    """The output of one run of one container of a pod that is gone."""
    names = sorted(one.name for one in folder.iterdir())
    if options.container and options.container not in names:
        raise bad_request(f"the pod is gone, and left no output of container {options.container}")
    if not options.container and len(names) != 1:
        raise bad_request(f"a container name must be specified, choose one of: [{' '.join(names)}]")
    chosen = folder / (options.container or names[0])
    last = max((int(one.stem) for one in chosen.glob("*.log")), default=0)
    return chosen / f"{last - 1 if options.previous else last}.log"


def _chosen(pod: BoundPod, wanted: str) -> str:
    """The container that is meant."""
    names = [container.name for container in pod.spec.containers]
    early = [container.name for container in pod.spec.init_containers]
    if wanted:
        if wanted not in (*names, *early):
            raise bad_request(f"container {wanted} is not valid for pod {pod.metadata.name}")
        return wanted
    if len(names) == 1:
        return names[0]
    choice = f"choose one of: [{' '.join(names)}]"
    if early:
        choice += f" or one of the init containers: [{' '.join(early)}]"
    raise bad_request(f"a container name must be specified for pod {pod.metadata.name}, {choice}")


def _number(pod: BoundPod, container: str, *, previous: bool) -> int:
    """Which run of a container is meant, the current or the one before."""
    status, subject = _find(pod, container), f'container "{container}" in pod "{pod.metadata.name}"'
    if status is None:
        if pod.is_finished:
            raise bad_request(f"{subject} is not available")
        raise bad_request(f"{subject} is waiting to start: ContainerCreating")
    if previous and status.last_state.terminated is None:
        raise bad_request(f"previous terminated {subject} not found")
    if status.state.waiting is not None:
        if status.last_state.terminated is None:
            raise bad_request(f"{subject} is waiting to start: {status.state.waiting.reason}")
        return status.restart_count
    return status.restart_count - 1 if previous else status.restart_count


def _find(pod: BoundPod, container: str) -> ContainerStatus | None:
    known = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next((one for one in known if one.name == container), None)


def _generated_lines(run: _Run, status: ContainerStatus) -> list[bytes]:
    """The generated log of one run of a container on a virtual node."""
    current = status.restart_count == run.number and status.state.waiting is None
    ended = status.state.terminated if current else status.last_state.terminated
    started_at = ended.started_at if ended else status.state.running and status.state.running.started_at
    run_for = run.pod.metadata.annotations.get(RUN_FOR)
    length = f"for {run_for}" if run_for else f"until it is deleted: {RUN_FOR} does not say how long"
    lines: list[bytes] = []
    if started_at:
        text = f"started on virtual node {run.pod.spec.node_name}, runs {length}"
        lines.append(b"%s F %s\n" % (stamp(started_at.timestamp()), text.encode()))
    if ended and ended.finished_at:
        text = f"ended with exit code {ended.exit_code}"
        lines.append(b"%s F %s\n" % (stamp(ended.finished_at.timestamp()), text.encode()))
    return lines


async def _shown(lines: AsyncIterator[bytes], options: LogOptions, since: bytes) -> AsyncIterator[bytes]:
    """Lines of a log in the form that is asked for."""
    left, begins = options.limit_bytes, True
    async for chunk in lines:
        parts: list[bytes] = []
        for line in chunk.split(b"\n")[:-1]:
            whole, wanted = line[_STAMP : _TEXT - 1] == b" F", line[:_STAMP] >= since
            if wanted:
                if options.timestamps and begins:
                    parts.append(line[:_STAMP] + b" ")
                parts.append(line[_TEXT:] + b"\n" if whole else line[_TEXT:])
            begins = whole
        data = b"".join(parts)
        if left is not None:
            data = data[:left]
            left -= len(data)
        if data:
            yield data
        if left == 0:
            return


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
