"""Rules for job flows and job templates: an order that can be kept, and jobs that can be made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final

from maar.core.admission import made_jobs
from maar.core.admission.case import Case
from maar.core.admission.plain import at, brief, cut, list_at, listed, numbered, text_at
from maar.core.admission.reading import read_spec
from maar.core.admission.request import UPDATE, Problem
from maar.core.admission.rulebook import Rule, Rulebook, about_others
from maar.core.model import name_rules
from maar.core.model.job import Job
from maar.core.model.job_flow import FlowProbe, HttpProbe, JobFlow, JobFlowSpec, JobTemplate, TcpProbe
from maar.core.model.kinds import BadObjectError

_LONGEST_NAME: Final = 63  # of a job, which is part of the names of its pods, and of a label's value
_MOST_FLOWS: Final = 256
_LAST_PORT: Final = 65_535
_PHASES: Final = ("Pending", "Running", "Succeeded", "Failed")


@dataclass(frozen=True, eq=False)
class JobFlowCase:
    """A job flow before the rules."""

    case: Case
    spec: JobFlowSpec


def size(case: Case) -> Iterator[Problem]:
    """A flow has at most 256 jobs."""
    flows = list_at(case.new, "spec", "flows")
    if len(flows) > _MOST_FLOWS:
        sentence = f"has {len(flows)} entries, and the most is {_MOST_FLOWS}; split the flow"
        yield Problem("spec.flows", brief(flows), sentence)


def read_job_flow(case: Case) -> JobFlowCase:
    """A job flow is what the API says: every field that Maar reads has its type."""
    return JobFlowCase(case, read_spec(JobFlow, case.new).spec)


def flows(flow: JobFlowCase) -> Iterator[Problem]:
    """A flow without jobs does nothing, and of two with one name only one makes a job."""
    if not flow.spec.flows:
        yield Problem("spec.flows", "[]", "is empty: nothing is made; name at least one job template")
    seen = set[str]()
    for number, one in enumerate(flow.spec.flows):
        if one.name in seen:
            wrong = brief(one.name)
            sentence = f"is {wrong}, which another flow has: one job is made; name each job template once"
            yield Problem(f"spec.flows[{number}].name", wrong, sentence)
        seen.add(one.name)


def name(flow: JobFlowCase) -> Iterator[Problem]:
    """The name of every job of a flow is that of a job template."""
    for number, one in enumerate(flow.spec.flows):
        path, wrong = f"spec.flows[{number}].name", brief(one.name)
        if problems := name_rules.of_object(JobTemplate.__name__, one.name):
            yield Problem(path, wrong, f"is {wrong}, which no job template has: {problems[0]}")


def job_name(flow: JobFlowCase) -> Iterator[Problem]:
    """The names of jobs, <flow>-<template>, and the labels <namespace>.<name> have at most 63 characters."""
    own = f"{flow.case.namespace}.{flow.case.name}"
    if len(own) > _LONGEST_NAME:
        sentence = f"makes jobs with the label {cut(own)}, longer than {_LONGEST_NAME} characters; shorten it"
        yield Problem("metadata.name", brief(flow.case.name), sentence)
    for number, one in enumerate(flow.spec.flows):
        for made in (f"{flow.case.name}-{one.name}", f"{flow.case.namespace}.{one.name}"):
            if len(made) > _LONGEST_NAME:
                sentence = f"makes {cut(made)}, longer than {_LONGEST_NAME} characters; shorten a name"
                yield Problem(f"spec.flows[{number}].name", brief(one.name), sentence)
                break


def targets(flow: JobFlowCase) -> Iterator[Problem]:
    """A job depends on jobs of the same flow."""
    names = {one.name for one in flow.spec.flows}
    for number, one in enumerate(flow.spec.flows):
        asked = one.depends_on.targets if one.depends_on else ()
        if unknown := sorted(set(asked) - names):
            sentence = (
                f"names {listed(unknown)}: jobflow Flow is not DAG: vertex is not defined; "
                f"name one of {listed(sorted(names))}, or add a flow of that name"
            )
            yield Problem(f"spec.flows[{number}].dependsOn.targets", brief(unknown[0]), sentence)


def order(flow: JobFlowCase) -> Iterator[Problem]:
    """Jobs never depend on one another in a circle."""
    graph = {one.name: set(one.depends_on.targets if one.depends_on else ()) for one in flow.spec.flows}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " <- ".join(map(cut, error.args[1][:6]))
        sentence = f"has a circle, {circle}: jobflow Flow is not DAG; remove one dependency"
        yield Problem("spec.flows", circle, sentence)


def probe(flow: JobFlowCase) -> Iterator[Problem]:
    """A probe looks at tasks of targets: at their phases, or whether their pods answer."""
    for number, one in enumerate(flow.spec.flows):
        asked = one.depends_on.probe if one.depends_on else None
        if one.depends_on is None or asked is None:
            continue
        path = f"spec.flows[{number}].dependsOn.probe"
        if not one.depends_on.targets:
            yield Problem(
                path, brief({}), "is for no job; name the jobs that it looks at in dependsOn.targets"
            )
        yield from _requests(path, asked)
        for place, status in enumerate(asked.task_status_list):
            here = f"{path}.taskStatusList[{place}]"
            if not status.task_name:
                yield Problem(f"{here}.taskName", '""', "is empty; name a task of a target")
            if status.phase not in _PHASES:
                wrong = brief(status.phase)
                yield Problem(f"{here}.phase", wrong, f"is {wrong}; write one of {', '.join(_PHASES)}")


def _requests(path: str, asked: FlowProbe) -> Iterator[Problem]:
    """What is asked of pods names a task and a port and, where it is a request, a path."""
    lists: dict[str, tuple[HttpProbe | TcpProbe, ...]] = {
        "httpGetList": asked.http_get_list,
        "tcpSocketList": asked.tcp_socket_list,
    }
    for field, values in lists.items():
        for place, one in enumerate(values):
            here = f"{path}.{field}[{place}]"
            if not one.task_name:
                yield Problem(f"{here}.taskName", '""', "is empty; name a task of a target")
            if not 0 < one.port <= _LAST_PORT:
                wrong = brief(one.port)
                sentence = f"is {wrong}; write the port that the pods listen on, 1 to {_LAST_PORT}"
                yield Problem(f"{here}.port", wrong, sentence)
            if isinstance(one, HttpProbe) and one.path and not one.path.startswith("/"):
                wrong = brief(one.path)
                yield Problem(f"{here}.path", wrong, f"is {wrong}; write a path that begins with /")


def patch(flow: JobFlowCase) -> Iterator[Problem]:
    """A patch is part of a job's spec, and names the tasks that it changes."""
    for number, one in enumerate(flow.spec.flows):
        spec = one.patch.spec if one.patch else {}
        path = f"spec.flows[{number}].patch"
        try:
            read_spec(Job, {"spec": spec})
        except BadObjectError as error:
            field = cut(f"{path}.{error.path}" if error.path else path, 253)
            problem = cut(error.problem, 200)
            sentence = f"cannot be read: {problem}; kubectl explain vcjob.spec says what belongs there"
            yield Problem(field, brief(spec), sentence)
            continue
        for where, task in numbered(f"{path}.spec.tasks", list_at(spec, "tasks")):
            if not text_at(task, "name"):
                yield Problem(
                    f"{where}.name", '""', "is empty; name the task of the template that is changed"
                )


def started(flow: JobFlowCase) -> Iterator[Problem]:
    """A change of a flow whose job has been made has no effect on that job."""
    if flow.case.request.operation != UPDATE:
        return
    jobs = {text_at(one, "name") for one in list_at(flow.case.old, "status", "jobStatusList")}
    before = {text_at(one, "name"): one for one in list_at(flow.case.old, "spec", "flows")}
    for path, one in numbered("spec.flows", list_at(flow.case.new, "spec", "flows")):
        own = text_at(one, "name")
        if f"{flow.case.name}-{own}" in jobs and before.get(own) != one:
            yield Problem(path, brief(own), "changes after its job was made: it has no effect on that job")


@dataclass(frozen=True, eq=False)
class JobTemplateCase:
    """A job template before the rules."""

    case: Case
    spec: dict[str, object]


def read_job_template(case: Case) -> JobTemplateCase:
    """A job template is what the API says: its spec is an object."""
    return JobTemplateCase(case, read_spec(JobTemplate, case.new).spec)


def template_job(template: JobTemplateCase) -> Iterator[Problem]:
    """Every job that is made from a job template satisfies the rules of jobs; queues are looked at then."""
    yield from made_jobs.refusals(template.case, template.case.name, at(template.case.new, "spec"), "spec")


@about_others
def template_warnings(template: JobTemplateCase) -> Iterator[Problem]:
    """What a job made from the template now would be refused for because of its queue, and its warnings."""
    yield from made_jobs.warnings(template.case, template.case.name, at(template.case.new, "spec"), "spec")


FLOW_RULES: Final[Mapping[str, Rule[JobFlowCase]]] = {
    "jobflow-name": name,
    "jobflow-job-name": job_name,
    "jobflow-target": targets,
    "jobflow-order": order,
    "jobflow-probe": probe,
    "jobflow-patch": patch,
}
TEMPLATE_RULES: Final[Mapping[str, Rule[JobTemplateCase]]] = {"jobtemplate-job": template_job}
FLOW_BOOK: Final = Rulebook(
    noun="job flow",
    read=read_job_flow,
    readable={"jobflow-size": size},
    create=FLOW_RULES,
    update=FLOW_RULES,
    warnings={"jobflow-flows": flows, "jobflow-started": started},
)
TEMPLATE_BOOK: Final = Rulebook(
    noun="job template",
    read=read_job_template,
    create=TEMPLATE_RULES,
    update=TEMPLATE_RULES,
    warnings={"jobtemplate-job-warning": template_warnings},
)
