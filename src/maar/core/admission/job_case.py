"""A job before the rules, and how large one may be to be checked at all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from maar.core.admission.case import Case
from maar.core.admission.cluster import KnownCluster
from maar.core.admission.defaults import MOST_TASKS
from maar.core.admission.plain import at, below, brief, list_at, map_at, numbered
from maar.core.admission.reading import read_spec
from maar.core.admission.request import CREATE, Problem
from maar.core.admission.work_rules import Destination
from maar.core.model.job import Job, JobSpec

_MOST: Final = {"tasks": MOST_TASKS, "volumes": 128, "policies": 64}  # as in the definition


@dataclass(frozen=True, eq=False)
class JobCase:
    """A job before the rules."""

    case: Case
    spec: JobSpec

    @property
    def known(self) -> KnownCluster:
        """The cluster that it goes into."""
        return self.case.known

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.case.name

    @property
    def destination(self) -> Destination | None:
        """Its queue, which it keeps for life."""
        if self.case.request.operation != CREATE:
            return None
        return Destination(self.spec.queue, "spec.queue", self.case.namespace)


def read_job(case: Case) -> JobCase:
    """A job is what the API says: every field that Maar reads has its type."""
    return JobCase(case, read_spec(Job, case.new).spec)


def lists(case: Case) -> Iterator[Problem]:
    """Events, the tasks that a task depends on, and the arguments of a plugin are lists."""
    spec = at(case.new, "spec")
    holders = [*_policies("spec", spec)]
    fields: list[tuple[str, object]] = []
    for path, task in numbered("spec.tasks", list_at(spec, "tasks")):
        holders += _policies(path, task)
        fields.append((f"{path}.dependsOn.name", at(task, "dependsOn", "name")))
    fields += [(f"{path}.events", at(policy, "events")) for path, policy in holders]
    fields += [(below("spec.plugins", name), value) for name, value in map_at(spec, "plugins").items()]
    for path, value in fields:
        if isinstance(value, str):
            said = brief(value)
            yield Problem(path, said, f"is {said}, a text where a list belongs; write [{said}]")
        elif not isinstance(value, list | None):
            said = brief(value)
            yield Problem(path, said, f"is {said} where a list of texts belongs; write a list")


def _policies(path: str, holder: object) -> Iterator[tuple[str, object]]:
    return numbered(f"{path}.policies", list_at(holder, "policies"))


def size(case: Case) -> Iterator[Problem]:
    """A job has at most 256 tasks, 128 volumes, and 64 policies for itself and for each task."""
    spec = at(case.new, "spec")
    lists = [(f"spec.{field}", list_at(spec, field), most) for field, most in _MOST.items()]
    if len(list_at(spec, "tasks")) <= MOST_TASKS:
        for path, task in numbered("spec.tasks", list_at(spec, "tasks")):
            lists.append((f"{path}.policies", list_at(task, "policies"), _MOST["policies"]))
    for path, values, most in lists:
        if len(values) > most:
            yield Problem(
                path, brief(values), f"has {len(values)} entries, and the most is {most}; split the job"
            )
