"""A job in an API server in memory, with the job controller at work; pods do what a test says.

The server knows what matters to the controller: finalizers and deletion, uids, resource versions,
the status as a subresource, refusals. Everything else is the controller's own doing.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.jobs.controller import Jobs
from maar.core.controllers.jobs.pods import FINALIZER
from maar.core.controllers.work_queue import WorkQueue
from maar.core.job_plugins.plugin import SshKey
from maar.core.job_plugins.registry import JobPlugins
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.writes import ControllerWrite, Create, Delete, Ensure, Patch, RecordEvent, SetStatus
from support.scenario_world import Json, ResourcePath, merged, plain, typed

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB: Final = ("Job", "default/j")
MOST_ROUNDS: Final = 60
_KEY: Final = SshKey("private", "public")


@dataclass(eq=False)
class JobWorld:
    """All objects as documents, and the controller that looks after the jobs among them."""

    now: datetime = NOON
    objects: dict[ResourcePath, Json] = field(default_factory=dict)
    events: list[tuple[str, str]] = field(default_factory=list)  # reasons and messages of events
    phases: list[str] = field(default_factory=list)  # that jobs were seen in
    created: list[str] = field(default_factory=list)  # the keys of pods
    refusal: str = ""  # why pods are not created
    has_slow_pods: bool = False  # pods that are deleted stay until `end`
    is_away: bool = False  # the controller does not run
    lost_deletions: int = 0  # how many of the next ones are not carried out
    crash_after: int | None = None  # how many writes are carried out before the controller is killed
    stays_down: bool = False  # it is not started anew after that
    between_rounds: Callable[["JobWorld"], None] = lambda _world: None
    held_back: Callable[[], int] = lambda: 0  # how much of others' news reaches the controller a round later
    orders: list[str] = field(default_factory=list)  # the uids of Commands, as they were carried out
    _news: list[Event] = field(default_factory=list)
    _foreign: int = 0  # how much of the news others made; the rest the controller wrote itself
    _number: int = 0

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start the controller anew: it knows nothing but what there is."""
        self._work = WorkQueue(ClusterView(), (Jobs(JobPlugins.of(), lambda: _KEY),))
        self._news = [_upserted(one) for one in self.objects.values() if _is_read(one["kind"])]
        self._foreign = 0  # it begins with all that there is

    # What there is, and what happens

    def put(self, document: Json) -> ResourcePath:
        """Let an object be there."""
        place = (str(document["kind"]), _key(document))
        metadata = document["metadata"]
        self._number += 1
        metadata.setdefault("uid", f"uid-{self._number}")
        metadata.setdefault("creationTimestamp", _time(self.now))
        metadata["resourceVersion"] = str(self._number)
        metadata.setdefault("generation", 1)
        self.objects[place] = document
        if _is_read(place[0]):
            self._tell(_upserted(document))
        return place

    def change(self, place: ResourcePath, patch: Json) -> None:
        """Change an object by a merge patch; one that is being deleted goes with its last finalizer."""
        old = self.objects[place]
        new = cast(Json, merged(deepcopy(old), patch))
        if place[0] == "Job" and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        self.put(new)
        self._sweep(place)

    def delete(self, place: ResourcePath) -> None:
        """Ask for the deletion of an object, as a user or the API server does."""
        if place not in self.objects:
            return
        document = self.objects[place]
        if "deletionTimestamp" not in document["metadata"]:
            self.change(place, {"metadata": {"deletionTimestamp": _time(self.now)}})
        self._sweep(place)

    def vanish(self, place: ResourcePath) -> None:
        """Let an object be gone, whatever its finalizers."""
        if self.objects.pop(place, None) is not None and _is_read(place[0]):
            self._tell(Deleted(kind=place[0], key=place[1]))
        if place[0] == "Job":
            for one in [path for path, other in self.objects.items() if _belongs(other, place)]:
                self.delete(one)

    def end(self, place: ResourcePath) -> None:
        """Let a slow pod end."""
        self.change(place, {"status": {"phase": "Failed"}})
        self._sweep(place, is_slow=False)

    def pod(self, name: str, status: Json) -> None:
        """Let a pod stand as it is said."""
        self.change(("Pod", f"default/{name}"), {"status": status})

    def finish(self, name: str, code: int) -> None:
        """Let the container of a pod end."""
        done = {"exitCode": code, "finishedAt": _time(self.now)}
        ended = [{"ready": False, "restartCount": 0, "state": {"terminated": done}}]
        self.pod(name, {"phase": "Failed" if code else "Succeeded", "containerStatuses": ended})

    # What the controller makes of it

    def settle(self) -> None:
        """Let the controller work until it wants nothing more."""
        idle = 0
        for _ in range(MOST_ROUNDS):
            if self.is_away:
                return
            idle = 0 if self.round() else idle + 1
            if idle > 1 or (idle and not self.refusal):
                return
            if idle:
                self.try_again()  # what was refused, and then the job says so
        raise AssertionError("the job controller does not come to rest")

    def round(self) -> bool:
        """One look at what has changed; whether anything was written."""
        self.between_rounds(self)
        self._work.feed(self._work.cluster.changes(self._heard()))
        wanted = list(self._work.reconcile(self.now))
        for key, write in wanted:
            if self.crash_after == 0:
                self.crash_after = None
                self.is_away, self.stays_down = self.stays_down, False
                self.restart()
                return True
            if self.crash_after is not None:
                self.crash_after -= 1
            foreign = self._foreign
            refusal = self._write(write)
            self._foreign = foreign
            self._work.cluster.answered(write, refusal)
            if refusal is None:
                self._work.look_at([key])
        is_stuck = wanted and all(isinstance(one, Create) and self.refusal for _, one in wanted)
        return bool(wanted or self._news) and not is_stuck

    def _heard(self) -> list[Event]:
        """What the controller hears now: its own writes, and of what others did perhaps not the latest."""
        theirs = max(self._foreign - self.held_back(), 0)
        late = self._news[theirs : self._foreign]
        events = [*self._news[:theirs], *self._news[self._foreign :]]
        known = {_path(one) for one in self._news[self._foreign :]}
        # What it knows better from its own writes is no news any more.
        self._news = [one for one in late if _path(one) not in known]
        self._foreign = len(self._news)
        return events

    def _tell(self, event: Event) -> None:
        self._news.append(event)
        self._foreign += 1

    def try_again(self) -> None:
        """Look at all jobs once more, as after a while."""
        self._news += [_upserted(one) for one in self.objects.values() if one["kind"] == "Job"]

    def pass_time(self, seconds: float) -> None:
        """Let time pass; what is due by then is looked at when it is due."""
        until = self.now + timedelta(seconds=seconds)
        self.settle()
        while not self.is_away and (at := self._work.wake_at) is not None and at <= until:
            self.now = max(at, self.now)
            self.settle()
        self.now = until
        self.settle()

    @property
    def version(self) -> int:
        """How often anything was written."""
        return self._number

    def status(self, place: ResourcePath = JOB) -> Json:
        """The status of a job."""
        return cast(Json, self.objects[place].get("status", {}))

    def pods(self, job: str = "j") -> dict[str, Json]:
        """The pods of a job by name."""
        return {
            one["metadata"]["name"]: one
            for (kind, _), one in self.objects.items()
            if kind == "Pod" and any(owner["name"] == job for owner in one["metadata"]["ownerReferences"])
        }

    def group(self) -> ResourcePath | None:
        """The pod group of the job."""
        return next((place for place in self.objects if place[0] == "PodGroup"), None)

    def _write(self, write: ControllerWrite) -> str | None:
        """Carry a write out; why not, where it is refused."""
        place = (write.kind, write.key)
        match write:
            case RecordEvent():
                self.events.append((write.reason, write.message))
            case Create() | Ensure():
                return self._create(place, write)
            case SetStatus():
                return self._set_status(place, write)
            case Patch():
                uid = cast(Json, write.patch.get("metadata", {})).get("uid", "")
                if not self._is_there(place, str(uid)):
                    return "not found"
                self.change(place, cast(Json, plain(write.patch)))
            case Delete():
                if not self._is_there(place, write.uid):
                    return None
                if self.lost_deletions:
                    self.lost_deletions -= 1
                    self.try_again()
                    return "no answer"
                if write.kind == "Job":
                    self.vanish(place)
                else:
                    self.delete(place)
        return None

    def _is_there(self, place: ResourcePath, uid: str) -> bool:
        """Whether an object is there that is the one meant, where one is."""
        return place in self.objects and uid in ("", self.objects[place]["metadata"]["uid"])

    def _create(self, place: ResourcePath, write: Create | Ensure) -> str | None:
        if place in self.objects:
            if isinstance(write, Create):
                return "it exists already"
            if write.update is not None:
                self.change(place, cast(Json, plain(write.update)))
            return None
        if write.kind == "Pod" and self.refusal:
            return self.refusal
        document = cast(Json, plain(write.document))
        if write.kind == "Pod":
            owner = document["metadata"]["ownerReferences"][0]
            if self.objects[("Job", f"default/{owner['name']}")]["metadata"]["uid"] != owner["uid"]:
                raise AssertionError(f"{place[1]} is made for a job that is gone")
            self.created.append(place[1])
            document["status"] = {"phase": "Pending"}
        self.put(document)
        return None

    def _set_status(self, place: ResourcePath, write: SetStatus) -> str | None:
        if place not in self.objects:
            return "not found"
        if write.version != self.objects[place]["metadata"]["resourceVersion"]:
            return "the object has been modified"
        before = self.objects[place].get("status", {}).get("state", {}).get("phase")
        if "lastCommand" in write.status:
            self.orders.append(str(write.status["lastCommand"]))
        self.change(place, {"status": plain(write.status)})
        after = self.objects[place]["status"].get("state", {}).get("phase")
        if after != before:
            self.phases.append(after)
        return None

    def _sweep(self, place: ResourcePath, *, is_slow: bool = True) -> None:
        """Remove an object whose deletion was asked for and that nothing holds any more."""
        document = self.objects.get(place)
        if document is None or "deletionTimestamp" not in document["metadata"]:
            return
        is_running = document.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        if place[0] == "Pod" and self.has_slow_pods and is_slow and is_running:
            return
        if not document["metadata"].get("finalizers"):
            self.vanish(place)


def job(tasks: Iterable[Json], **spec: Any) -> Json:  # noqa: ANN401  # the fields of a job
    """A job as admission leaves it."""
    made = [{"minAvailable": one["replicas"], "maxRetry": 3, "template": TEMPLATE, **one} for one in tasks]
    least = sum(one["minAvailable"] for one in made)
    filled = {"schedulerName": "volcano", "queue": "default", "minAvailable": least, "maxRetry": 3}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {**filled, **spec, "tasks": made},
    }


def is_held(pod: Json) -> bool:
    """Whether a pod stays until the controller has looked at its end."""
    return FINALIZER in pod["metadata"].get("finalizers", [])


TEMPLATE: Final[Json] = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
    }
}


def _upserted(document: Json) -> Upserted:
    return Upserted(object=cast(AnyObject, typed(document)))


def _path(event: Event) -> ResourcePath:
    if isinstance(event, Upserted):
        return type(event.object).__name__, event.object.key
    return event.kind, event.key


def _is_read(kind: str) -> bool:
    return kind in ("Job", "Pod", "PodGroup", "Command", "PersistentVolumeClaim", "PriorityClass")


def _belongs(document: Json, place: ResourcePath) -> bool:
    owners = document["metadata"].get("ownerReferences", [])
    namespace, _, name = place[1].partition("/")
    is_near = document["metadata"].get("namespace") == namespace
    return is_near and any((one["kind"], one["name"]) == (place[0], name) for one in owners)


def _key(document: Json) -> str:
    metadata = document["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
