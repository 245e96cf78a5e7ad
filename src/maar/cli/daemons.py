"""`maar scheduler` and `maar controllers`: Maar beside a cluster of Kubernetes."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
import uvloop

from maar.cli.cluster import ContextOption, KubeconfigOption
from maar.cli.failure import CommandError

if TYPE_CHECKING:  # at run time they are imported where they are used: a server takes long to import
    from maar.apps.daemons import Work

_KEY: Final = re.compile(r"[^/\s]+/[^/\s]+")

NameOption = Annotated[
    str, typer.Option("--scheduler-name", help="The scheduler name of the pods that are Maar's.")
]
ElectOption = Annotated[
    bool,
    typer.Option(
        "--leader-elect/--no-leader-elect",
        help="Let one of several such processes work, and the others stand by.",
    ),
]
LeaseOption = Annotated[
    str,
    typer.Option(help="The lease that whoever works holds, as NAMESPACE/NAME; the namespace must be there."),
]


def scheduler(
    *,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="A scheduler configuration, in Volcano's grammar; it is read again when it changes."
        ),
    ] = None,
    config_map: Annotated[
        str, typer.Option(help="A ConfigMap with the configuration, as NAMESPACE/NAME, instead of a file.")
    ] = "",
    name: NameOption = "volcano",
    leader_elect: ElectOption = True,
    lease: LeaseOption = "maar-system/maar-scheduler",
) -> None:
    """Schedule the pods of a cluster."""
    if config is not None and config_map:
        raise CommandError("--config and --config-map: give one of them")
    from maar.apps.daemons import Settings, schedule  # noqa: PLC0415

    settings = Settings(
        kubeconfig=kubeconfig,
        context=context,
        name=name,
        lease=_key("--lease", lease) if leader_elect else "",
        config=config,
        config_map=_key("--config-map", config_map) if config_map else "",
    )
    _run(schedule(settings, lambda words: typer.echo(f"maar scheduler is {words}")))


def controllers(
    *,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    name: NameOption = "volcano",
    leader_elect: ElectOption = True,
    lease: LeaseOption = "maar-system/maar-controllers",
) -> None:
    """Look after the queues, quotas and pod groups of a cluster."""
    from maar.apps.daemons import Settings, control  # noqa: PLC0415

    held = _key("--lease", lease) if leader_elect else ""
    settings = Settings(kubeconfig=kubeconfig, context=context, name=name, lease=held)
    _run(control(settings, lambda words: typer.echo(f"maar controllers are {words}")))


def _key(flag: str, text: str) -> str:
    if _KEY.fullmatch(text) is None:
        raise CommandError(f"{flag} {text}: write NAMESPACE/NAME")
    return text


def _run(work: "Work") -> None:
    import logging  # noqa: PLC0415

    from maar.apps.daemons import BadStartError  # noqa: PLC0415
    from maar.apps.leadership import LeaseLostError  # noqa: PLC0415
    from maar.kube.sources import CredentialsError  # noqa: PLC0415

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        uvloop.run(work)
    except (CredentialsError, BadStartError, LeaseLostError) as error:
        raise CommandError(*str(error).splitlines()) from None
