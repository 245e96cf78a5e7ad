"""The Job that `maar run` makes of a command line; indices of arrays are `0-99`, `1,3,5`, `0-90:10`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from maar.core.model.job import Job

Document = dict[str, object]

AFTER_ANNOTATION: Final = "maar.sh/after"
TASK: Final = "main"

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_STEM: Final = 30
# The shell is the only thing that can tell a pod its index: VC_TASK_INDEX counts from 0 without gaps.
_WITH_INDEX: Final = (
    'MAAR_ARRAY_INDEX=$(echo "$MAAR_ARRAY" | cut -d, -f"$((VC_TASK_INDEX + 1))") && '
    'export MAAR_ARRAY_INDEX && exec "$@"'
)


@dataclass(frozen=True)
class Place:
    """Where the command runs: in an image, or on this machine as it would run in this terminal."""

    image: str = ""
    folder: str = ""
    environment: Mapping[str, str] | None = None
    node_labels: Mapping[str, str] | None = None


@dataclass(frozen=True)
class RunRequest:
    """What is to be run, with which resources, and when."""

    name: str
    namespace: str
    command: Sequence[str]
    queue: str = "default"
    resources: Mapping[str, str] | None = None
    replicas: int = 1
    array: tuple[int, ...] = ()
    after: str = ""
    seconds: int = 0  # each pod is ended after so long; 0: never
    priority: str = ""  # the name of a priority class
    variables: Mapping[str, str] | None = None

    @property
    def number(self) -> int:
        """How many pods there will be."""
        return len(self.array) or self.replicas


def job_document(request: RunRequest, place: Place) -> Document:
    """The Job."""
    variables = {**(place.environment or {}), **(request.variables or {})}
    command = [_literally(word) for word in request.command]
    if request.array:
        variables["MAAR_ARRAY"] = ",".join(map(str, request.array))
        command = ["sh", "-c", _literally(_WITH_INDEX), "maar-run", *command]
    container: Document = {
        "name": TASK,
        "image": place.image or "local",
        "command": command,
        "env": [{"name": name, "value": _literally(value)} for name, value in variables.items()],
    }
    if place.folder:
        container["workingDir"] = place.folder
    if request.resources:
        container["resources"] = {"requests": dict(request.resources), "limits": dict(request.resources)}
    pod: Document = {"restartPolicy": "Never", "containers": [container]}
    if request.seconds:
        pod["activeDeadlineSeconds"] = request.seconds
    if place.node_labels:
        pod["nodeSelector"] = dict(place.node_labels)
    plugins: Document = {"env": []}
    if request.number > 1 and not request.array:
        plugins["svc"] = []  # pods that run together are told of one another
    metadata: Document = {"name": request.name, "namespace": request.namespace}
    if request.after:
        metadata["annotations"] = {AFTER_ANNOTATION: request.after}
    spec: Document = {
        "queue": request.queue,
        "minAvailable": 1 if request.array else request.number,
        "plugins": plugins,
        "tasks": [{"name": TASK, "replicas": request.number, "template": {"spec": pod}}],
    }
    if request.array:
        spec["minSuccess"] = request.number  # an array in which a pod failed has failed
    if request.priority:
        spec["priorityClassName"] = request.priority
    return {"apiVersion": Job.api_version, "kind": "Job", "metadata": metadata, "spec": spec}


def name_for(command: Sequence[str], suffix: str) -> str:
    """A name for a job that was given none: what it runs, and something that makes it unique."""
    stem = _NOT_IN_NAMES.sub("-", PurePath(command[0]).stem.lower()).strip("-")[:_LONGEST_STEM].strip("-")
    if not stem or not stem[0].isalpha():
        stem = f"run-{stem}".strip("-")
    return f"{stem}-{suffix}"


def _literally(word: str) -> str:
    """A word that Kubernetes leaves as it is: in commands and variables $(NAME) stands for something else."""
    return word.replace("$", "$$")


MOST: Final = 10_000

_PART: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


class BadArrayError(ValueError):
    """Text that names no indices: what is wrong, and what to write."""


def indices(text: str) -> tuple[int, ...]:
    """The indices that a text names, in its order."""
    if "%" in text:
        raise BadArrayError(
            f"{text!r}: how many run at a time cannot be limited here; give the queue a capability instead"
        )
    chosen: dict[int, None] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise BadArrayError(f"{text!r}: {part!r} is no index or range; write 0-99, 1,3,5 or 0-90:10")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or not step:
            raise BadArrayError(f"{text!r}: {part!r} has no index; write the smaller number first")
        named = range(first, last + 1, step)
        if len(chosen) + len(named) > MOST:
            raise BadArrayError(f"{text!r} has more than {MOST:,} indices; make several arrays of it")
        chosen |= dict.fromkeys(named)
    return tuple(chosen)
