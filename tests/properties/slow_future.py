"""The future of a cluster from its definition, slowly: a new engine for every decision, all objects anew.

It knows when pods really end. Whatever was decided is carried out on the objects, and statuses are
written as the scheduler writes them, of all groups every time. Nothing is removed: what has ended
stays there.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, cast

import msgspec

from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import READY_ANNOTATION, PodGroup
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.reporting.group_status import group_status
from maar.core.tables.groups import ready_with

TICK_S: Final = 13.0  # between decisions when nothing happens
_MOST_DECISIONS: Final = 200  # at one time
_MOST_TIMES: Final = 3_000


class SlowFuture:
    """A cluster that lives on; `starts` has the times at which pods of each group were bound."""

    def __init__(
        self,
        objects: Iterable[Object],
        true_run_time: Callable[[Pod], float | None],
        now: float,
        configuration: Configuration = DEFAULT,
    ) -> None:
        self.now, self.configuration = now, configuration
        self.starts: dict[str, list[float]] = {}
        self.evictions = 0
        self._true_run_time = true_run_time
        self._pods = {one.key: one for one in objects if isinstance(one, Pod)}
        self._groups = {one.key: one for one in objects if isinstance(one, PodGroup)}
        self._others = [one for one in objects if not isinstance(one, Pod | PodGroup)]

    @property
    def objects(self) -> tuple[Object, ...]:
        """Everything there is, as it is now."""
        return (*self._others, *self._groups.values(), *self._pods.values())

    def moments(self) -> Iterator[float]:
        """Go on until nothing happens any more; gives every time at which it was decided, afterwards."""
        for _ in range(_MOST_TIMES):
            again_at = self._decide()
            yield self.now
            ends = [end for pod in self._pods.values() if (end := self._end(pod)) is not None]
            due = [*ends, *([] if again_at is None else [again_at])]
            if not due:
                return
            self.now = min(*due, self.now + TICK_S)
            for key, pod in self._pods.items():
                end = self._end(pod)
                if end is not None and end <= self.now:
                    self._pods[key] = _with_status(pod, phase="Succeeded")
        raise AssertionError("the future does not end")

    def start_after(self, group: str, time: float | None) -> float | None:
        """When a group starts that waits at a time; None: that is before anything was decided."""
        return next((one for one in self.starts.get(group, ()) if time is None or one > time), None)

    def _end(self, pod: Pod) -> float | None:
        if not pod.spec.node_name or pod.is_finished or pod.is_terminating:
            return None
        seconds, since = self._true_run_time(pod), pod.status.start_time
        assert since is not None
        return None if seconds is None else since.timestamp() + seconds

    def _decide(self) -> float | None:
        """Decide until a decision changes nothing."""
        engine = self._engine()
        for _ in range(_MOST_DECISIONS):
            before = self.objects
            plan = engine.decide(self.now)
            self._carry_out(plan)
            engine = self._engine()
            self._write_statuses(engine, plan)
            if self.objects == before:
                return plan.decide_again_at
        raise AssertionError("decisions do not end")

    def _engine(self) -> Engine:
        engine = Engine(self.configuration)
        engine.feed(Upserted(object=cast("AnyObject", one)) for one in self.objects)
        return engine

    def _carry_out(self, plan: Plan) -> None:
        assert not plan.selections
        promised = {one.pod: one.node for one in plan.nominations}
        self._pods = {key: pod for key, pod in self._pods.items() if not pod.is_terminating}
        for key, pod in self._pods.items():
            if pod.status.nominated_node_name != promised.get(key, ""):
                self._pods[key] = _with_status(pod, nominated_node_name=promised.get(key, ""))
        for eviction in plan.evictions:
            if eviction.pod in self._pods:
                self.evictions += 1
                self._pods[eviction.pod] = _placed(self._pods[eviction.pod], "", "Pending", None)
        for bind in plan.binds:
            pod, then = self._pods[bind.pod], datetime.fromtimestamp(self.now, UTC)
            self._pods[bind.pod] = _placed(pod, bind.node, "Running", then)
            self.starts.setdefault(_group_of(pod), []).append(self.now)

    def _write_statuses(self, engine: Engine, plan: Plan) -> None:
        tables, now = engine.tables, datetime.fromtimestamp(self.now, UTC)
        tables.settle(heeds_taints=self.configuration.heeds_taints, usage=self.configuration.usage)
        for key, group in self._groups.items():
            row, outcome = tables.groups[key], plan.pod_groups.get(key)
            status = group_status(group.status, row, outcome, now.replace(microsecond=0))
            metadata, least = group.metadata, ready_with(row)
            if least is not None:
                notes = {**metadata.annotations, READY_ANNOTATION: str(least)}
                metadata = msgspec.structs.replace(metadata, annotations=notes)
            self._groups[key] = msgspec.structs.replace(group, metadata=metadata, status=status)
        engine.feed(Upserted(object=one) for one in self._groups.values())


def _placed(pod: Pod, node: str, phase: str, since: datetime | None) -> Pod:
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    placed = msgspec.structs.replace(pod, spec=spec)
    return _with_status(placed, phase=phase, nominated_node_name="", start_time=since)


def _with_status(pod: Pod, **changes: object) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **changes))


def _group_of(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_ANNOTATION, '')}"
