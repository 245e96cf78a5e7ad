"""The flags of the queue commands, each declared once."""

from dataclasses import dataclass, fields
from typing import Annotated, Final, Literal

import typer

from maar.cli.completion import names_of
from maar.cli.kind_commands import ListFlags
from maar.cli.queue.amounts import WrittenAmounts, amounts, changed_amounts, changed_parts, guarantee, parts
from maar.cli.queue.changes import Json, State
from maar.cli.tables import OutputOption, WatchOption
from maar.core.fairshare.queue_demand import LARGEST_WEIGHT
from maar.core.model.durations import BadDurationError, seconds
from maar.core.model.queue import Queue

_LISTED: Final = "cpu=4,memory=8Gi"
_CHANGED: Final = "cpu=4,memory-"


_names = names_of(Queue)

NameArgument = Annotated[str, typer.Argument(help="The queue.", autocompletion=_names)]
NamesArgument = Annotated[list[str], typer.Argument(help="The queues.", autocompletion=_names)]
TopArgument = Annotated[
    str,
    typer.Argument(
        help="The queue at the top of the tree that is shown.", show_default="root", autocompletion=_names
    ),
]
NewNameArgument = Annotated[str, typer.Argument(help="The name of the new queue.")]

WeightOption = Annotated[
    int | None,
    typer.Option(min=1, max=LARGEST_WEIGHT, help="Its weight among its siblings; 1 unless set."),
]


def _min_runtime(text: str) -> str:
    """A length of time, or nothing, which takes away what was set."""
    try:
        seconds(text or "0")
    except BadDurationError as error:
        raise typer.BadParameter(str(error)) from None
    return text


_OF_THE_QUEUE_ABOVE: Final = "unset ('') as for the queue above."

TreeOutputOption = Annotated[
    Literal["wide", "json", "yaml"] | None,
    typer.Option("--output", "-o", help="wide shows all resources; json and yaml print data."),
]
ResourceOption = Annotated[
    str, typer.Option(help="The resource to show.", show_default="the one that is wanted most")
]


@dataclass(frozen=True)
class QueueListFlags(ListFlags):
    """Which queues are shown."""

    output: OutputOption = None
    labels: Annotated[
        str, typer.Option("--selector", "-l", help="Only queues with these labels, such as team=a.")
    ] = ""
    watch: WatchOption = False


@dataclass(frozen=True)
class QueueFlags:
    """The flags that describe a new queue; None where one was not given."""

    weight: WeightOption = None
    state: Annotated[
        State | None, typer.Option(case_sensitive=False, help="Whether it takes new jobs; Open unless set.")
    ] = None
    parent: Annotated[str | None, typer.Option(help="The queue above it; root unless set.")] = None
    capability: Annotated[
        WrittenAmounts | None, typer.Option(parser=amounts, metavar=_LISTED, help="The most it may use.")
    ] = None
    guarantee: Annotated[
        WrittenAmounts | None,
        typer.Option(
            parser=parts,
            metavar="cpu=4,memory=20%",
            help="What is reserved for it: amounts, or parts of the total.",
        ),
    ] = None
    deserved: Annotated[
        WrittenAmounts | None,
        typer.Option(
            parser=amounts, metavar=_LISTED, help="Its soft guarantee: its while it asks for it, else lent."
        ),
    ] = None
    reclaimable: Annotated[
        Literal["true", "false"] | None,
        typer.Option(help="Whether others may take back what it uses beyond its deserved; true unless set."),
    ] = None
    priority: Annotated[
        int | None,
        typer.Option(
            min=0, max=2**31 - 1, help="Higher priorities are served first and evicted last; 0 unless set."
        ),
    ] = None
    request: Annotated[
        WrittenAmounts | None,
        typer.Option(parser=amounts, metavar=_LISTED, help="What it asks for in place of what its pods do."),
    ] = None
    preempt_min_runtime: Annotated[
        str | None,
        typer.Option(
            parser=_min_runtime,
            metavar="10m",
            help=f"How long pods run before preempt may evict them; {_OF_THE_QUEUE_ABOVE}",
        ),
    ] = None
    reclaim_min_runtime: Annotated[
        str | None,
        typer.Option(
            parser=_min_runtime,
            metavar="10m",
            help=f"How long pods run before reclaim may evict them; {_OF_THE_QUEUE_ABOVE}",
        ),
    ] = None

    def spec(self) -> Json:
        """The fields of a spec that were given; None inside stands for what is to be taken away."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        spec: Json = {name: value for name, value in given.items() if value is not None}
        if self.guarantee:
            spec["guarantee"] = guarantee(self.guarantee)
        if self.reclaimable is not None:
            spec["reclaimable"] = self.reclaimable == "true"
        for name in ("preempt", "reclaim"):
            written = spec.pop(f"{name}_min_runtime", None)
            if written is not None:
                spec[f"{name}MinRuntime"] = written or None
        return spec


@dataclass(frozen=True)
class QueueChanges(QueueFlags):
    """The flags that change a queue: of amounts each can be set and taken away."""

    capability: Annotated[
        WrittenAmounts | None,
        typer.Option("--capability", parser=changed_amounts, metavar=_CHANGED, help="The most it may use."),
    ] = None
    guarantee: Annotated[
        WrittenAmounts | None,
        typer.Option(
            "--guarantee", parser=changed_parts, metavar="cpu=20%,memory-", help="What is reserved for it."
        ),
    ] = None
    deserved: Annotated[
        WrittenAmounts | None,
        typer.Option(
            "--deserved",
            parser=changed_amounts,
            metavar=_CHANGED,
            help="Its soft guarantee: its while it asks for it, else lent.",
        ),
    ] = None
    request: Annotated[
        WrittenAmounts | None,
        typer.Option(
            "--request",
            parser=changed_amounts,
            metavar=_CHANGED,
            help="What it asks for in place of its pods.",
        ),
    ] = None


def check_resource(name: str, shown: tuple[str, ...]) -> None:
    """Refuse to show a resource of which there is nothing to show."""
    if name and name not in shown:
        raise typer.BadParameter(
            f"--resource {name}: there is nothing to show of it; choose {' or '.join(shown)}"
        )
