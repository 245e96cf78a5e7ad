"""The programs that Maar installs: maar, kubectl-maar, vcctl, and Volcano's vsub, vjobs and the others."""

import sys
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import typer

from maar.cli.failure import FAILED, run
from maar.cli.lazy_commands import CommandPlace, LazyGroup, of_volcano


class _MaarCommands(LazyGroup):
    places: ClassVar[Mapping[str, CommandPlace]] = {
        "up": CommandPlace(
            "maar.cli.up",
            "up",
            "Run a whole cluster in this process: an API server for kubectl, nodes and the scheduler.",
        ),
        "run": CommandPlace(
            "maar.cli.run.command",
            "run",
            "Run a command as a job: wait for its turn, show its output, and end with its exit code.",
            {"allow_interspersed_args": False},  # what follows the command is the command's
        ),
        "job": CommandPlace(
            "maar.cli.job.commands", "job_app", "Jobs: run, look at, suspend and delete them."
        ),
        "pod": CommandPlace("maar.cli.job.commands", "pod_app", "Pods of jobs and queues."),
        "cron": CommandPlace(
            "maar.cli.cron_and_flow", "cron_app", "Cron jobs: jobs that are made by the clock."
        ),
        "flow": CommandPlace(
            "maar.cli.cron_and_flow", "flow_app", "Job flows: jobs that wait for one another."
        ),
        "queue": CommandPlace(
            "maar.cli.queue.commands", "queue_app", "Queues: make, change, look at and explain them."
        ),
        "plan": CommandPlace("maar.cli.plan", "plan", "Say what Maar would do with a cluster, and why."),
        "simulate": CommandPlace(
            "maar.cli.answers.simulate",
            "simulate",
            "Simulate a trace of jobs, or generated ones, and report how the scheduler does.",
        ),
        "whatif": CommandPlace(
            "maar.cli.answers.whatif",
            "whatif",
            "Say what a change would do, and who would be evicted; nothing is written.",
        ),
        "explain": CommandPlace(
            "maar.cli.answers.explain",
            "explain",
            "Say why a job, a pod group or a pod waits or runs where it does, and what would start it.",
        ),
        "validate": CommandPlace(
            "maar.cli.validate", "validate", "Check what admission would refuse, and why."
        ),
        "backup": CommandPlace(
            "maar.cli.backup",
            "backup",
            "Back up the objects of a cluster of maar up, which may be running, into one file.",
        ),
        "restore": CommandPlace(
            "maar.cli.backup",
            "restore",
            "Put a backup in place of what a data folder has; the files that were there are set aside.",
        ),
        "snapshot": CommandPlace(
            "maar.cli.snapshot",
            "snapshot",
            "Write down everything a scheduler sees of a cluster, for maar plan -f.",
        ),
        "replay": CommandPlace(
            "maar.cli.snapshot",
            "replay",
            "Feed a recording to a fresh scheduler, and compare every plan with the recorded one, "
            "byte for byte.",
        ),
        "demo": CommandPlace(
            "maar.cli.demo.command",
            "demo",
            "Simulate an hour of an example organisation on its own cluster, and show how it is shared.",
        ),
        "scheduler": CommandPlace("maar.cli.daemons", "scheduler", "Schedule the pods of a cluster."),
        "controllers": CommandPlace(
            "maar.cli.daemons", "controllers", "Run the controllers of queues, quotas, pod groups and jobs."
        ),
        "webhooks": CommandPlace(
            "maar.cli.webhooks",
            "webhooks",
            "Serve admission webhooks: queues, pod groups, jobs, commands, and pods of Maar's scheduler.",
        ),
        "console": CommandPlace(
            "maar.cli.console",
            "console",
            "Serve a web page over a cluster: its queues, jobs and nodes, live, and what if.",
        ),
        "manifests": CommandPlace(
            "maar.cli.manifests",
            "manifests",
            "Print everything an administrator applies: maar manifests | kubectl apply -f -.",
        ),
    }


class _VcctlCommands(LazyGroup):
    places: ClassVar[Mapping[str, CommandPlace]] = {
        "job": CommandPlace("maar.cli.vcctl.job", "vcctl_job_app", "Jobs, in Volcano's manner."),
        "pod": CommandPlace("maar.cli.vcctl.job", "vcctl_pod_app", "Pods, in Volcano's manner."),
        "queue": CommandPlace("maar.cli.vcctl.queue", "vcctl_queue_app", "Queues, in Volcano's manner."),
        "jobflow": CommandPlace("maar.cli.vcctl.flow", "vcctl_flow_app", "Job flows, in Volcano's manner."),
        "jobtemplate": CommandPlace(
            "maar.cli.vcctl.flow", "vcctl_template_app", "Job templates, in Volcano's manner."
        ),
    }


maar_app: Final = typer.Typer(
    cls=_MaarCommands,
    help="A queue-based batch scheduler for Kubernetes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
vcctl_app: Final = typer.Typer(
    cls=_VcctlCommands,
    help="Volcano's command line, served by Maar.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001  # typer calls it with the value of the flag
    if is_asked:
        version()
        raise typer.Exit


@maar_app.callback()
@vcctl_app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version of Maar."),
    ] = False,
) -> None:
    """Options that stand before a command."""


@maar_app.command()
@vcctl_app.command()
def version() -> None:
    """Print the version of Maar."""
    from maar import __version__  # noqa: PLC0415  # reading what is installed takes a while

    typer.echo(f"maar {__version__}")


def run_program(name: str) -> None:
    """Run one of the programs, which is named as it is called."""
    given = sys.argv[1:]
    match name:
        case "maar" | "kubectl maar":
            run(maar_app, name)
        case "vcctl":
            run(vcctl_app, name, wrong_usage=FAILED, arguments=of_volcano(given, groups=2))
        case _:
            from maar.cli.vcctl import short  # noqa: PLC0415  # the others do not need it

            app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
            app.command(name)(getattr(short, name))
            run(app, name, wrong_usage=FAILED, arguments=of_volcano(given))
