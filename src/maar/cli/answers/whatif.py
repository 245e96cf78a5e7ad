"""`maar whatif`: what a change would do to queues and jobs, and who would be evicted; nothing is written."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from maar.api.whatif import whatif as ask
from maar.cli.admission_options import AdmissionFlags
from maar.cli.answers.present import ConfigOption, NowOption, read_present, time_of
from maar.cli.cluster.access import Access
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.queue.sharing import FilesOption
from maar.cli.tables import text_of
from maar.cli.terminal import Terminal, print_lines, width_of
from maar.core.answers.future import Present
from maar.core.answers.starts.first import STARTS, first_starts
from maar.core.answers.whatif.changes import field_change
from maar.core.answers.whatif.known_objects import BadChangeError, read_target
from maar.core.answers.whatif.text import what_if_data, what_if_lines
from maar.core.model.node_sizes import BadNodesError, read_size

EVICTS: Final = 3


@dataclass(frozen=True)
class ChangeFlags:
    """The changes, by kind."""

    set_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KIND/NAME.FIELD=VALUE",
            help="Set a field, such as queue/research.weight=3; no value takes it out.",
        ),
    ] = None
    add_nodes: Annotated[
        list[str] | None,
        typer.Option(
            "--add-nodes", metavar="NODES", help="Add nodes, such as 4x8cpu,32Gi, or those of a file."
        ),
    ] = None
    drain: Annotated[
        list[str] | None, typer.Option("--drain", metavar="NODE", help="Cordon a node and evict its pods.")
    ] = None
    delete: Annotated[
        list[str] | None,
        typer.Option(
            "--delete",
            metavar="KIND/NAME",
            help="Delete job/NAMESPACE/NAME, a podgroup with its pods, a pod, a queue or a node.",
        ),
    ] = None
    submit: Annotated[
        list[Path] | None,
        typer.Option("--submit", help="Apply a file or folder of manifests: jobs, pod groups, pods, queues."),
    ] = None

    def check(self) -> None:
        """Refuse flags that are wrong whatever there is in the cluster."""
        if not any((self.set_fields, self.add_nodes, self.drain, self.delete, self.submit)):
            raise typer.BadParameter(
                "there is no change: give --set, --add-nodes, --drain, --delete or --submit"
            )
        _check("--set", self.set_fields, field_change)
        _check("--delete", self.delete, read_target)
        _check("--add-nodes", self.add_nodes, lambda text: read_size(text.strip()))


@with_groups
def whatif(  # noqa: PLR0913  # each is a flag
    *,
    flags: ChangeFlags,
    files: FilesOption = None,
    config: ConfigOption = None,
    now: NowOption = "",
    starts: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default="10; 0 where thousands wait",
            help="Compare the planned starts of so many waiting jobs of each queue.",
        ),
    ] = None,
    output: Annotated[
        Literal["table", "json", "yaml"], typer.Option("--output", "-o", help="How to print the answer.")
    ] = "table",
    admission: AdmissionFlags,
    access: Access,
) -> None:
    """Say what a change would do, and who would be evicted; nothing is written.

    Reads a cluster, or with -f manifests or a snapshot. Nodes are added first, then fields are set, nodes
    drained, objects deleted, and then submitted. Leaves with 3 when somebody would be evicted.
    """
    flags.check()
    moment = time_of(now, files)
    present = read_present(files, config, access)
    if moment is not None:
        present = replace(present, now=moment)
    first = _first_starts(present) if starts is None else starts
    try:
        answer = ask(
            present,
            set=flags.set_fields or (),
            add_nodes=flags.add_nodes or (),
            drain=flags.drain or (),
            delete=flags.delete or (),
            submit=flags.submit or (),
            starts=first,
            **asdict(admission),
        )
    except BadChangeError as error:
        raise CommandError(*error.sentences) from None
    for warning in answer.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if output == "table":
        console = Terminal()
        print_lines(console, what_if_lines(answer, width_of(console)))
    else:
        typer.echo(text_of(what_if_data(answer), output))
    if answer.evicts:
        raise typer.Exit(EVICTS)


def _check(flag: str, texts: list[str] | None, read: Callable[[str], object]) -> None:
    for text in texts or ():
        try:
            read(text)
        except (BadChangeError, BadNodesError) as error:
            raise typer.BadParameter(f"{flag} {error}") from None


def _first_starts(present: Present) -> int:
    """Of how many jobs of a queue starts are compared unless that is said; it takes long where many wait."""
    first = first_starts(present.objects)
    if first.note:
        typer.echo(f"note: {first.note}; --starts {STARTS} adds them", err=True)
    return first.number
