"""A kubelet for all virtual nodes at once: pods start, run as long as they say, and end as they say.

Time costs nothing here: there is one heap of what is due, and no task, timer or thread for a pod or
a node.
"""

import asyncio
import heapq
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from maar.core.model.kinds import BadObjectError
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.lifecycle import time_text
from maar.embedded.nodes import status as statuses
from maar.embedded.nodes.changes import Changes
from maar.embedded.nodes.node import completed, stamped
from maar.embedded.nodes.node_capacity import Host, Hosts
from maar.embedded.nodes.pod import BoundPod, read_pod
from maar.embedded.nodes.reports import PODS, delete_stopped, pod_key, record_event, report
from maar.embedded.nodes.script import (
    Act,
    BadAnnotationError,
    Script,
    Step,
    Times,
    first_container,
    next_step,
    script_of,
    times_of,
    wait_before,
)
from maar.embedded.nodes.status import Standing
from maar.embedded.storage_problems import RETRY_AFTER_S, NotStoredError
from maar.embedded.store import Change, Key

_LOG: Final = logging.getLogger(__name__)
_TURN: Final = 0.004  # seconds of work before others have their turn
_LONGEST_PAUSE: Final = 30.0  # seconds: a clock may be set, a machine may sleep
_PAGE: Final = 500
_STALE: Final = 1000  # entries of the agenda that may be out of date
_NODES: Final = "nodes"


@dataclass(slots=True)
class _VirtualPod:
    """A pod that runs on a virtual node."""

    key: Key
    uid: str
    host: Host
    times: Times
    step: Step | None = None


class VirtualNodes:
    """Runs every pod that is bound to a virtual node, or to a node that does not exist."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float] = time.time) -> None:
        self._cluster = cluster
        self._clock = clock
        self._changes = Changes(cluster.store, _matters)
        self._hosts = Hosts(cluster.store)
        self._pods: dict[Key, _VirtualPod] = {}
        self._schedule: list[tuple[float, Key]] = []

    async def run(self) -> None:
        """Run pods until cancelled; those that ran before go on where they were."""
        while True:
            try:
                await self._run()
            except NotStoredError:  # the store has logged it
                self._hosts = Hosts(self._cluster.store)
                self._pods, self._schedule = {}, []
                self._changes.forget()
                await asyncio.sleep(RETRY_AFTER_S)

    async def _run(self) -> None:
        for _ in self.read_pods():
            await asyncio.sleep(0)
        while True:
            pause = self.step()
            if pause:
                await self._changes.wait(min(pause, _LONGEST_PAUSE))
            else:
                await asyncio.sleep(0)

    def read_pods(self) -> Iterator[None]:
        """Take up, page by page, the pods that run; others may find no room and are looked at after."""
        for resource in (_NODES, PODS):
            after = ("", "")
            while page := self._cluster.store.page(resource, None, after, _PAGE):
                for namespace, name, body in page:
                    key = Key(resource, namespace, name)
                    if resource == PODS and b'"startTime"' in body:
                        self._guarded(self._look_at_pod, key)
                    else:
                        self._changes.add(key)
                after = page[-1][:2]
                yield

    def step(self) -> float:
        """Do what there is to do, for some milliseconds; gives the seconds until there is more."""
        enough = time.perf_counter() + _TURN
        with self._cluster.store.transaction():
            while time.perf_counter() < enough:
                if (key := self._changes.take()) is not None:
                    self._guarded(self._look_at_pod if key.resource == PODS else self._look_at_node, key)
                elif (entry := self._due()) is not None:
                    self._guarded(self._act, entry.key)
                else:
                    return max(0.0, self._schedule[0][0] - self._clock()) if self._schedule else math.inf
        return 0.0

    def _guarded(self, work: Callable[[Key], None], key: Key) -> None:
        """Run a step for one pod; an error affects only that pod."""
        try:
            work(key)
        except NotStoredError:
            raise
        except Exception:  # noqa: BLE001  a bug that one pod shows must not stop the others
            _LOG.exception("virtual node: %s %s/%s", key.resource, key.namespace, key.name)

    # Looking

    def _look_at_node(self, key: Key) -> None:
        host = self._hosts.refresh(key.name)
        if not host.exists or not host.is_ours:
            for pod in host.pods:
                self._changes.add(pod)
        elif not host.ready:
            self._cluster.change(_NODES, "", key.name, self._made_ready)
            self._cluster.change(_NODES, "", key.name, self._made_ready, "status")
            self._hosts.refresh(key.name)

    def _made_ready(self, node: Json) -> Json:
        return stamped(completed(node, "virtual"), time_text(self._clock()))

    def _look_at_pod(self, key: Key) -> None:
        body, entry = self._cluster.store.get(key), self._pods.get(key)
        try:
            pod = None if body is None else read_pod(body)
        except BadObjectError as error:
            _LOG.warning("virtual node: pod %s/%s cannot be read: %s", key.namespace, key.name, error)
            pod = None
        if entry is not None and (pod is None or pod.metadata.uid != entry.uid or pod.is_finished):
            self._forget(entry)
            entry = None
        if pod is None or not pod.spec.node_name:
            return
        host = entry.host if entry is not None else self._hosts.of(pod.spec.node_name)
        if not host.is_ours:
            if entry is not None:
                self._forget(entry)
        elif pod.is_finished:
            if pod.is_terminating and pod.metadata.deletion_grace_period_seconds:
                delete_stopped(self._cluster, pod)
        else:
            self._run_pod(key, pod, host, entry)

    def _run_pod(self, key: Key, pod: BoundPod, host: Host, entry: _VirtualPod | None) -> None:
        """Take a pod in if it is new, and see what is next for it."""
        try:
            script = script_of(pod.metadata.annotations)
        except BadAnnotationError as error:
            self._fail(pod, "BadAnnotation", str(error))
            return
        if not host.exists:
            name = pod.spec.node_name
            self._fail(
                pod, "NodeNotFound", f'there is no node "{name}": delete the pod, or bind it elsewhere'
            )
            return
        if entry is None:
            if (times := self._admitted(pod, host)) is None:
                return
            entry = self._pods[key] = _VirtualPod(key, pod.metadata.uid, host, times)
            host.pods.add(key)
        self._plan(entry, pod, script)

    def _admitted(self, pod: BoundPod, host: Host) -> Times | None:
        """Give a pod its room and start it; None where that is refused."""
        if pod.status.start_time is not None:
            host.capacity.take(pod.metadata.uid, pod.request)
            return times_of(pod)
        if pod.is_terminating:
            delete_stopped(self._cluster, pod)
            return None
        request = pod.request
        if shortage := host.capacity.shortage(request):
            self._fail(pod, shortage.reason, f"Pod was rejected: {shortage.message}")
            return None
        host.capacity.take(pod.metadata.uid, request)
        now = self._clock()
        self._report(pod, statuses.started(pod, host.address, time_text(now)))
        return Times(now, now)

    # Acting

    def _due(self) -> _VirtualPod | None:
        """The next pod whose time has come; entries that another has replaced are dropped on the way."""
        while self._schedule:
            at, key = self._schedule[0]
            entry = self._pods.get(key)
            if entry is not None and entry.step is not None and entry.step.at == at:
                if at > self._clock():
                    return None
                heapq.heappop(self._schedule)
                return entry
            heapq.heappop(self._schedule)
        return None

    def _act(self, key: Key) -> None:
        entry, body = self._pods[key], self._cluster.store.get(key)
        step, entry.step = entry.step, None
        if body is None or step is None:
            return
        pod = read_pod(body)
        script, now = script_of(pod.metadata.annotations), self._clock()
        text = time_text(now)
        match step.act:
            case Act.STOP:
                if pod.metadata.finalizers:
                    self._report(pod, statuses.ended(pod, statuses.KILLED, text))
                delete_stopped(self._cluster, pod)
            case Act.EXPIRE:
                message = "Pod was active on the node longer than the specified deadline"
                self._report(pod, statuses.ended(pod, statuses.KILLED, text, "DeadlineExceeded", message))
            case Act.END if script.exit_code and pod.spec.restart_policy == "OnFailure":
                self._retry(entry, pod, script, now)
                return
            case Act.END:
                self._report(pod, statuses.ended(pod, script.exit_code, text))
            case Act.RESTART:
                last = statuses.last_failure(pod) or statuses.failure(pod, script.exit_code, text)
                self._report(pod, statuses.restarted(pod, last, text))
                entry.times = Times(entry.times.taken, now)
                self._plan(entry, pod, script)
                return
        self._forget(entry)

    def _retry(self, entry: _VirtualPod, pod: BoundPod, script: Script, now: float) -> None:
        """Start containers that failed again: at once the first time, then after longer and longer waits."""
        last = statuses.failure(pod, script.exit_code, time_text(now))
        taken, started, _ = entry.times
        wait = wait_before(first_container(pod).restart_count + 1, now - started)
        if wait:
            self._report(pod, statuses.backing_off(pod, last, wait))
            entry.times = Times(taken, started, now + wait)
        else:
            self._report(pod, statuses.restarted(pod, last, time_text(now)))
            entry.times = Times(taken, now)
        self._plan(entry, pod, script)

    def _fail(self, pod: BoundPod, reason: str, message: str) -> None:
        """Give a pod up, with whatever of it ran."""
        standing = Standing("Failed", reason=reason, message=message)
        if pod.status.container_statuses:
            standing = statuses.ended(pod, statuses.KILLED, time_text(self._clock()), reason, message)
        self._report(pod, standing)
        record_event(self._cluster, pod, "Warning", reason, message)
        if pod.is_terminating:
            delete_stopped(self._cluster, pod)
        if entry := self._pods.get(pod_key(pod)):
            self._forget(entry)

    def _report(self, pod: BoundPod, standing: Standing) -> None:
        now = time_text(self._clock())
        revision = report(self._cluster, pod_key(pod), pod.metadata.uid, standing, now)
        if revision is not None:
            self._changes.ignore(revision)

    def _plan(self, entry: _VirtualPod, pod: BoundPod, script: Script) -> None:
        """Put what is next for a pod on the agenda."""
        step = next_step(pod, script, entry.times)
        if step is not None and step != entry.step:
            heapq.heappush(self._schedule, (step.at, entry.key))
        entry.step = step

    def _forget(self, entry: _VirtualPod) -> None:
        """A pod is gone or has ended: its room is free."""
        entry.host.capacity.give_back(entry.uid)
        entry.host.pods.discard(entry.key)
        del self._pods[entry.key]
        if len(self._schedule) > 2 * len(self._pods) + _STALE:
            known = self._pods.values()
            self._schedule = [(one.step.at, one.key) for one in known if one.step is not None]
            heapq.heapify(self._schedule)


def _matters(change: Change) -> bool:
    """Nodes, and pods that are bound to one."""
    resource = change.key.resource
    return resource == _NODES or (resource == PODS and b'"nodeName":' in change.body)
