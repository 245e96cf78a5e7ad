"""`maar whatif`: what a change would do to queues and jobs, and who would be evicted; nothing is written."""

from dataclasses import replace
from typing import Annotated, Final, Literal

import typer

from maar.cli.admission_options import AdmissionFlags
from maar.cli.answers.change_flags import ChangeFlags
from maar.cli.answers.present import ConfigOption, NowOption, read_present, time_of
from maar.cli.cluster.access import Access
from maar.cli.failure import CommandError
from maar.cli.lines import print_lines, width_of
from maar.cli.option_groups import with_groups
from maar.cli.queue.sharing import FilesOption
from maar.cli.tables import text_of
from maar.cli.terminal import Terminal
from maar.core.answers.future import Present
from maar.core.answers.starts.first import STARTS, first_starts
from maar.core.answers.whatif.ask import what_if
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.answers.whatif.text import what_if_data, what_if_lines
from maar.core.model.node import Node

EVICTS: Final = 3


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
    options = admission.options(present.scheduler_name)
    try:
        changes = flags.changes([one.key for one in present.objects if isinstance(one, Node)])
        first = _first_starts(present) if starts is None else starts
        answer = what_if(present, changes, options, first_starts=first)
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


def _first_starts(present: Present) -> int:
    """Of how many jobs of a queue starts are compared unless that is said; it takes long where many wait."""
    first = first_starts(present.objects)
    if first.note:
        typer.echo(f"note: {first.note}; --starts {STARTS} adds them", err=True)
    return first.number
