"""`maar scheduler` and `maar controllers`: Maar beside a cluster of Kubernetes."""

import re
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
import uvloop

from maar.cli.cluster.access import Access
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.core.model.durations import BadDurationError, seconds

if TYPE_CHECKING:  # at run time they are imported where they are used: a server takes long to import
    from maar.apps.daemons.programs import Work

_SHORTEST_INTERVAL_S: Final = 1.0
_KEY: Final = re.compile(r"[^/\s]+/[^/\s]+")

NameOption = Annotated[
    str, typer.Option("--scheduler-name", help="The scheduler name of the pods that are Maar's.")
]
ElectOption = Annotated[
    bool,
    typer.Option(
        "--leader-elect/--no-leader-elect",
        help="Elect a leader among several such processes; only the leader writes.",
    ),
]
LeaseOption = Annotated[
    str,
    typer.Option(help="The lease of the leader, as NAMESPACE/NAME; the namespace must exist."),
]
ListenOption = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT", help="Serve /metrics, /healthz and /readyz here; not served without it."
    ),
]
LogFormatOption = Annotated[Literal["text", "json"], typer.Option(help="Write log lines as text or as JSON.")]

PlannedStartsOption = Annotated[
    str,
    typer.Option(
        metavar="DURATION",
        help="How often the planned starts of waiting pod groups are worked out; 0: never.",
    ),
]
VerboseOption = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        help="Log every decision: the numbers bound, evicted, enqueued and waiting. -vv: each pod.",
    ),
]


@with_groups
def scheduler(  # noqa: PLR0913  # each is a flag
    *,
    access: Access,
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
    listen: ListenOption = "",
    log_format: LogFormatOption = "text",
    verbose: VerboseOption = 0,
    record: Annotated[
        Path | None, typer.Option(help="Record all events and decisions in this file, for maar replay.")
    ] = None,
    snapshot_folder: Annotated[
        Path | None,
        typer.Option(help="The folder for snapshots on SIGUSR1; without it, the temporary folder."),
    ] = None,
    planned_starts_interval: PlannedStartsOption = "60s",
) -> None:
    """Schedule the pods of a cluster."""
    if config is not None and config_map:
        raise CommandError("--config and --config-map: give one of them")
    from maar.apps.daemons.programs import DaemonSettings, schedule  # noqa: PLC0415

    settings = DaemonSettings(
        kubeconfig=access.kubeconfig,
        context=access.context,
        name=name,
        lease=_key("--lease", lease) if leader_elect else "",
        listen=listen,
        config=config,
        config_map=_key("--config-map", config_map) if config_map else "",
        record=record,
        snapshots=snapshot_folder or Path(gettempdir()),
        planned_starts_s=planned_starts_s(planned_starts_interval),
    )
    _run(log_format, schedule(settings, lambda words: typer.echo(f"maar scheduler is {words}")), verbose)


@with_groups
def controllers(
    *,
    access: Access,
    name: NameOption = "volcano",
    leader_elect: ElectOption = True,
    lease: LeaseOption = "maar-system/maar-controllers",
    listen: ListenOption = "",
    log_format: LogFormatOption = "text",
) -> None:
    """Run the controllers of queues, quotas, pod groups and jobs."""
    from maar.apps.daemons.programs import DaemonSettings, control  # noqa: PLC0415

    held = _key("--lease", lease) if leader_elect else ""
    settings = DaemonSettings(
        kubeconfig=access.kubeconfig, context=access.context, name=name, lease=held, listen=listen
    )
    _run(log_format, control(settings, lambda words: typer.echo(f"maar controllers are {words}")))


def _key(flag: str, text: str) -> str:
    if _KEY.fullmatch(text) is None:
        raise CommandError(f"{flag} {text}: write NAMESPACE/NAME")
    return text


def planned_starts_s(text: str) -> float:
    """The seconds between planned starts."""
    flag = "--planned-starts-interval"
    try:
        interval = seconds(text)
    except BadDurationError as error:
        raise CommandError(f"{flag} {text}: {error}") from None
    if 0 < interval < _SHORTEST_INTERVAL_S:
        raise CommandError(
            f"{flag} {text}: that is too often; write at least {_SHORTEST_INTERVAL_S:g}s, or 0"
        )
    return interval


def _run(log_format: Literal["text", "json"], work: "Work", verbosity: int = 0) -> None:
    from maar.apps.daemons.health import BadAddressError  # noqa: PLC0415
    from maar.apps.daemons.leadership import LeaseLostError  # noqa: PLC0415
    from maar.apps.daemons.logs import set_up_logs  # noqa: PLC0415
    from maar.apps.daemons.programs import BadStartError  # noqa: PLC0415
    from maar.kube.sources import CredentialsError  # noqa: PLC0415

    set_up_logs(log_format, verbosity=verbosity)
    try:
        uvloop.run(work)
    except (CredentialsError, BadStartError, BadAddressError, LeaseLostError) as error:
        raise CommandError(*str(error).splitlines()) from None
