"""Scenarios of upkeep: what there is, what happens, and what Maar's controllers make of it; read from YAML.

What there is: as in `scenario.py`, and
- `statuses`: {queue: {state, allocated, …}}, as somebody has written them before;
- `jobs`: {queue/name: phase}; `commands`: {queue: OpenQueue or CloseQueue}, as Volcano's clients
  leave them;
- `bare`: pods without a group: {name: {cpu, …, queue, min, of (Kind/name of the owner), class,
  scheduler, age}}; `owners`: {Kind/name: {queue, min}}, what those say in annotations.

What must come of it once all is at rest: `expect`; and after it `then`, a list of what happens
next: `after` (seconds that pass first), `add` (more of what there is), `change`: {queues/a,
nodes/n, namespaces/x, groups/a/j, pods/a/j-0, quotas/x, owners/Kind/name: a merge patch, or null
where it goes}, and again `expect`:
- of queues: `state`, `asked` (spec.state), `counters`, deserved, realCapability, used, allocated,
  preempting, `share`, `summary`, `conditions` (those that hold);
- `quotas`: {namespace: limits}, complete; `made`: {pod: {queue, min, needs, pods, class}}, the
  groups that Maar has made, complete; `phases` and `annotated` (annotations) by group; `says`:
  {group: {condition: reason, or true and false}};
- of groups, deleted ones included: `waits`: {group: reason, or null}, `placed`: {group: pods with a
  node};
- `events`: {queue, or group: reasons of events in their order}, complete; `commands`: how many are
  left;
- `quiet: true`: nothing at all is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

import yaml

from maar.core.controllers.group_template import MIN_MEMBER_ANNOTATION
from maar.core.model.pod import QUEUE_ANNOTATION
from support.cluster import Cluster, Names
from support.fields import BadScenarioError, Fields
from support.scenario import read_cluster
from support.scenario_upkeep_checks import Checks, read_checks
from support.scenario_world import Json, ResourcePath, World, world_of

FOLDER: Final = Path(__file__).parents[1] / "scenarios" / "upkeep"

_VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
_PLAIN: Final = {"queues": "Queue", "nodes": "Node", "namespaces": "Namespace"}
_OWNERS: Final = {
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "Workflow": "argoproj.io/v1alpha1",
    "Node": "v1",
}
_NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)  # bare pods are so much older
_MAKERS: Final = ("ReplicaSet", "StatefulSet", "DaemonSet", "Job")  # whose metadata Maar reads


@dataclass(frozen=True)
class Step:
    """What happens, and what must come of it."""

    documents: list[Json]
    changes: dict[ResourcePath, Json | None]
    checks: Checks
    after_s: int = 0


@dataclass(frozen=True)
class UpkeepScenario:
    """A promise, and the steps that show it."""

    title: str
    file: str
    rules: tuple[str, ...]
    now: datetime
    steps: list[Step]

    def complaints(self, *, restarting: bool = False, backwards: bool = False) -> list[str]:
        """How it differs, also when Maar is started anew before each step or hears in another order."""
        world = world_of((), self.now)
        for number, step in enumerate(self.steps, start=1):
            world.now += timedelta(seconds=step.after_s)
            self._happen(world, step, backwards=backwards)
            if restarting:
                world.restart()
            world.settle()
            if found := step.checks.complaints(world):
                return [f"step {number}: {one}" for one in found]
        return []

    def _happen(self, world: World, step: Step, *, backwards: bool) -> None:
        for document in step.documents[::-1] if backwards else step.documents:
            world.put(cast(Json, yaml.safe_load(yaml.safe_dump(document))))
        for place, patch in step.changes.items():
            if patch is None:
                world.remove(place)
            else:
                world.change(place, patch)


def all_upkeep_scenarios() -> list[UpkeepScenario]:
    """Every scenario of every file; titles are unique."""
    found = [one for file in sorted(FOLDER.glob("*.yaml")) for one in load(file)]
    seen: dict[str, str] = {}
    for one in found:
        if one.title in seen:
            raise BadScenarioError(one.file, f"{one.title!r} is also in {seen[one.title]}")
        seen[one.title] = one.file
    return found


def load(file: Path) -> Iterator[UpkeepScenario]:
    """The scenarios of one file."""
    for number, entry in enumerate(yaml.safe_load(file.read_text(encoding="utf-8"))):
        title = entry.get("title") if isinstance(entry, dict) else None
        yield read(entry, f"{file.name}: {title or number}", f"upkeep/{file.name}")


def read(entry: object, path: str, file: str = "") -> UpkeepScenario:
    """One scenario; an unknown key is refused with its path."""
    with Fields(entry, path) as fields:
        title, rules = fields.take("title", str, ""), tuple(fields.texts("rule"))
        fields.refuse_unless(
            holds=bool(title and rules), key="title", problem="a scenario has a title and a rule"
        )
        cluster = read_cluster(fields)
        documents = [*cluster.manifests, *_more(fields, cluster.manifests)]
        steps = [Step(documents, {}, fields.read("expect", _reader(cluster.names)))]
        for number, value in enumerate(fields.take("then", list, []), start=1):
            steps.append(_step(value, f"{path}.then[{number - 1}]", cluster))
    return UpkeepScenario(title, file, rules, cluster.now, steps)


def _step(value: object, path: str, cluster: Cluster) -> Step:
    with Fields(value, path) as fields:
        added: list[Json] = []
        if "add" in fields:
            with Fields(fields.anything("add"), f"{path}.add") as more:
                new = read_cluster(more)
                added = [*new.manifests, *_more(more, new.manifests)]
            _learn(cluster.names, new.names)
        changes = {
            _place(reference, cluster.names, path): cast(Json | None, patch)
            for reference, patch in fields.every("change")
        }
        after_s = fields.take("after", int, 0)
        return Step(added, changes, fields.read("expect", _reader(cluster.names)), after_s)


def _reader(names: Names) -> Any:  # noqa: ANN401  # what Fields.read takes
    return lambda value, path: read_checks(value, path, names)


def _learn(names: Names, new: Names) -> None:
    names.queues += [one for one in new.queues if one not in names.queues]
    names.groups |= new.groups
    names.pods |= new.pods


def _place(reference: str, names: Names, path: str) -> ResourcePath:
    word, _, name = reference.partition("/")
    places: dict[str, ResourcePath] = {"quotas": ("ResourceQuota", f"{name}/maar-queue")}
    if word in _PLAIN:
        places[word] = (_PLAIN[word], name)
    if name in names.groups:
        places["groups"] = ("PodGroup", names.groups[name])
    if name in names.pods:
        places["pods"] = ("Pod", names.pods[name])
    if word == "bare":
        places[word] = ("Pod", f"default/{name}")
    if word == "owners":
        kind, _, called = name.partition("/")
        places[word] = ("BatchJob" if kind == "Job" else kind, f"default/{called}")
    if word not in places:
        raise BadScenarioError(f"{path}.change.{reference}", "there is no such object in the scenario")
    return places[word]


def _more(fields: Fields, manifests: list[Json]) -> list[Json]:
    """What only controllers look at."""
    for name, status in fields.every("statuses"):
        known = [one for one in manifests if (one["kind"], one["metadata"]["name"]) == ("Queue", name)]
        fields.refuse_unless(holds=bool(known), key=f"statuses.{name}", problem="there is no such queue")
        known[0]["status"] = status
    made: list[Json] = []
    for reference, phase in fields.labels("jobs").items():
        queue, _, name = reference.partition("/")
        job = _object("batch.volcano.sh/v1alpha1", "Job", name)
        made.append({**job, "spec": {"queue": queue}, "status": {"state": {"phase": phase}}})
    for queue, action in fields.labels("commands").items():
        order = _object("bus.volcano.sh/v1alpha1", "Command", f"{action.lower()}-{queue}")
        made.append({**order, "action": action, "target": {"kind": "Queue", "name": queue}})
    owners = {name: _owner(name, one) for name, one in fields.each("owners")}
    for name, lines in fields.each("bare"):
        made.append(_bare_pod(name, lines))
        for one in made[-1]["metadata"].get("ownerReferences", []):
            owners.setdefault(f"{one['kind']}/{one['name']}", _owner(f"{one['kind']}/{one['name']}", None))
    return [*made, *(one for one in owners.values() if one["kind"] in _MAKERS)]


def _owner(reference: str, fields: Fields | None) -> Json:
    """A workload that makes pods; what it says, it says in annotations."""
    kind, _, name = reference.partition("/")
    owner = _object(_OWNERS[kind], kind, name)
    notes = _notes(fields.take("queue", str, ""), fields.take("min", int, 0)) if fields is not None else {}
    return {**owner, "metadata": {**owner["metadata"], "uid": name, "annotations": notes}}


def _bare_pod(name: str, fields: Fields) -> Json:
    metadata: Json = {"annotations": _notes(fields.take("queue", str, ""), fields.take("min", int, 0))}
    if age := fields.time("age"):
        metadata["creationTimestamp"] = (_NOON - age).isoformat()
    if owner := fields.take("of", str, ""):
        kind, _, called = owner.partition("/")
        reference = {
            "apiVersion": _OWNERS[kind],
            "kind": kind,
            "name": called,
            "uid": called,
            "controller": True,
        }
        metadata["ownerReferences"] = [reference]
    spec: Json = {
        "schedulerName": fields.take("scheduler", str, "volcano"),
        "priorityClassName": fields.take("class", str, ""),
        "containers": [{"name": "main", "resources": {"requests": fields.resources()}}],
    }
    pod = _object("v1", "Pod", name)
    return {**pod, "metadata": {**pod["metadata"], **metadata}, "spec": spec, "status": {"phase": "Pending"}}


def _notes(queue: str, least: int) -> dict[str, str]:
    notes = {QUEUE_ANNOTATION: queue} if queue else {}
    return notes | ({MIN_MEMBER_ANNOTATION: str(least)} if least else {})


def _object(api_version: str, kind: str, name: str) -> Json:
    metadata = {"name": name, "namespace": "default", "uid": f"{name}-uid"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
