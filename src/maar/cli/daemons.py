"""`maar scheduler` and `maar controllers`: Maar beside a cluster of Kubernetes."""

import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from maar.cli.cluster import ContextOption, KubeconfigOption
from maar.cli.configuration import read_configuration
from maar.cli.failure import CommandError

NameOption = Annotated[
    str, typer.Option("--scheduler-name", help="The scheduler name of the pods that are Maar's.")
]


def scheduler(
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    config: Annotated[
        Path | None, typer.Option(help="A scheduler configuration, in Volcano's grammar.")
    ] = None,
    name: NameOption = "volcano",
) -> None:
    """Schedule the pods of a cluster."""
    configuration = read_configuration(config)
    from maar.apps.daemons import schedule  # noqa: PLC0415  a server takes long to import

    _run(schedule(kubeconfig, context, configuration, name, lambda: typer.echo("maar scheduler is at work")))


def controllers(
    kubeconfig: KubeconfigOption = None, context: ContextOption = None, name: NameOption = "volcano"
) -> None:
    """Look after the queues, quotas and pod groups of a cluster."""
    from maar.apps.daemons import control  # noqa: PLC0415  a server takes long to import

    _run(control(kubeconfig, context, name, lambda: typer.echo("maar controllers are at work")))


def _run(work: Coroutine[None, None, None]) -> None:
    from maar.kube.sources import CredentialsError  # noqa: PLC0415  as above

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        uvloop.run(work)
    except CredentialsError as error:
        raise CommandError(str(error)) from None
