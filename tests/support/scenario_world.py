"""A cluster in memory that Maar looks after: the engine decides, controllers write, until all is at rest."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, cast

import msgspec

from maar.apps.time_zones import zone
from maar.core.controllers.all_controllers import all_controllers
from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.jobs.controller import Jobs
from maar.core.controllers.work_queue import WorkQueue
from maar.core.engine import Engine
from maar.core.job_plugins.plugin import no_key
from maar.core.job_plugins.registry import JobPlugins
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.kinds import from_document, kind_of, metadata_from_json, to_json
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.workload import WORKLOADS
from maar.core.model.writes import ControllerWrite, Create, Delete, Ensure, Patch, RecordEvent, SetStatus
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.reporting.group_status import group_write, is_news
from maar.core.reporting.queue_status import queue_write

Json = dict[str, Any]
ResourcePath = tuple[str, str]  # kind and key

MOST_ROUNDS: Final = 20
_WORKLOADS: Final = {(one.api_version, one.kind): one for one in WORKLOADS}


@dataclass(eq=False)
class World:
    """All objects as documents, and what was told about them."""

    now: datetime
    configuration: Configuration = DEFAULT
    has_job_controller: bool = True  # without it a scenario says how jobs go on
    objects: dict[ResourcePath, Json] = field(default_factory=dict)
    events: dict[ResourcePath, list[str]] = field(default_factory=dict)
    writes: list[ControllerWrite] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)  # the last decision
    _news: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start Maar anew: it knows nothing but what it is told now."""
        self._engine = Engine(self.configuration)
        running = all_controllers(no_key, JobPlugins.of(), zone)
        kept = [one for one in running if self.has_job_controller or not isinstance(one, Jobs)]
        self._work = WorkQueue(ClusterView(), kept)
        self._news = [Upserted(object=self.typed(place)) for place in self.objects]

    def put(self, document: Json) -> None:
        """Let an object be there, new or changed."""
        read, metadata = typed(document), document["metadata"]
        place = (type(read).__name__, read.key)
        metadata.setdefault("uid", f"{place[0]}-{place[1]}".lower())
        self.objects[place] = document
        self._news.append(Upserted(object=self.typed(place)))

    def change(self, place: ResourcePath, patch: Json) -> None:
        """Change an object by a merge patch."""
        self.put(cast(Json, merged(deepcopy(self.objects[place]), patch)))

    def remove(self, place: ResourcePath) -> None:
        """Take an object away."""
        del self.objects[place]
        self._news.append(Deleted(kind=place[0], key=place[1]))

    def typed(self, place: ResourcePath) -> AnyObject:
        """An object as Maar reads it."""
        return cast(AnyObject, typed(self.objects[place]))

    def settle(self) -> None:
        """Let Maar work until it wants nothing more."""
        self.events, self.writes = {}, []
        for _ in range(MOST_ROUNDS):
            events, self._news = self._news, []
            self._engine.feed(events)
            plan = self.plan = self._engine.decide(self.now.timestamp())
            wanted = [*self._statuses(plan)]
            self._work.feed(self._work.cluster.changes(events))
            wanted += [write for _, write in self._work.reconcile(self.now)]
            self._carry_out(plan)
            for write in wanted:
                self._write(write)
            self.writes += wanted
            if not wanted and not self._news:
                return
        raise AssertionError(f"it does not come to rest; it still wants {wanted}")

    def _statuses(self, plan: Plan) -> Iterable[ControllerWrite]:
        """What the scheduler writes about queues and pod groups, and tells of the latter."""
        for name, standing in plan.queues.items():
            if ("Queue", name) in self.objects:
                queue = cast(Queue, self.typed(("Queue", name)))
                yield from _there(queue_write(queue, standing, self.now))
        for key, row in self._engine.tables.groups.items():
            if ("PodGroup", key) not in self.objects:
                continue
            group, outcome = cast(PodGroup, self.typed(("PodGroup", key))), plan.pod_groups.get(key)
            if outcome is not None and outcome.refusal is not None and is_news(group, outcome.refusal.reason):
                yield RecordEvent(
                    kind="PodGroup", key=key, reason=str(outcome.refusal.reason), message=outcome.message
                )
            yield from _there(group_write(group, row, outcome, self.now))

    def _carry_out(self, plan: Plan) -> None:
        for bind in plan.binds:
            self.change(("Pod", bind.pod), {"spec": {"nodeName": bind.node}, "status": {"phase": "Running"}})
        for evict in plan.evictions:
            self.remove(("Pod", evict.pod))

    def _write(self, write: ControllerWrite) -> None:
        place = (write.kind, write.key)
        match write:
            case RecordEvent():
                self.events.setdefault(place, []).append(write.reason)
            case Create() | Ensure():
                made = cast(Json, plain(write.document))
                if write.kind == "Job":
                    made["metadata"]["creationTimestamp"] = self.now.isoformat()
                self.put(made)
            case SetStatus():
                notes = {"metadata": {"annotations": write.annotations}} if write.annotations else {}
                self.change(place, {"status": plain(write.status), **notes})
            case Patch():
                self.change(place, cast(Json, plain(write.patch)))
            case Delete():
                self.remove(place)


def world_of(
    documents: Iterable[Json],
    now: datetime,
    configuration: Configuration = DEFAULT,
    *,
    has_job_controller: bool = True,
) -> World:
    """A world with these objects in it."""
    world = World(now.astimezone(UTC), configuration, has_job_controller)
    for one in documents:
        world.put(deepcopy(one))
    return world


def _there(write: SetStatus | None) -> list[SetStatus]:
    return [] if write is None else [write]


def typed(document: Json) -> Object:
    """An object as Maar reads it."""
    named = str(document["apiVersion"]), str(document["kind"])
    if (workload := _WORKLOADS.get(named)) is not None:
        return metadata_from_json(workload, to_json(document))
    kind = kind_of(*named)
    assert kind is not None, document["kind"]
    return from_document(kind, document)


def plain(value: object) -> object:
    """A value as JSON has it."""
    return cast(object, msgspec.json.decode(to_json(value)))


def merged(old: object, patch: object) -> object:
    """A merge patch, as RFC 7386 has it."""
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        else:
            new[name] = merged(new.get(name), value)
    return new
