"""Scenarios of cron jobs and job flows: what there is, what happens to the jobs, and what is made; from YAML.

What there is at noon of 1 January 2026: `cronjobs`: {name: fields of the spec}; `templates`: {name:
fields of the spec}, with a task `t` of one pod unless they say otherwise; `flows`: {flow:
{template: {after: targets, probe: {task: phase}, patch: part of a job's spec}}}; `retain`: {flow:
delete}; `other`: names of jobs that somebody else made.

What must come of it once all is at rest: `expect`; and after it `then`, a list of what happens
next: `at` (the time that it is, 12:05, or 3T12:05 on the third), `jobs`: {job: its phase, {task:
{PodPhase: pods}}, or null where it is deleted}, `change`: {kind/name: a merge patch, the whole
where there is none of this name, or null where it goes}, and again `expect`:
- `jobs`: {job: phase, empty where it has none}, complete; a job of a cron job is named cron@12:05;
- `flow`: {flow: phase}; `listed`: {flow: {list of its status: names}}; `made`: {template: names of
  jobs};
- `cron`: {cron job: {active: times, last: time, succeeded: time}};
- `specs`: {job: {path: value}}; `events`: {cron job or flow: reasons in their order}, complete.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import yaml

from maar.core.admission.plain import value_at
from maar.core.model.cron_job import SCHEDULED_ANNOTATION, CronJob
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from support.fields import BadScenarioError, Fields
from support.scenario_world import Json, ResourcePath, World, world_of

FOLDER: Final = Path(__file__).parents[1] / "scenarios" / "made_jobs"
NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
_KINDS: Final = {kind.__name__: kind.api_version for kind in (CronJob, JobFlow, JobTemplate, Job)}
_TASK: Final[Json] = {
    "name": "t",
    "replicas": 1,
    "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}},
}
_EXPECTED: Final = ("jobs", "flow", "listed", "made", "cron", "specs", "events")


@dataclass(frozen=True)
class Step:
    """What happens, and what must come of it."""

    at: datetime | None
    jobs: dict[str, object]
    changes: dict[ResourcePath, Json | None]
    expect: dict[str, Any]


@dataclass(frozen=True)
class MadeJobsScenario:
    """A promise, and the steps that show it."""

    title: str
    file: str
    rules: tuple[str, ...]
    documents: list[Json]
    steps: list[Step]

    def complaints(self, *, restarting: bool = False, backwards: bool = False) -> list[str]:
        """How it differs, also when Maar is started anew before each step or hears in another order."""
        documents = self.documents[::-1] if backwards else self.documents
        world = world_of(documents, NOON, has_job_controller=False)
        for number, step in enumerate(self.steps):
            world.now = step.at or world.now
            for name, value in step.jobs.items():
                _change_job(world, _place(name), value)
            for place, patch in step.changes.items():
                if patch is None:
                    world.remove(place)
                elif place not in world.objects:
                    world.put(_object(place[0], place[1].rpartition("/")[2], patch["spec"]))
                else:
                    world.change(place, patch)
            if restarting:
                world.restart()
            world.settle()
            if found := [f"step {number}: {one}" for one in _complaints(world, step.expect)]:
                return found
        return []


def all_made_jobs_scenarios() -> list[MadeJobsScenario]:
    """Every scenario of every file."""
    return [
        read(entry, f"{file.name}: {number}", f"made_jobs/{file.name}")
        for file in sorted(FOLDER.glob("*.yaml"))
        for number, entry in enumerate(yaml.safe_load(file.read_text(encoding="utf-8")))
    ]


def read(entry: object, path: str, file: str = "") -> MadeJobsScenario:
    """One scenario; an unknown key is refused with its path."""
    with Fields(entry, path) as fields:
        title, rules = fields.take("title", str, ""), tuple(fields.texts("rule"))
        fields.refuse_unless(
            holds=bool(title and rules), key="title", problem="a scenario has a title and a rule"
        )
        documents = list(_documents(fields))
        steps = [Step(None, {}, {}, _expected(fields, path))]
        for number, value in enumerate(fields.take("then", list, [])):
            with Fields(value, f"{path}.then[{number}]") as step:
                at = step.take("at", str, "")
                jobs, changes = dict(step.every("jobs")), dict(step.every("change"))
                patches = {_object_place(name): cast(Json | None, patch) for name, patch in changes.items()}
                expect = _expected(step, step.path)
                steps.append(Step(_moment(at) if at else None, jobs, patches, expect))
    return MadeJobsScenario(title, file, rules, documents, steps)


def _expected(fields: Fields, path: str) -> dict[str, Any]:
    with Fields(fields.anything("expect"), f"{path}.expect") as expect:
        found = {key: dict(expect.every(key)) for key in _EXPECTED if key in expect}
    if not found:
        raise BadScenarioError(path, "nothing is expected")
    return found


def _documents(fields: Fields) -> Iterator[Json]:
    for name, spec in fields.every("cronjobs"):
        template = {"spec": {"tasks": [_TASK]}}
        yield _object("CronJob", name, {"jobTemplate": template, **cast(Json, spec or {})})
    for name, spec in fields.every("templates"):
        yield _object("JobTemplate", name, {"tasks": [_TASK], **cast(Json, spec or {})})
    retain = fields.labels("retain")
    for name, flows in fields.every("flows"):
        spec = {"flows": [_flow(*one) for one in cast(Json, flows).items()]}
        policy = {"jobRetainPolicy": retain[name]} if name in retain else {}
        yield _object("JobFlow", name, spec | policy)
    for name in fields.texts("other"):
        yield _object("Job", name, {"tasks": [_TASK]})


def _flow(template: str, value: object) -> Json:
    with Fields(value, template) as fields:
        targets, patch = fields.texts("after"), fields.anything("patch")
        probe = [{"taskName": task, "phase": phase} for task, phase in fields.every("probe")]
    flow: Json = {"name": template}
    if targets:
        flow["dependsOn"] = {"targets": targets, **({"probe": {"taskStatusList": probe}} if probe else {})}
    return flow | ({"patch": {"spec": patch}} if patch else {})


def _object(kind: str, name: str, spec: Json) -> Json:
    metadata = {"name": name, "namespace": "default", "creationTimestamp": NOON.isoformat()}
    return {"apiVersion": _KINDS[kind], "kind": kind, "metadata": metadata, "spec": spec}


def _moment(text: str) -> datetime:
    day, _, clock = text.rpartition("T")
    hour, minute, *second = map(int, clock.split(":"))
    return NOON.replace(day=int(day or 1), hour=hour, minute=minute, second=second[0] if second else 0)


def _place(name: str) -> ResourcePath:
    cron, at, time = name.partition("@")
    name = f"{cron}-{int(_moment(time).timestamp()) // 60}" if at else name
    return "Job", f"default/{name}"


def _object_place(reference: str) -> ResourcePath:
    kind, _, name = reference.partition("/")
    return kind, f"default/{name}"


def _change_job(world: World, place: ResourcePath, value: object) -> None:
    if value is None:
        world.remove(place)
    elif isinstance(value, dict):
        counts = {task: {"phase": phases} for task, phases in value.items()}
        world.change(place, {"status": {"taskStatusCount": counts}})
    else:
        state = {"phase": value, "lastTransitionTime": world.now.isoformat()}
        world.change(place, {"status": {"state": state}})


def _complaints(world: World, expect: dict[str, Any]) -> Iterator[str]:
    actual = {key: _ACTUAL[key](world) for key in expect}
    for key, wanted in expect.items():
        found = actual[key]
        if key in ("jobs", "events") and found != wanted:
            yield f"{key}: {found}, expected {wanted}"
        elif key == "specs":
            for job, fields in wanted.items():
                for path, value in fields.items():
                    if (got := value_at(found.get(job), path)) != value:
                        yield f"specs: {job}: {path}: {got!r}, expected {value!r}"
        elif key not in ("jobs", "events"):
            for name, value in wanted.items():
                if (got := _part(found.get(name), value)) != value:
                    yield f"{key}: {name}: {got!r}, expected {value!r}"


def _part(found: object, wanted: object) -> object:
    """What is there of what is asked for."""
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return found
    return {key: found.get(key) for key in wanted}


def _of_kind(world: World, kind: str) -> Iterator[tuple[str, Json]]:
    for (of, key), document in world.objects.items():
        if of == kind:
            yield key.removeprefix("default/"), document


def _time(text: str) -> str:
    moment = datetime.fromisoformat(text).astimezone(UTC)
    day = "" if moment.day == NOON.day else f"{moment.day}T"
    return f"{day}{moment:%H:%M}"


def _called(name: str, document: Json) -> str:
    """A job by the time that it is for, where it has one."""
    scheduled = document["metadata"].get("annotations", {}).get(SCHEDULED_ANNOTATION)
    return f"{name.rpartition('-')[0]}@{_time(scheduled)}" if scheduled else name


def _jobs(world: World) -> Json:
    return {
        _called(name, one): one.get("status", {}).get("state", {}).get("phase", "")
        for name, one in _of_kind(world, "Job")
    }


def _cron(world: World) -> Json:
    names = {one["metadata"]["uid"]: _called(name, one) for name, one in _of_kind(world, "Job")}
    return {
        name: {
            "active": [names.get(one["uid"], "gone").partition("@")[2] for one in status.get("active", [])],
            "last": _time(status["lastScheduleTime"]) if "lastScheduleTime" in status else None,
            "succeeded": _time(status["lastSuccessfulTime"]) if "lastSuccessfulTime" in status else None,
        }
        for name, one in _of_kind(world, "CronJob")
        for status in [one.get("status", {})]
    }


def _events(world: World) -> Json:
    kinds = ("CronJob", "JobFlow")
    return {
        key.removeprefix("default/"): reasons
        for (kind, key), reasons in world.events.items()
        if kind in kinds
    }


_ACTUAL: Final[dict[str, Callable[[World], Json]]] = {
    "jobs": _jobs,
    "cron": _cron,
    "events": _events,
    "flow": lambda world: {
        name: one.get("status", {}).get("state", {}).get("phase", "")
        for name, one in _of_kind(world, "JobFlow")
    },
    "listed": lambda world: {name: one.get("status", {}) for name, one in _of_kind(world, "JobFlow")},
    "made": lambda world: {
        name: one.get("status", {}).get("jobDependsOnList", [])
        for name, one in _of_kind(world, "JobTemplate")
    },
    "specs": lambda world: {_called(name, one): one for name, one in _of_kind(world, "Job")},
}
