"""Rules for the pod templates of jobs: what would be refused when the pods are made is refused at once."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from maar.core.admission.amounts import bad_quantities
from maar.core.admission.case import Case
from maar.core.admission.job_case import JobCase
from maar.core.admission.plain import at, below, brief, cut, list_at, numbered, text_at
from maar.core.admission.reading import read
from maar.core.admission.request import Problem
from maar.core.admission.server_rules import container_problems, label_problems
from maar.core.model.kinds import BadObjectError
from maar.core.model.pod import Container, Pod
from maar.core.model.resources import precisely

_RESTART_POLICIES: Final = ("", "Always", "OnFailure", "Never")
_LONGEST_FIELD: Final = 253


def quantities(case: Case) -> Iterator[Problem]:
    """Quantities in pod templates parse and are 0 or more."""
    for path, task in numbered("spec.tasks", list_at(case.new, "spec", "tasks")):
        spec = at(task, "template", "spec")
        here = f"{path}.template.spec"
        holders = chain(
            numbered(f"{here}.containers", list_at(spec, "containers")),
            numbered(f"{here}.initContainers", list_at(spec, "initContainers")),
            [(here, spec)],
        )
        for where, holder in holders:
            for amounts in (("resources", "requests"), ("resources", "limits")):
                yield from _at(where, bad_quantities(holder, *amounts))
        yield from _at(here, bad_quantities(spec, "overhead"))


def template(job: JobCase) -> Iterator[Problem]:
    """A pod template makes pods: readable, with named containers and images, and requests within limits."""
    for number, task in enumerate(job.spec.tasks):
        path = f"spec.tasks[{number}].template"
        try:
            pod = read(Pod, {part: task.template.get(part, {}) for part in ("metadata", "spec")})
        except BadObjectError as error:
            field = cut(f"{path}.{error.path}" if error.path else path, _LONGEST_FIELD)
            sentence = (
                f"cannot be read: {cut(error.problem, 200)}; kubectl explain pod.spec says what belongs there"
            )
            yield Problem(field, brief(task.template), sentence)
            continue
        yield from _at(path, _problems(pod, task.template))


def _problems(pod: Pod, raw: dict[str, object]) -> Iterator[Problem]:
    if not pod.spec.containers:
        yield Problem("spec.containers", "[]", "is empty: a pod has at least one container; add one")
    policy = text_at(raw, "spec", "restartPolicy")
    if policy not in _RESTART_POLICIES:
        sentence = f"is {brief(policy)}; write one of {', '.join(_RESTART_POLICIES[1:])}"
        yield Problem("spec.restartPolicy", brief(policy), sentence)
    yield from container_problems(raw.get("spec"), "spec")
    yield from label_problems(raw.get("metadata"), "metadata")
    for field, containers in (
        ("initContainers", pod.spec.init_containers),
        ("containers", pod.spec.containers),
    ):
        for number, container in enumerate(containers):
            path = f"spec.{field}[{number}]"
            image = at(list_at(raw, "spec", field)[number], "image")
            if image is None or image == "":
                yield Problem(f"{path}.image", brief(image), f"is {brief(image)}; name the image to run")
            yield from _at(path, _over_limits(container))


def _over_limits(container: Container) -> Iterator[Problem]:
    limits = container.resources.limits
    for resource, units in container.resources.requests.items():
        if units > limits.get(resource, units):
            amount, limit = precisely(resource, units), precisely(resource, limits[resource])
            sentence = f"is {amount}, must be <= the limit, {limit}; lower it or raise the limit"
            yield Problem(below("resources.requests", resource), amount, sentence)


def _at(path: str, problems: Iterator[Problem]) -> Iterator[Problem]:
    for one in problems:
        yield Problem(f"{path}.{one.field}", one.value, one.sentence)
