"""The three commands that Maar installs: maar, vcctl and kubectl-maar."""

from typing import Annotated, Final

import typer

from maar import __version__
from maar.cli.backup import backup, restore
from maar.cli.daemons import controllers, scheduler
from maar.cli.demo.command import demo
from maar.cli.failure import run
from maar.cli.manifests import manifests
from maar.cli.plan import plan
from maar.cli.queue.commands import queue_app
from maar.cli.queue.vcctl import vcctl_queue_app
from maar.cli.replay import replay
from maar.cli.run.command import CONTEXT
from maar.cli.run.command import run as run_command
from maar.cli.snapshot import snapshot
from maar.cli.up import up
from maar.cli.validate import validate
from maar.cli.webhooks import webhooks

maar_app: Final = typer.Typer(
    help="A queue-based batch scheduler for Kubernetes.", no_args_is_help=True, pretty_exceptions_enable=False
)
vcctl_app: Final = typer.Typer(
    help="Volcano's command line, served by Maar.", no_args_is_help=True, pretty_exceptions_enable=False
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
    typer.echo(f"maar {__version__}")


for command in (
    up,
    backup,
    restore,
    demo,
    plan,
    validate,
    snapshot,
    replay,
    scheduler,
    controllers,
    webhooks,
    manifests,
):
    maar_app.command()(command)
maar_app.command("run", context_settings=CONTEXT)(run_command)
maar_app.add_typer(queue_app, name="queue")
vcctl_app.add_typer(vcctl_queue_app, name="queue")


def maar() -> None:
    """Run `maar`."""
    run(maar_app, "maar")


def kubectl_maar() -> None:
    """Run `kubectl maar`, the same commands as a kubectl plugin."""
    run(maar_app, "kubectl maar")


def vcctl() -> None:
    """Run `vcctl`."""
    run(vcctl_app, "vcctl")
