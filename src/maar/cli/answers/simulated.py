"""`maar.simulate`: what `maar simulate` does, for Python and notebooks; results are columns of NumPy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path

from maar import __version__
from maar.cli.answers.simulation import Experiment, prepared, prepared_recording
from maar.cli.answers.simulation_inputs import (
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
from maar.cli.answers.simulation_report import ReportFolder, configurations_of, overview_lines
from maar.cli.answers.trace_tables import TraceTables
from maar.cli.failure import CommandError
from maar.core.answers.simulate.page import Heading
from maar.core.model.node import Node
from maar.core.model.queue import Queue
from maar.core.simulation.experiment import Cluster, JobSource, Outcome
from maar.core.simulation.jobs import TraceJob
from maar.core.traces.options import TraceOptions

_PathText = str | PathLike[str]


class SimulationError(ValueError):
    """What keeps a workload from being simulated: a sentence a line."""


@dataclass(frozen=True, eq=False)
class Simulated(Mapping[str, Outcome]):
    """What became of a workload, by the name of the policy.

    `result["easy"].jobs` are the columns of the jobs (`wait`, `started`, `queue`, ...), `.series` what was
    seen over time, `.figures` what evaluations print. It prints as a table, in a notebook too.
    """

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]  # what was left out or made up
    title: str = "Simulation"

    def __getitem__(self, name: str) -> Outcome:
        for one in self.outcomes:
            if one.policy.name == name:
                return one
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (one.policy.name for one in self.outcomes)

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
        """Write the report, as the command does: report.html, summary.json, and CSV for every policy."""
        facts, made_by = [f"Policies: {', '.join(self)}."], f"Maar {__version__}: maar.simulate"
        heading = Heading(self.title, facts, self.notes, made_by, configurations_of(self.outcomes))
        try:
            ReportFolder(Path(fspath(folder))).write(heading, self.outcomes, {"workload": self.title})
        except CommandError as error:
            raise SimulationError("\n".join(error.sentences)) from None


def simulate(  # noqa: PLR0913  # each is an option of the command
    trace: _PathText | Sequence[TraceJob] | None = None,
    nodes: _PathText | Sequence[_PathText | Node] = (),
    queues: _PathText | Sequence[_PathText | Queue] = (),
    config: GivenPolicy | Sequence[GivenPolicy] = (),
    *,
    format: str = "",  # noqa: A002
    options: TraceOptions | None = None,
    generate: Generator | None = None,
    jobs: int = 1000,
    seed: int = 1,
    load: float = 0.9,
) -> Simulated:
    """Simulate a workload under one configuration or several.

    The workload is a trace (a path, or jobs), or is generated. Nodes are a specification such as
    `4x8cpu,32Gi`, a path, or objects; queues are paths or objects; a configuration is `default`, `fcfs`,
    `easy`, a path, plain data in Volcano's grammar, or a `Configuration`.
    """
    if (trace is None) == (generate is None):
        raise SimulationError("give either a trace, or generate='lublin' or 'mixed'")
    try:
        policies, tables = policies_of(_listed(config)), TraceTables(options or TraceOptions())
        known_queues = _queues(queues, tables)
        is_path = isinstance(trace, str | PathLike)
        file = Path(fspath(trace)) if isinstance(trace, str | PathLike) else Path()
        found = format_of(file, format) if is_path else ""
        if found == "recording":
            experiment = prepared_recording(file, policies if _listed(config) else None, known_queues)
        else:
            cluster = Cluster(_nodes(nodes, tables), known_queues)
            source: JobSource = GeneratedJobs(generate or "mixed", jobs, seed, load, cluster)
            if trace is not None and not isinstance(trace, str | PathLike):
                source = GivenJobs(trace)
            elif is_path:
                source = TraceJobs(file, found, tables.options)
            experiment = prepared(source, cluster, policies)
            experiment.notes[:0] = tables.notes
        experiment.run(_Silent())
    except CommandError as error:
        raise SimulationError("\n".join(error.sentences)) from None
    if experiment.interrupted_by:
        raise KeyboardInterrupt
    return Simulated(tuple(experiment.outcomes), tuple(experiment.notes), _title(file, generate, experiment))


class _Silent:
    """Shows nothing."""

    def begins(self, name: str, jobs: int | None) -> None:
        """Show nothing."""

    def is_at(self, ended: int) -> None:
        """Show nothing."""

    def ends(self) -> None:
        """Show nothing."""


def _title(file: Path, generate: Generator | None, experiment: Experiment) -> str:
    if generate is not None:
        return f"Simulation of generated jobs ({generate})"
    return f"Simulation of {file.name}" if file.name else f"Simulation of {experiment.jobs or 0:,} jobs"


def _listed(given: GivenPolicy | Sequence[GivenPolicy]) -> list[GivenPolicy]:
    is_list = isinstance(given, list | tuple) and not hasattr(given, "configuration")  # a policy is a tuple
    return list(given) if is_list else [given]  # type: ignore[arg-type, list-item]


def _nodes(given: _PathText | Sequence[_PathText | Node], tables: TraceTables) -> tuple[Node, ...]:
    listed = [given] if isinstance(given, str | PathLike) else list(given)
    objects = [one for one in listed if isinstance(one, Node)]
    texts = [one for one in listed if not isinstance(one, Node)]
    return (*objects, *(nodes_of(texts, tables) if texts or not objects else ()))


def _queues(given: _PathText | Sequence[_PathText | Queue], tables: TraceTables) -> tuple[Queue, ...]:
    listed = [given] if isinstance(given, str | PathLike) else list(given)
    objects = [one for one in listed if isinstance(one, Queue)]
    return (*objects, *queues_of([one for one in listed if not isinstance(one, Queue)], tables))
