"""Scenarios of jobs: a job, what happens to it, and what the job controller makes of it; read from YAML.

`job` has the fields of a job's spec, `tasks`: {name: replicas, or fields of the task};
`annotations` and `labels` are the job's. `with` are documents that are there from the beginning,
`orders` the actions of Commands that are. `steps` are a list; the first step finds the job created
and settled. What may happen in a step, in this order: `away` (true: the controller does not run
from now on), `wait` (seconds that pass), `crash` (the controller is killed after so many of its
next writes), `kill` (and stays away), `lose` (how many deletions are lost), `slow: true` (pods that
are deleted stay from now on until `end`), `refuse` (why pods are not created from now on; empty:
they are again), `group` (the phase that the scheduler gives the group), `says` (the sentence of its
Unschedulable condition), `command` (one, or a list), `run`, `succeed`, `disrupt` (the condition
DisruptionTarget alone), `evict`, `delete`, `vanish`, `end`: names of pods without that of the job,
or tasks for all of their pods; `fail`: {pod: exit code}, `restarts`: {pod: how often its container
was restarted}, `pod`: {pod: a part of its status}, `scale`: {task: replicas}, `change`: a merge
patch of the spec, `remove`: [Kind/name], `add`: documents.

What must come of it: `phases` (those that were entered in this step, complete), `phase`, the
counters `pending` … `terminating`, `retry`, `version`, `reason`, `message` (a part of it), `pods`
({task: phases of its pods by index, `-` where there is none}), `made` (pods that were made in this
step, complete), `events` (their reasons in this step, complete), `has` ({Kind: names}, complete),
`gone: true` (the job is), `min` (minMember of the group), `status` (a part of the job's status),
`shows` ({Kind/name: a part of the object}; null where a field must be missing), `quiet: true`
(nothing was made, recorded or entered).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import yaml

from support.job_world import JOB, JobWorld, job

FOLDER: Final = Path(__file__).parents[1] / "scenarios" / "jobs"

Json = dict[str, Any]

_COUNTERS: Final = ("pending", "running", "succeeded", "failed", "unknown", "terminating")
_HAPPENS: Final = (
    "away", "wait", "crash", "kill", "lose", "slow", "refuse", "group", "says", "command", "run", "succeed",
    "fail", "restarts", "pod", "disrupt", "evict", "delete", "vanish", "end", "scale", "change",
    "remove", "add",
)  # fmt: skip
_EXPECTED: Final = (
    "phases", "phase", *_COUNTERS, "retry", "version", "reason", "message", "pods", "made", "events", "has",
    "gone", "min", "status", "shows", "quiet",
)  # fmt: skip
_NUMBERS: Final = {**{name: name for name in _COUNTERS}, "retry": "retryCount", "version": "version"}
_KEYS: Final = ("title", "rule", "job", "annotations", "labels", "with", "orders", "steps")


@dataclass(frozen=True)
class JobScenario:
    """A promise, and the steps that show it."""

    title: str
    file: str
    rules: tuple[str, ...]
    manifest: Json
    beside: list[Json]
    orders: list[str]
    steps: list[Json]

    def complaints(self, *, restarting: bool = False) -> list[str]:
        """How it differs, also when the controller is started anew before every other of its rounds."""
        world = JobWorld()
        if restarting:
            rounds = count()
            # While pods are refused it goes on: one that is started anew has to be refused before it says so.
            world.between_rounds = lambda one: one.restart() if next(rounds) % 2 and not one.refusal else None
        for document in (self.manifest, *self.beside):
            world.put(yaml.safe_load(yaml.safe_dump(document)))
        for number, action in enumerate(self.orders):
            world.put(_command(world, number, action))
        for number, step in enumerate(self.steps, start=1):
            seen = len(world.phases), len(world.created), len(world.events)
            if number == 1:
                seen = (0, 0, 0)
                world.settle()
            for word in _HAPPENS:
                if word in step:
                    _happen(world, word, step[word])
            world.settle()
            if found := list(_complaints(world, step, seen)):
                return [f"step {number}: {one}" for one in found]
        return []


def all_job_scenarios() -> list[JobScenario]:
    """Every scenario of every file; titles are unique."""
    found = [one for file in sorted(FOLDER.glob("*.yaml")) for one in _load(file)]
    titles = [one.title for one in found]
    doubled = {one for one in titles if titles.count(one) > 1}
    if doubled:
        raise ValueError(f"titles that are used twice: {doubled}")
    return found


def _load(file: Path) -> Iterator[JobScenario]:
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
        unknown = [key for key in entry if key not in _KEYS]
        for step in entry["steps"]:
            unknown += [key for key in step if key not in (*_HAPPENS, *_EXPECTED)]
        if unknown:
            raise ValueError(f"{file.name}: {entry.get('title')}: unknown: {unknown}")
        spec = dict(entry["job"])
        tasks = [
            {"name": name, **(one if isinstance(one, dict) else {"replicas": one})}
            for name, one in spec.pop("tasks").items()
        ]
        manifest = job(tasks, **spec)
        manifest["metadata"] |= {name: entry.get(name, {}) for name in ("annotations", "labels")}
        rules = entry["rule"]
        yield JobScenario(
            entry["title"],
            f"jobs/{file.name}",
            tuple(rules if isinstance(rules, list) else [rules]),
            manifest,
            entry.get("with", []),
            entry.get("orders", []),
            entry["steps"],
        )


def _happen(world: JobWorld, word: str, value: Any) -> None:  # noqa: ANN401, C901, PLR0912  # one line a word
    match word:
        case "away":
            world.is_away = value
        case "wait":
            world.pass_time(value)
        case "lose":
            world.lost_deletions = value
        case "crash" | "kill":
            world.crash_after, world.stays_down = value, word == "kill"
        case "slow":
            world.has_slow_pods = value
        case "refuse":
            world.refusal = value
            world.try_again()
        case "group":
            world.change(_group(world), {"status": {"phase": value}})
        case "says":
            condition = {"type": "Unschedulable", "status": "True", "reason": "NoRoom", "message": value}
            world.change(_group(world), {"status": {"conditions": [condition]}})
        case "command":
            for number, action in enumerate(value if isinstance(value, list) else [value]):
                world.put(_command(world, number, action))
        case "run":
            for name in _pods(world, value):
                running = [{"ready": True, "restartCount": 0}]
                world.pod(name, {"phase": "Running", "containerStatuses": running})
        case "succeed":
            for name in _pods(world, value):
                world.finish(name, 0)
        case "fail":
            for name, code in value.items():
                world.finish(f"j-{name}", code)
        case "restarts":
            for name, count in value.items():
                world.pod(f"j-{name}", {"containerStatuses": [{"ready": True, "restartCount": count}]})
        case "pod":
            for name, status in value.items():
                world.pod(f"j-{name}", status)
        case "disrupt" | "evict":
            for name in _pods(world, value):
                world.pod(name, {"conditions": [{"type": "DisruptionTarget", "status": "True"}]})
                if word == "evict":
                    world.delete(("Pod", f"default/{name}"))
        case "delete" | "vanish" | "end":
            for name in _pods(world, value):
                getattr(world, word)(("Pod", f"default/{name}"))
        case "scale":
            _scale(world, value)
        case "change":
            world.change(JOB, {"spec": value})
        case "remove":
            for one in value:
                world.delete(_place(one))
        case "add":
            for document in value:
                world.put(yaml.safe_load(yaml.safe_dump(document)))


def _complaints(world: JobWorld, step: Json, seen: tuple[int, int, int]) -> Iterator[str]:
    phases, made = world.phases[seen[0] :], world.created[seen[1] :]
    reasons = [reason for reason, _ in world.events[seen[2] :]]
    if step.get("gone"):
        if JOB in world.objects:
            yield "the job is still there"
        yield from _kinds(world, step)
        return
    status = world.status()
    state = status.get("state", {})
    found = {
        "phases": phases,
        "phase": state.get("phase", ""),
        "reason": state.get("reason", ""),
        "made": sorted(one.removeprefix("default/j-") for one in made),
        "events": reasons,
        "quiet": not (phases or made or reasons),
        **{word: status.get(name, 0) for word, name in _NUMBERS.items()},
    }
    for word, value in found.items():
        wanted = sorted(step[word]) if word == "made" and word in step else step.get(word)
        if word in step and value != wanted:
            yield f"{word} is {value}, not {wanted}; {state}, events {world.events[seen[2] :]}"
    if step.get("message", "") not in state.get("message", ""):
        yield f"the message is {state.get('message', '')!r}, without {step['message']!r}"
    yield from _pods_astray(world, step)
    yield from _kinds(world, step)
    yield from _differences("status", step.get("status", {}), status)
    for name, part in step.get("shows", {}).items():
        yield from _differences(name, part, world.objects.get(_place(name)))
    if "min" in step:
        least = world.objects[_group(world)]["spec"]["minMember"]
        if least != step["min"]:
            yield f"minMember is {least}, not {step['min']}"


def _pods_astray(world: JobWorld, step: Json) -> Iterator[str]:
    for task, wanted in step.get("pods", {}).items():
        there = {int(name.rpartition("-")[2]): one for name, one in _of_task(world, task).items()}
        shown = [_shown(there.get(index)) for index in range(max([*there, len(wanted) - 1], default=-1) + 1)]
        if shown != wanted:
            yield f"pods of {task} are {shown}, not {wanted}"


def _kinds(world: JobWorld, step: Json) -> Iterator[str]:
    for kind, names in step.get("has", {}).items():
        here = sorted(key.partition("/")[2] for (one, key) in world.objects if one == kind)
        if here != sorted(names):
            yield f"{kind}: {here}, not {names}"


def _differences(path: str, part: Any, whole: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    """How an object differs from what it must have; what else it has does not matter."""
    if isinstance(part, dict) and isinstance(whole, dict):
        for name, value in part.items():
            yield from _differences(f"{path}.{name}", value, whole.get(name))
    elif part != whole:
        yield f"{path} is {whole}, not {part}"


def _place(name: str) -> tuple[str, str]:
    """An object by its kind and its name."""
    kind, _, rest = name.partition("/")
    return kind, rest if kind == "PriorityClass" else f"default/{rest}"


def _shown(pod: Json | None) -> str:
    if pod is None:
        return "-"
    return "Terminating" if "deletionTimestamp" in pod["metadata"] else str(pod["status"]["phase"])


def _of_task(world: JobWorld, task: str) -> dict[str, Json]:
    return {name: one for name, one in world.pods().items() if name.rpartition("-")[0] == f"j-{task}"}


def _pods(world: JobWorld, value: str | list[str]) -> list[str]:
    """The names of pods, of which a task means all."""
    found: list[str] = []
    for one in [value] if isinstance(value, str) else value:
        found += [f"j-{one}"] if f"j-{one}" in world.pods() else sorted(_of_task(world, one))
    return found


def _group(world: JobWorld) -> tuple[str, str]:
    group = world.group()
    assert group is not None, "the job has no pod group"
    return group


def _scale(world: JobWorld, sizes: dict[str, int]) -> None:
    tasks = [
        {**one, "replicas": sizes.get(one["name"], one["replicas"])}
        for one in world.objects[JOB]["spec"]["tasks"]
    ]
    for one in tasks:
        one["minAvailable"] = min(one["minAvailable"], one["replicas"])
    world.change(JOB, {"spec": {"tasks": tasks}})


def _command(world: JobWorld, number: int, action: str) -> Json:
    uid = world.objects[JOB]["metadata"]["uid"]
    name = f"j-{number}-{action.lower()}"
    target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": uid}
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": name, "namespace": "default"},
        "action": action,
        "target": target,
    }
