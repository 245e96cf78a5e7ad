"""Rules for the plugins of jobs: they exist, and their arguments fit."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission.job_case import JobCase
from maar.core.admission.plain import below, brief
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule
from maar.core.job_plugins.plugin import PluginJob, PluginTask


def plugins(job: JobCase) -> Iterator[Problem]:
    """A job uses plugins that exist."""
    there = job.case.options.job_plugins
    for name in job.spec.plugins:
        if there.get(name) is None:
            sentence = (
                f"is not installed: unable to find job plugin; there are {', '.join(sorted(there.names))}"
            )
            yield Problem(below("spec.plugins", name), brief(name), sentence)


def arguments(job: JobCase) -> Iterator[Problem]:
    """The arguments of a plugin are flags that it has, with values that fit the job."""
    for name, sentence in job.case.options.job_plugins.problems(_seen_by_plugins(job)):
        yield Problem(below("spec.plugins", name), brief(name), f"does not fit: {sentence}")


def remarks(job: JobCase) -> Iterator[Problem]:
    """What a plugin will not do, or will do otherwise than one may expect."""
    for name, sentence in job.case.options.job_plugins.warnings(_seen_by_plugins(job)):
        yield Problem(below("spec.plugins", name), brief(name), f"may not do what is wanted: {sentence}")


def _seen_by_plugins(job: JobCase) -> PluginJob:
    tasks = tuple(PluginTask(one.name, one.replicas, one.template) for one in job.spec.tasks)
    plugins = {name: arguments or () for name, arguments in job.spec.plugins.items()}
    return PluginJob(job.name, job.case.namespace, tasks, plugins)


RULES: Final[Mapping[str, Rule[JobCase]]] = {"job-plugin": plugins, "job-plugin-argument": arguments}
WARNINGS: Final[Mapping[str, Rule[JobCase]]] = {"job-plugin-effect": remarks}
