"""`maar simulate`: a trace of jobs, or generated ones, through the scheduler in virtual time."""

import shlex
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

import typer

from maar.apps.version import __version__
from maar.cli.entry import INTERRUPTED, raise_when_interrupted
from maar.cli.option_groups import with_groups

if TYPE_CHECKING:  # what simulates takes longer to import than the help takes to print
    from maar.api.simulation.experiment import Experiment
    from maar.core.answers.simulate.page import Heading

_SIGTERM: Final = "SIGTERM"
_OUT: Final = "--out"


@dataclass(frozen=True)
class TraceFlags:
    """How a trace is read."""

    format: Annotated[
        str,
        typer.Option(
            help="swf, helios, acme, philly, openb, sacct or recording; default: as the file looks."
        ),
    ] = ""
    queue_from: Annotated[str, typer.Option(help="The field of the trace that names the queue.")] = ""
    namespace_per_user: Annotated[
        bool, typer.Option("--namespace-per-user", help="Every user of the trace has a namespace.")
    ] = False
    processors_per_pod: Annotated[
        int | None, typer.Option(min=1, help="The CPUs of a pod, for jobs that name processors only.")
    ] = None
    memory_per_processor: Annotated[
        str, typer.Option(help="Such as 2Gi: for jobs of which the trace does not say it.")
    ] = ""
    shared_gpus: Annotated[
        Literal["whole", "thousandths"],
        typer.Option(help="Parts of GPUs: rounded up, or counted as nvidia.com/gpu-milli, as of nodes."),
    ] = "whole"
    stop_at_estimate: Annotated[
        bool, typer.Option("--stop-at-estimate", help="End jobs that ran longer than stated at that time.")
    ] = False
    start: Annotated[str, typer.Option(help="When the first job is submitted: 2026-01-31T12:00:00Z.")] = ""
    most_jobs: Annotated[int | None, typer.Option(min=1, help="Read no more jobs than so many.")] = None


@dataclass(frozen=True)
class GeneratorFlags:
    """What is generated where there is no trace."""

    generate: Annotated[
        Literal["lublin", "mixed"] | None,
        typer.Option(help="lublin: the model of Lublin and Feitelson; mixed: gangs, queues and GPUs."),
    ] = None
    jobs: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many jobs to generate.")] = 1000
    seed: Annotated[int, typer.Option(help="The seed of what is generated; equal seeds give equal jobs.")] = 1
    load: Annotated[
        float, typer.Option(min=0.01, max=10, help="What generated jobs ask for, as a part of the cluster.")
    ] = 0.9


@with_groups
def simulate(
    *,
    trace: Annotated[Path | None, typer.Option("--trace", help="A file with jobs, may end in .gz.")] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            "--nodes",
            help="Nodes, such as '4x8cpu,32Gi;2x64cpu,256Gi,8gpu', or a file: manifests, openb's table of "
            "nodes, Philly's list of machines.",
        ),
    ] = None,
    queues: Annotated[
        list[Path] | None,
        typer.Option(
            "--queues",
            help="A file or folder of queues, or Helios' table of GPUs, which become weights; others get "
            "weight 1.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", help="default, fcfs, easy, or a configuration; several are compared."),
    ] = None,
    out: Annotated[Path, typer.Option(_OUT, help="The folder for the report.")],
    trace_flags: TraceFlags,
    generator: GeneratorFlags,
) -> None:
    """Simulate a trace of jobs, or generated ones, and report how the scheduler does.

    Writes report.html with plots, summary.json, and for every configuration jobs.csv and series.csv.
    """
    from maar.api.simulate import Generated, experiment_of, trace_options  # noqa: PLC0415
    from maar.api.simulation.report import ReportFolder, check_folder, overview_lines  # noqa: PLC0415
    from maar.cli.answers.simulation_progress import SimulationProgress  # noqa: PLC0415

    if (trace is None) == (generator.generate is None):
        raise typer.BadParameter("give either --trace FILE or --generate lublin|mixed")
    check_folder(out)
    options = asdict(trace_flags)
    format_name = options.pop("format")
    kind = generator.generate
    generated = kind and Generated(kind, generator.jobs, generator.seed, generator.load)
    experiment = experiment_of(
        trace, nodes or (), queues or (), config or (), format_name, trace_options(**options), generated
    )
    for policy in experiment.policies:
        for warning in policy.configuration.warnings:
            typer.echo(f"warning: {policy.name}: {warning}", err=True)
    for note in experiment.notes:
        typer.echo(f"note: {note}", err=True)
    raise_when_interrupted()  # what has been simulated until then is written
    signal.signal(signal.SIGTERM, _terminated)
    folder = ReportFolder(out)

    def write() -> None:
        heading = _heading(trace, generator, experiment)
        seed = generator.seed if trace is None else None
        facts: dict[str, object] = {"workload": heading.title, "seed": seed}
        folder.write(heading, experiment.outcomes, facts)

    with SimulationProgress(write) as progress:
        experiment.run(progress)
    if not experiment.outcomes:
        typer.echo("interrupted before the first decision: nothing is written", err=True)
        raise typer.Exit(_exit_code(experiment))
    if experiment.interrupted_by:
        write()
    for line in overview_lines(experiment.outcomes):
        typer.echo(line.rstrip())
    typer.echo(f"\nThe report is {out / 'report.html'}")
    if experiment.interrupted_by:
        typer.echo(f"interrupted: {experiment.notes[-1]}", err=True)
        raise typer.Exit(_exit_code(experiment))


def _terminated(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt(_SIGTERM)


def _exit_code(experiment: "Experiment") -> int:
    return 128 + signal.SIGTERM if experiment.interrupted_by == _SIGTERM else INTERRUPTED


def _heading(trace: Path | None, generator: GeneratorFlags, experiment: "Experiment") -> "Heading":
    from maar.api.simulation.report import configurations_of  # noqa: PLC0415  see above
    from maar.core.answers.simulate.page import Heading  # noqa: PLC0415

    if trace is not None:
        title = f"Simulation of {trace.name}"
        what = f"{experiment.outcomes[0].figures.jobs:,} jobs of {trace.name}"
    else:
        title = f"Simulation of generated jobs ({generator.generate})"
        drawn = f"generator {generator.generate}, seed {generator.seed}, load {generator.load:g}"
        what = f"{generator.jobs:,} jobs, {drawn}"
    names = ", ".join(outcome.policy.name for outcome in experiment.outcomes)
    left = [policy.name for policy in experiment.policies[len(experiment.outcomes) :]]
    notes = [*experiment.notes]
    if left and not experiment.interrupted_by:
        notes.append(f"not simulated yet when this was written: {', '.join(left)}")
    made_by, configurations = f"Maar {__version__}: {_command()}", configurations_of(experiment.outcomes)
    return Heading(title, [f"{what}. Policies: {names}."], notes, made_by, configurations)


def _command() -> str:
    """The command that was given, but for the folder of the report: the same input gives the same page."""
    given, kept = iter(sys.argv[1:]), ["maar"]
    for word in given:
        if word == _OUT:
            next(given, None)
        elif not word.startswith(f"{_OUT}="):
            kept.append(word)
    return shlex.join(kept)
