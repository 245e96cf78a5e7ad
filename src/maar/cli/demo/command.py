"""`maar demo`: an hour of an example organisation, simulated on its own cluster."""

import asyncio
import shlex
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from maar.api.documents import read_documents
from maar.cli.demo.process import ClusterProcess
from maar.cli.entry import INTERRUPTED, raise_when_interrupted
from maar.cli.failure import FAILED, CommandError
from maar.cli.terminal import Terminal

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.apps.demo.frame import Frame, Summary

NODES: Final = "12x8cpu,32Gi"
_FASTEST: Final = 120  # then an hour is no longer than starting and evicting pods takes
_LOOK_EVERY_S: Final = 0.5


def demo(
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep the cluster when the hour is over, until Ctrl-C.")
    ] = False,
    speed: Annotated[
        float, typer.Option(min=1, max=_FASTEST, help="How many times faster than real time to run.")
    ] = 60,
    seed: Annotated[int, typer.Option(help="The seed of the workload; equal seeds submit equal work.")] = 1,
    organisation: Annotated[
        Path, typer.Option(help="The manifests of the organisation: namespaces and queues.")
    ] = Path("examples/organisation"),
) -> None:
    """Simulate an hour of an example organisation on its own cluster, and show how it is shared."""
    documents = _read(organisation)
    raise_when_interrupted()  # the cluster is stopped first
    for number in (signal.SIGTERM, signal.SIGHUP):  # they end it as Ctrl-C does
        signal.signal(number, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    console = Terminal()
    try:
        with ClusterProcess(NODES) as cluster:
            console.print(f"maar up --nodes {NODES}  (in {cluster.folder}, seed {seed})", soft_wrap=True)
            cluster.wait_until_up()
            summary = _play(cluster, documents, seed, speed, console)
            if stay:
                _stay(cluster, console)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    if not summary.is_complete:
        raise typer.Exit(FAILED)


def _read(organisation: Path) -> list[dict[str, object]]:
    if not organisation.exists():
        raise CommandError(
            f"{organisation}: there is no such folder; run the demo in a checkout of Maar, or name the "
            "folder with --organisation"
        )
    read = read_documents([organisation])
    bad = [
        f"{place}: not an object of Kubernetes"
        for place, document in read.placed
        if not isinstance(document, dict)
    ]
    if read.errors or bad:
        raise CommandError(*read.errors, *bad)
    return [document for _, document in read.placed if isinstance(document, dict)]


def _play(
    cluster: ClusterProcess,
    organisation: list[dict[str, object]],
    seed: int,
    speed: float,
    console: Console,
) -> "Summary":
    from maar.apps.demo.hour import hour  # noqa: PLC0415
    from maar.apps.demo.run import run_demo  # noqa: PLC0415  # see above
    from maar.apps.demo.submitter import DemoError  # noqa: PLC0415
    from maar.cli.demo.screen import print_summary, showing  # noqa: PLC0415

    with showing(console) as show:

        def look(frame: "Frame") -> None:
            if cluster.has_ended:
                raise cluster.ended()
            show(frame)

        try:
            summary = asyncio.run(run_demo(cluster.kubeconfig, organisation, hour(seed), speed, look))
        except* (CommandError, DemoError) as group:
            raise CommandError(str(_first(group))) from None
    print_summary(summary, console)
    return summary


def _first(error: BaseException) -> BaseException:
    """What went wrong first, out of groups in groups."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _stay(cluster: ClusterProcess, console: Console) -> None:
    """Say what to type next, and wait for Ctrl-C."""
    for line in (
        "",
        "The cluster stays until Ctrl-C. In another terminal:",
        f"  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}",
        "  kubectl get queues",
        "  kubectl get podgroups -A",
        "  kubectl describe podgroup course -n notebooks   # the gang that is too large",
        "  maar queue tree",
        "  maar queue explain language",
        "  maar queue open legacy",
    ):
        console.print(line, soft_wrap=True)
    try:
        while not cluster.has_ended:
            time.sleep(_LOOK_EVERY_S)
    except KeyboardInterrupt:
        return  # what it was waiting for
    raise cluster.ended()
