"""Objects as rows of a table in kubectl's manner: once, or again whenever they change."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Generic, Literal, cast

import typer

from maar.core.model.events import Deleted, Event
from maar.core.model.kinds import ObjectT, from_document
from maar.core.model.metadata import Object

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

Output = Literal["json", "yaml", "wide", "name"]
Document = dict[str, object]

OutputOption = Annotated[Output | None, typer.Option("--output", "-o", help="How to print it.")]
DataOption = Annotated[
    Literal["json", "yaml"] | None, typer.Option("--output", "-o", help="Print data instead of text.")
]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Watch for changes, until Ctrl-C.")]
LabelsOption = Annotated[
    str, typer.Option("--selector", "-l", help="Only those with these labels, such as team=a.")
]

NONE: Final = "<none>"
_GAP: Final = "   "


@dataclass(frozen=True)
class ShownKind(Generic[ObjectT]):
    """A kind as commands have it: what people call it, and its columns."""

    kind: type[ObjectT]
    word: str  # cron job
    headings: tuple[str, ...]
    wide: tuple[str, ...]  # the columns that -o wide adds
    cells: Callable[[ObjectT, float, bool], list[str]]  # of an object, now, wide or not
    state: str  # the column that says that an object was deleted
    longest_state: str = ""  # states come and go: the column has room for this one


@dataclass(frozen=True)
class Scope:
    """Which objects are shown: of a namespace or of all, with labels, with some of the names."""

    namespace: str = ""  # empty: of all namespaces
    labels: str = ""
    keys: tuple[str, ...] = ()  # none: all
    are_labels_given: bool = True  # by the user, rather than by the command


class Rows(Generic[ObjectT]):
    """Objects below one another, as a table or by name; later rows keep the widths of the first."""

    def __init__(
        self,
        shown: ShownKind[ObjectT],
        objects: Sequence[ObjectT],
        output: Output | None,
        *,
        with_namespace: bool = False,
    ) -> None:
        self._shown, self._wide, self._is_table = shown, output == "wide", output != "name"
        self._with_namespace = with_namespace
        headings = ["NAMESPACE"] * with_namespace + [*shown.headings, *(shown.wide if self._wide else ())]
        self._state = headings.index(shown.state)
        room = [""] * len(headings)
        room[self._state] = shown.longest_state
        now = time.time()
        rows = [headings, *(self._cells(each, now) for each in objects)]
        self._widths = [max(map(len, column)) for column in zip(*rows, room, strict=True)]
        if self._is_table:
            typer.echo("\n".join(map(self._line, rows)))
        else:
            for each in objects:
                self.show(each)

    def differ(self, before: ObjectT, after: ObjectT) -> bool:
        """Whether a change can be seen here."""
        return self._cells(before, 0) != self._cells(after, 0)

    def show(self, shown: ObjectT, state: str = "") -> None:
        """Print one more row."""
        row = self._cells(shown, time.time())
        if state:
            row[self._state] = state
        typer.echo(self._line(row) if self._is_table else title(self._shown.kind, shown.metadata.name))

    def _cells(self, shown: ObjectT, now: float) -> list[str]:
        cells = self._shown.cells(shown, now, self._wide)
        return [shown.metadata.namespace, *cells] if self._with_namespace else cells

    def _line(self, row: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(row, self._widths, strict=True))
        return _GAP.join(padded).rstrip()


async def show_all(
    cluster: "ClusterClient",
    shown: ShownKind[ObjectT],
    scope: Scope,
    output: Output | None,
    keep: Callable[[ObjectT], bool] = lambda _: True,
    *,
    watch: bool = False,
) -> None:
    """Show the objects of a kind, or some of them; and then again whenever they change."""
    if output in ("json", "yaml"):
        documents = await cluster.all(shown.kind, scope.labels, scope.namespace)
        documents = [document for document in documents if keep(from_document(shown.kind, document))]
        typer.echo(data_text(documents, output, as_list=True))
        return
    objects = await cluster.objects(shown.kind, scope.namespace, scope.labels)
    objects = [each for each in objects if keep(each)]
    if watch:
        await follow(cluster, shown, scope, output, objects, keep)
    elif objects:
        Rows(shown, objects, output, with_namespace=_with_namespace(shown, scope))
    else:
        where = f" in namespace {scope.namespace}" if scope.namespace else ""
        labels = " with these labels" if scope.labels and scope.are_labels_given else ""
        typer.echo(f"No {shown.kind.plural} found{where}{labels}", err=True)


async def follow(  # what to show, of which, how
    cluster: "ClusterClient",
    shown: ShownKind[ObjectT],
    scope: Scope,
    output: Output | None,
    objects: Sequence[ObjectT],
    keep: Callable[[ObjectT], bool] = lambda _: True,
) -> None:
    """Print objects, then each again whenever it changes."""
    rows = Rows(shown, objects, output, with_namespace=_with_namespace(shown, scope))
    printed = {each.key: each for each in objects}

    def on_events(events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Deleted):
                if (gone := printed.pop(event.key, None)) is not None:
                    rows.show(gone, state="Deleted")
                continue
            after = cast(ObjectT, event.object)
            if (not scope.keys or after.key in scope.keys) and keep(after):
                before, printed[after.key] = printed.get(after.key), after
                if before is None or rows.differ(before, after):
                    rows.show(after)

    await cluster.watch(shown.kind, on_events, scope.labels, scope.namespace)


def title(kind: type[Object], name: str) -> str:
    """An object as kubectl writes it: queue.scheduling.volcano.sh/a, pod/b."""
    group, slash, _ = kind.api_version.partition("/")
    return f"{kind.kind_name().lower()}{'.' + group if slash else ''}/{name}"


def data_text(documents: Sequence[Document], output: str, *, as_list: bool) -> str:
    """Objects as JSON or YAML, one alone or as a list."""
    items = [without_bookkeeping(document) for document in documents]
    return text_of({"apiVersion": "v1", "kind": "List", "items": items} if as_list else items[0], output)


def text_of(data: object, output: str) -> str:
    """Plain data as JSON or YAML."""
    if output == "json":
        return json.dumps(data, indent=2, ensure_ascii=False)
    import yaml  # noqa: PLC0415  # most commands print none

    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip("\n")


def check_watch(output: Output | None, kind: type[Object], *, watch: bool) -> None:
    """Refuse to watch what cannot be printed row by row."""
    if watch and output in ("json", "yaml"):
        instead = f"use -o wide or -o name, or kubectl get {kind.plural} -w -o {output}"
        raise typer.BadParameter(f"-w prints a row for every change; {instead}")


def _with_namespace(shown: ShownKind[ObjectT], scope: Scope) -> bool:
    return shown.kind.namespaced and not scope.namespace


def without_bookkeeping(document: Document) -> Document:
    """Leave out who manages which field, as kubectl does."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    return {
        **document,
        "metadata": {name: value for name, value in metadata.items() if name != "managedFields"},
    }
