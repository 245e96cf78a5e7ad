"""The cluster that a question about the future is asked of: one in files, a snapshot, or a running one."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maar.api.arguments import configuration_of
from maar.api.arguments import time_of as moment_of
from maar.api.manifests import check, read_manifests
from maar.api.present import present_of
from maar.cli.cluster.access import Access, on_cluster
from maar.core.answers.future import Present
from maar.core.answers.tree.past_use import usage_in_force, with_usage
from maar.core.model.durations import BadDurationError, seconds
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.model.queue import Queue
from maar.core.policy.configuration import Configuration
from maar.core.simulation.collection import without_collection

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

ConfigOption = Annotated[
    Path | None, typer.Option(help="The scheduler's configuration, in Volcano's grammar.")
]
NowOption = Annotated[str, typer.Option(help="The time to decide at, with -f; such as 2026-01-31T12:00:00Z.")]


def seconds_of(flag: str, text: str) -> float:
    """The duration that a flag gives, in seconds."""
    try:
        return seconds(text)
    except BadDurationError as error:
        raise typer.BadParameter(f"{flag}: {error}") from None


def time_of(now: str, files: list[Path] | None) -> float | None:
    """The moment that --now names; None where it is not given."""
    if now and not files:
        raise typer.BadParameter("--now is for clusters in files; a running one is as it is now")
    return moment_of(now, "now").timestamp() if now else None


@without_collection()
def read_present(files: list[Path] | None, config: Path | None, access: Access) -> Present:
    """Read a cluster; what is odd about it goes to standard error."""
    if files:
        manifests = read_manifests(files)
        check(manifests)
        given = configuration_of(config) if config is not None else None
        present = present_of(manifests, given)
        _print_notes([*present.configuration.warnings, *manifests.warnings])
        return present
    given = configuration_of(config) if config is not None else None
    objects, stored = on_cluster(access, partial(_read, reads_configuration=given is None))
    configuration = given or stored
    if configuration is None:
        queues = [each for each in objects if isinstance(each, Queue)]
        configuration = with_usage(configuration_of(None), usage_in_force(queues))
    _print_notes(list(configuration.warnings))
    return Present(tuple(objects), configuration, time.time())


async def _read(
    cluster: "ClusterClient", *, reads_configuration: bool
) -> tuple[list[Object], Configuration | None]:
    """All that the scheduler decides with, and the jobs, whose pods may not be made yet."""
    stored = await _configuration(cluster) if reads_configuration else None
    return [*await cluster.everything(), *await cluster.objects(Job)], stored


async def _configuration(cluster: "ClusterClient") -> Configuration | None:
    """The configuration of the installed scheduler; None where it cannot be known, which is said."""
    from maar.apps.daemons.configuration_source import read_installed  # noqa: PLC0415  # it brings a client

    installed, why = await read_installed(cluster.server)
    if installed is not None:
        return installed
    typer.echo(
        f"note: {why}: the scheduler's configuration is taken for the default one; --config names another",
        err=True,
    )
    return None


def _print_notes(sentences: list[str]) -> None:
    for sentence in sentences:
        typer.echo(f"warning: {sentence}", err=True)
