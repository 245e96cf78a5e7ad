"""Jobs that will be made from a template: it is checked now with the rules that they will be checked with."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from maar.core.admission import job_rules
from maar.core.admission.case import Case
from maar.core.admission.defaults import defaults
from maar.core.admission.patch import patched
from maar.core.admission.request import CREATE, Finding, Json, Problem, Request, Verdict
from maar.core.model.job import Job

_ABOUT_OTHERS: Final = frozenset(job_rules.BOOK.ids_about_others())
_SPEC: Final = "spec"


def refusals(case: Case, name: str, spec: object, path: str) -> Iterator[Problem]:
    """What any job of this spec would be refused for; `path` is where the spec is."""
    for one in _verdict(case, name, spec).refusals:
        if one.rule not in _ABOUT_OTHERS:
            yield _problem(one, path)


def warnings(case: Case, name: str, spec: object, path: str) -> Iterator[Problem]:
    """What a job would be refused for now and perhaps not later, such as a closed queue; and its warnings."""
    verdict = _verdict(case, name, spec)
    for one in (*verdict.refusals, *verdict.warnings):
        if one.rule in _ABOUT_OTHERS or one in verdict.warnings:
            yield _problem(one, path)


def _verdict(case: Case, name: str, spec: object) -> Verdict:
    metadata: Json = {"name": name, "namespace": case.namespace}
    job: Json = {"apiVersion": Job.api_version, "kind": Job.__name__, "metadata": metadata, _SPEC: spec}
    request = Request(
        operation=CREATE,
        resource=Job.plural,
        namespace=case.namespace,
        name=name,
        new=job,
        user=case.request.user,
    )
    made = replace(case, request=request)
    filled = patched(job, defaults(made))
    return job_rules.BOOK.judge(replace(made, request=replace(request, new=filled)))


def _problem(one: Finding, path: str) -> Problem:
    below = one.field.removeprefix(_SPEC) if one.field.startswith(_SPEC) else ""
    return Problem(f"{path}{below}", one.value, one.sentence)
