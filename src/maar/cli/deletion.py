"""Deleting objects of a namespace by name or by labels, and waiting until they are gone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from maar.cli.cluster.waiting import until
from maar.cli.failure import for_each
from maar.cli.tables import title
from maar.core.model.metadata import Object

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient
    from maar.kube.write import Propagation

Cascade = Literal["background", "foreground", "orphan"]

CascadeOption = Annotated[
    Cascade, typer.Option(help="What happens to what belongs to it, such as pods: orphan leaves it there.")
]
WaitOption = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is gone.")]

_PROPAGATIONS: Final[dict[Cascade, "Propagation"]] = {
    "background": "Background",
    "foreground": "Foreground",
    "orphan": "Orphan",
}


def check_chosen(names: Sequence[str] | None, labels: str) -> None:
    """Refuse a command line that does not say which objects are meant."""
    if bool(names) == bool(labels):
        raise typer.BadParameter("say which: give names, or labels with -l, but not both")


async def chosen_names(
    cluster: "ClusterClient", kind: type[Object], names: Sequence[str] | None, labels: str, namespace: str
) -> list[str]:
    """The names that were given, or those of all objects with the labels."""
    if names:
        return list(dict.fromkeys(names))
    return [one.metadata.name for one in await cluster.objects(kind, namespace, labels)]


async def delete_all(
    cluster: "ClusterClient",
    kind: type[Object],
    keys: Sequence[str],
    cascade: Cascade,
    *,
    wait: bool,
    dry_run: bool,
) -> None:
    """Delete objects; one that cannot be deleted keeps no other from it."""

    async def work(key: str) -> None:
        await cluster.delete(kind, key, propagation=_PROPAGATIONS[cascade], dry_run=dry_run)
        done = " (server dry run)" if dry_run else ""
        typer.echo(f"{title(kind, key.rpartition('/')[2])} deleted{done}")
        if wait and not dry_run:
            await until(lambda: _is_gone(cluster, kind, key))

    await for_each(keys, work)


async def _is_gone(cluster: "ClusterClient", kind: type[Object], key: str) -> bool:
    return not await cluster.exists(kind, key)
