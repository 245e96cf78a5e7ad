"""`maar up`: a whole cluster on this machine."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from maar.cli.admission_options import AdmissionFlags
from maar.cli.daemons import PlannedStartsOption, VerboseOption, planned_starts_s
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups

if TYPE_CHECKING:
    from maar.apps.up import RunningCluster


@with_groups
def up(  # noqa: PLR0913  # each is a flag
    *,
    data: Annotated[
        Path | None,
        typer.Option(help="Where the cluster's data is kept; without it, in the user's data folder."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 7443,
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than loopback let other machines in.")
    ] = "127.0.0.1",
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            help="Nodes such as 4x8cpu,32Gi or 2x64cpu,512Gi,8nvidia.com/gpu,zone=a, a file of Node"
            " manifests, or none; may be repeated.  [default: those the data folder has, or 4x8cpu,32Gi]"
        ),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Make this machine a node that runs pods as processes.")
    ] = False,
    local_gpus: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1024,
            help="How many GPUs this machine has, with --local.  [default: those that are found]",
        ),
    ] = None,
    keep_running: Annotated[
        bool,
        typer.Option(
            "--keep-running",
            help="With --local, leave processes running when stopped; the next start finds them.",
        ),
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="A scheduler configuration, in Volcano's grammar.")
    ] = None,
    planned_starts_interval: PlannedStartsOption = "60s",
    admission: AdmissionFlags,
    console: Annotated[
        bool, typer.Option("--console/--no-console", help="Serve the console, a web page over the cluster.")
    ] = True,
    console_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Where the console listens, on loopback only.  [default: 7480, or a free port]",
        ),
    ] = None,
    console_key_file: Annotated[
        Path | None,
        typer.Option(help="Keep the console's key in this file, so that its address stays the same."),
    ] = None,
    verbose: VerboseOption = 0,
) -> None:
    """Run a whole cluster in this process: an API server for kubectl, nodes and the scheduler."""
    # Imported here: a server takes longer to import than most commands take to run.
    from maar.api.arguments import configuration_of  # noqa: PLC0415
    from maar.apps import up as app  # noqa: PLC0415
    from maar.apps.console.settings import HISTORY, ConsoleSettings  # noqa: PLC0415
    from maar.apps.daemons.logs import set_up_logs  # noqa: PLC0415

    if not local and (local_gpus is not None or keep_running):
        option = "--local-gpus" if local_gpus is not None else "--keep-running"
        raise typer.BadParameter(f"{option} is about this machine as a node; add --local")
    settings = app.UpSettings(
        folder=(data or data_folder()).absolute(),
        host=host,
        port=port,
        nodes=tuple(nodes) if nodes else None,
        is_local=local,
        local_gpus=local_gpus,
        keeps_running=keep_running,
        configuration=configuration_of(config),
        configuration_text=config.read_text(encoding="utf-8") if config is not None else "",
        planned_starts_s=planned_starts_s(planned_starts_interval),
        admission=admission.options(),
        console=ConsoleSettings(
            port=console_port,
            key_file=console_key_file,
            is_warm=False,
            history=(data or data_folder()).absolute() / HISTORY,
        )
        if console
        else None,
    )
    if verbose:
        set_up_logs("text", verbosity=verbose)
    try:
        uvloop.run(app.up(settings, _print_started, _confirmed))
    except Exception as error:
        if sentence := app.sentence(error, settings.folder):
            raise CommandError(sentence) from None
        raise


def data_folder() -> Path:
    """Where a user's data is kept."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "maar"


def _confirmed(question: str) -> bool:
    """Whether a person at a terminal agrees; without a terminal nobody does."""
    return sys.stdin.isatty() and sys.stdout.isatty() and typer.confirm(question, default=True)


def _print_started(standing: "RunningCluster") -> None:
    """Say what is up and what to type next."""
    url, kubeconfig, nodes, notes, console = standing
    for note in notes:
        typer.echo(note)
    typer.echo(f"maar is up at {url} with {nodes} node{'' if nodes == 1 else 's'}; in another terminal:")
    typer.echo(f"  export KUBECONFIG={shlex.quote(str(kubeconfig))}")
    typer.echo("  kubectl get nodes,queues")
    typer.echo("  maar queue tree")
    if console:
        typer.echo(f"In a browser: {console}")
    typer.echo("Ctrl-C stops it; the next start goes on where it was.")
