"""Commands that kinds have in common, made from how a kind is shown: create, list, view and delete.

Completion, -o and --watch come with them. What a kind has beyond that is beside its declaration.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from maar.cli.cluster.access import Access, on_cluster, until
from maar.cli.completion import NamespaceFlags, NamespacesFlags, names_of
from maar.cli.failure import for_each
from maar.cli.option_groups import with_groups
from maar.cli.submission import DryRunOption, FilesOption, read_submissions, submit_all
from maar.cli.tables import (
    DataOption,
    LabelsOption,
    Output,
    OutputOption,
    Scope,
    ShownKind,
    WatchOption,
    check_watch,
    data_text,
    show_all,
    title,
)
from maar.core.model.metadata import Object

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient
    from maar.kube.write import Propagation

Cascade = Literal["background", "foreground", "orphan"]

_PROPAGATIONS: Final[dict[Cascade, "Propagation"]] = {
    "background": "Background",
    "foreground": "Foreground",
    "orphan": "Orphan",
}


class ListFlags:
    """The flags of a list: which objects are shown, and how; each kind has a dataclass of options."""

    labels: str
    output: Output | None
    watch: bool

    @property
    def selector(self) -> str:
        """The labels that are asked for."""
        return self.labels

    def keep(self, shown: Any) -> bool:  # noqa: ANN401, ARG002  # an object of the kind
        """Whether an object with these labels is shown."""
        return True

    async def check(self, cluster: "ClusterClient", namespace: str) -> None:
        """Refuse a filter by something that does not exist."""

    def show(self, shown: ShownKind[Any], place: NamespacesFlags, access: Access) -> None:
        """Print the objects."""

        async def work(cluster: "ClusterClient") -> None:
            namespace = place.of(cluster)
            await self.check(cluster, namespace)
            scope = Scope(namespace, self.selector, are_labels_given=bool(self.labels))
            await show_all(cluster, shown, scope, self.output, self.keep, watch=self.watch)

        on_cluster(access, work)


@dataclass(frozen=True)
class PlainListFlags(ListFlags):
    """A list that is filtered by labels alone."""

    labels: LabelsOption = ""
    output: OutputOption = None
    watch: WatchOption = False


@dataclass(frozen=True)
class NoNamespace(NamespacesFlags):
    """Of kinds whose objects are in no namespace: there is nothing to choose."""

    namespace: str = ""
    all_namespaces: bool = True


def add_create(app: typer.Typer, kinds: Sequence[type[Object]], command: str, sentence: str) -> None:
    """Add `create`: objects from files."""

    @app.command(help=sentence)
    @with_groups
    def create(
        *,
        files: FilesOption = None,
        dry_run: DryRunOption = "none",
        output: OutputOption = None,
        place: NamespaceFlags,
        access: Access,
    ) -> None:
        if not files:
            raise typer.BadParameter("say what to make: -f FILE")
        submissions, is_dry = read_submissions(files, kinds, command), dry_run == "server"
        on_cluster(
            access, lambda cluster: submit_all(cluster, submissions, place.namespace, output, dry_run=is_dry)
        )


def add_list(
    app: typer.Typer,
    shown: ShownKind[Any],
    sentence: str,
    flags: type[ListFlags] = PlainListFlags,
    name: str = "list",
) -> None:
    """Add `list`: the objects of a kind as rows, once or as they change."""

    def list_all(*, flags: ListFlags, place: NamespacesFlags, access: Access) -> None:
        check_watch(flags.output, shown.kind, watch=flags.watch)
        flags.show(shown, place, access)

    place = NamespacesFlags if shown.kind.namespaced else NoNamespace
    app.command(name, help=sentence)(with_groups(list_all, flags=flags, place=place))


def add_view(app: typer.Typer, shown: ShownKind[Any], sentence: str) -> None:
    """Add `view`: one object, with what belongs to it."""
    name_argument = Annotated[
        str, typer.Argument(help=f"The {shown.word}.", autocompletion=names_of(shown.kind))
    ]

    @app.command(help=sentence)
    @with_groups
    def view(
        name: name_argument, *, output: DataOption = None, place: NamespaceFlags, access: Access
    ) -> None:
        async def work(cluster: "ClusterClient") -> None:
            document = await cluster.get(shown.kind, f"{place.of(cluster)}/{name}")
            if output is not None:
                typer.echo(data_text([document], output, as_list=False))
                return
            from maar.cli.terminal import print_on_terminal  # noqa: PLC0415  # drawing takes a while to import
            from maar.cli.views import VIEWS  # noqa: PLC0415

            lines = await VIEWS[shown.kind](cluster, document)
            print_on_terminal(lambda width: lines(time.time(), width))

        on_cluster(access, work)


def add_delete(app: typer.Typer, shown: ShownKind[Any], sentence: str) -> None:
    """Add `delete`: objects by name or by labels."""
    names_argument = Annotated[
        list[str] | None, typer.Argument(help=f"The {shown.word}s.", autocompletion=names_of(shown.kind))
    ]

    @app.command(help=sentence)
    @with_groups
    def delete(
        names: names_argument = None,
        *,
        labels: LabelsOption = "",
        cascade: Annotated[
            Cascade,
            typer.Option(help="What happens to what belongs to it, such as pods: orphan leaves it there."),
        ] = "background",
        wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is gone.")] = True,
        dry_run: DryRunOption = "none",
        place: NamespaceFlags,
        access: Access,
    ) -> None:
        async def work(cluster: "ClusterClient", key: str) -> None:
            await delete_object(cluster, shown.kind, key, cascade, wait=wait, dry_run=dry_run == "server")

        do_to_each((shown.kind,), names, labels, place, access, work)


def do_to_each(
    kinds: Sequence[type[Object]],
    names: Sequence[str] | None,
    labels: str,
    place: NamespaceFlags,
    access: Access,
    work: "Callable[[ClusterClient, str], Awaitable[None]]",
) -> None:
    """Do something to objects, chosen by name or by labels; a failure of one stops no other."""
    if bool(names) == bool(labels):
        raise typer.BadParameter("say which: give names, or labels with -l, but not both")

    async def session(cluster: "ClusterClient") -> None:
        namespace, chosen = place.of(cluster), list(names or ())
        for kind in kinds if labels else ():
            chosen += [each.metadata.name for each in await cluster.objects(kind, namespace, labels)]
        keys = [f"{namespace}/{name}" if namespace else name for name in dict.fromkeys(chosen)]
        await for_each(keys, lambda key: work(cluster, key))

    on_cluster(access, session)


async def delete_object(
    cluster: "ClusterClient",
    kind: type[Object],
    key: str,
    cascade: Cascade = "background",
    *,
    wait: bool = False,
    dry_run: bool = False,
) -> None:
    """Delete an object, and wait until it is gone."""

    async def is_gone() -> bool:
        return not await cluster.exists(kind, key)

    await cluster.delete(kind, key, propagation=_PROPAGATIONS[cascade], dry_run=dry_run)
    typer.echo(f"{title(kind, key.rpartition('/')[2])} deleted{' (server dry run)' if dry_run else ''}")
    if wait and not dry_run:
        await until(is_gone)
