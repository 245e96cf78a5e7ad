"""`maar.simulate`: a workload under one policy or several; results are columns of NumPy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np

from maar.api.arguments import time_of
from maar.api.errors import InputError, SimulationError, raising
from maar.api.simulation.experiment import Experiment, prepared, prepared_recording
from maar.api.simulation.inputs import (
    GeneratedJobs,
    Generator,
    GivenJobs,
    GivenPolicy,
    TraceJobs,
    format_of,
    nodes_of,
    policies_of,
    queues_of,
)
from maar.api.simulation.report import ReportFolder, configurations_of, overview_lines
from maar.api.simulation.tables import TraceTables
from maar.apps.version import __version__
from maar.core.answers.simulate.page import Heading
from maar.core.answers.simulate.tables import job_columns, series_columns
from maar.core.model.columns import Columns
from maar.core.model.node import Node
from maar.core.model.queue import Queue
from maar.core.model.resources import MEMORY, BadAmountError, amount
from maar.core.simulation.experiment import Cluster, JobSource, Outcome
from maar.core.simulation.jobs import TraceJob
from maar.core.traces.options import TraceOptions
from maar.core.traces.skips import TraceError

_PathText = str | PathLike[str]
Trace = _PathText | Sequence[TraceJob] | None
Nodes = _PathText | Sequence[_PathText | Node]
Queues = _PathText | Sequence[_PathText | Queue]
Policies = GivenPolicy | Sequence[GivenPolicy]


@dataclass(frozen=True, eq=False)
class Simulated(Mapping[str, Outcome], Columns):
    """What became of a workload, by the name of the policy.

    `result["easy"].jobs` are the columns of the jobs (`wait`, `started`, `queue`, ...), `.series` what was
    seen over time, `.figures` what evaluations print. It prints as a table, in a notebook too.
    """

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]  # what was left out or made up
    title: str = "Simulation"

    def __getitem__(self, name: str) -> Outcome:
        for outcome in self.outcomes:
            if outcome.policy.name == name:
                return outcome
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (outcome.policy.name for outcome in self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    def __str__(self) -> str:
        return "\n".join(line.rstrip() for line in overview_lines(self.outcomes))

    def __repr__(self) -> str:
        jobs = self.outcomes[0].figures.jobs
        return f"<Simulated: {jobs:,} jobs under {', '.join(self)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def write(self, folder: _PathText) -> None:
        """Write the report of the command: report.html, summary.json, CSV for every policy."""
        facts, made_by = [f"Policies: {', '.join(self)}."], f"Maar {__version__}: maar.simulate"
        heading = Heading(self.title, facts, self.notes, made_by, configurations_of(self.outcomes))
        with raising(SimulationError):
            ReportFolder(Path(fspath(folder))).write(heading, self.outcomes, {"workload": self.title})

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Jobs, and means over time, of every policy; the columns are those of the report's CSV."""
        return {
            "jobs": _together({name: job_columns(outcome) for name, outcome in self.items()}),
            "series": _together({name: series_columns(outcome) for name, outcome in self.items()}),
        }


def simulate(  # noqa: PLR0913  # each is an option of the command
    trace: Trace = None,
    nodes: Nodes = (),
    queues: Queues = (),
    config: Policies = (),
    *,
    format: str = "",  # noqa: A002  # as the command calls it
    queue_from: str = "",
    namespace_per_user: bool = False,
    processors_per_pod: int | None = None,
    memory_per_processor: str = "",
    shared_gpus: Literal["whole", "thousandths"] = "whole",
    stop_at_estimate: bool = False,
    start: datetime | str | None = None,
    most_jobs: int | None = None,
    generate: Generator | None = None,
    jobs: int = 1000,
    seed: int = 1,
    load: float = 0.9,
) -> Simulated:
    """Simulate a workload under one configuration or several.

    The workload is a trace (a path, or jobs), or is generated. Nodes are a specification such as
    `4x8cpu,32Gi`, a path, or objects; queues are paths or objects; a configuration is `default`, `fcfs`,
    `easy`, a path, plain data in Volcano's grammar, or a `Configuration`. From `format` on the keywords are
    the options of the command.
    """
    with raising(SimulationError):
        options = trace_options(
            queue_from=queue_from,
            namespace_per_user=namespace_per_user,
            processors_per_pod=processors_per_pod,
            memory_per_processor=memory_per_processor,
            shared_gpus=shared_gpus,
            stop_at_estimate=stop_at_estimate,
            start=start,
            most_jobs=most_jobs,
        )
        generated = None if generate is None else Generated(generate, jobs, seed, load)
        experiment = experiment_of(trace, nodes, queues, config, format, options, generated)
        experiment.run()
    if experiment.interrupted_by:
        raise KeyboardInterrupt
    return Simulated(tuple(experiment.outcomes), tuple(experiment.notes), _title(trace, generate, experiment))


@dataclass(frozen=True)
class Generated:
    """What is generated where there is no trace."""

    kind: Generator
    jobs: int
    seed: int
    load: float


def trace_options(  # noqa: PLR0913  # each is an option of the command
    *,
    queue_from: str = "",
    namespace_per_user: bool = False,
    processors_per_pod: int | None = None,
    memory_per_processor: str = "",
    shared_gpus: Literal["whole", "thousandths"] = "whole",
    stop_at_estimate: bool = False,
    start: datetime | str | None = None,
    most_jobs: int | None = None,
) -> TraceOptions:
    """How a trace is read."""
    try:
        return TraceOptions(
            queue_from=queue_from,
            namespace_from="user" if namespace_per_user else "",
            processors_per_pod=processors_per_pod,
            memory_per_processor=amount(MEMORY, memory_per_processor) if memory_per_processor else 0,
            shared_gpus=shared_gpus,
            start=time_of(start, "start").timestamp() if start else None,
            stops_at_estimate=stop_at_estimate,
            most_jobs=most_jobs,
        )
    except BadAmountError as error:
        raise InputError(f": {error}; write it as 2Gi", option="memory_per_processor") from None
    except TraceError as error:
        raise InputError(str(error)) from None


def experiment_of(  # what `simulate` is given
    trace: Trace,
    nodes: Nodes,
    queues: Queues,
    config: Policies,
    format_name: str,
    options: TraceOptions,
    generated: Generated | None,
) -> Experiment:
    """Read all that is given, and go through the jobs once."""
    if (trace is None) == (generated is None):
        raise InputError("give either a trace, or generate='lublin' or 'mixed'")
    tables = TraceTables(options)
    policies, known_queues = policies_of(_listed(config)), _queues(queues, tables)
    file = Path(fspath(trace)) if isinstance(trace, str | PathLike) else None
    named = "" if file is None else format_of(file, format_name)
    if file is not None and named == "recording":
        if not _is_empty(nodes):
            raise InputError(": a recording has nodes of its own; leave it out", option="nodes")
        return prepared_recording(file, None if _is_empty(config) else policies, known_queues)
    cluster = Cluster(_nodes(nodes, tables), known_queues)
    source: JobSource
    if file is not None:
        source = TraceJobs(file, named, options)
    elif generated is not None:
        source = GeneratedJobs(generated.kind, generated.jobs, generated.seed, generated.load, cluster)
    else:
        source = GivenJobs(trace)  # type: ignore[arg-type]  # what is left are jobs
    experiment = prepared(source, cluster, policies)
    experiment.notes[:0] = tables.notes
    return experiment


def _title(trace: Trace, generate: Generator | None, experiment: Experiment) -> str:
    if generate is not None:
        return f"Simulation of generated jobs ({generate})"
    if isinstance(trace, str | PathLike):
        return f"Simulation of {Path(fspath(trace)).name}"
    return f"Simulation of {experiment.jobs or 0:,} jobs"


def _is_empty(given: object) -> bool:
    return isinstance(given, Sequence) and not given


def _listed(given: Policies) -> list[GivenPolicy]:
    is_list = isinstance(given, list | tuple) and not hasattr(given, "configuration")  # a policy is a tuple
    return list(given) if is_list else [given]  # type: ignore[arg-type, list-item]


def _nodes(given: Nodes, tables: TraceTables) -> tuple[Node, ...]:
    listed = [given] if isinstance(given, str | PathLike) else list(given)
    objects = [each for each in listed if isinstance(each, Node)]
    texts = [each for each in listed if not isinstance(each, Node)]
    return (*objects, *(nodes_of(texts, tables) if texts or not objects else ()))


def _queues(given: Queues, tables: TraceTables) -> tuple[Queue, ...]:
    listed = [given] if isinstance(given, str | PathLike) else list(given)
    objects = [each for each in listed if isinstance(each, Queue)]
    return (*objects, *queues_of([each for each in listed if not isinstance(each, Queue)], tables))


def _together(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of several policies below one another, after the names of the policies."""
    lengths = {name: len(next(iter(table.values()))) for name, table in tables.items()}
    together: dict[str, Any] = {"policy": [name for name, length in lengths.items() for _ in range(length)]}
    for column in dict.fromkeys(column for table in tables.values() for column in table):
        parts = [table.get(column, np.full(lengths[name], np.nan)) for name, table in tables.items()]
        are_texts = isinstance(parts[0], list)
        together[column] = [text for part in parts for text in part] if are_texts else np.concatenate(parts)
    return together
