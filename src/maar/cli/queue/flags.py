"""The flags of the queue commands, each declared once."""

from dataclasses import dataclass, fields
from typing import Annotated, Final, Literal

import typer

from maar.cli.completion import names_of
from maar.cli.queue.amounts import WrittenAmounts, amounts, changed_amounts, changed_parts, guarantee, parts
from maar.cli.queue.spec import Json, State
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
StateOption = Annotated[
    State | None, typer.Option(case_sensitive=False, help="Whether it takes new jobs; Open unless set.")
]
ParentOption = Annotated[str | None, typer.Option(help="The queue above it; root unless set.")]
ReclaimableOption = Annotated[
    Literal["true", "false"] | None,
    typer.Option(help="Whether others may take back what it uses beyond its deserved; true unless set."),
]
PriorityOption = Annotated[
    int | None,
    typer.Option(
        min=0, max=2**31 - 1, help="Higher priorities are served first and evicted last; 0 unless set."
    ),
]
CapabilityOption = Annotated[
    WrittenAmounts | None, typer.Option(parser=amounts, metavar=_LISTED, help="The most it may use.")
]
GuaranteeOption = Annotated[
    WrittenAmounts | None,
    typer.Option(
        parser=parts,
        metavar="cpu=4,memory=20%",
        help="What is reserved for it: amounts, or parts of the total.",
    ),
]
_Deserved = Annotated[
    WrittenAmounts | None,
    typer.Option(
        parser=amounts, metavar=_LISTED, help="Its soft guarantee: its while it asks for it, else lent."
    ),
]
RequestOption = Annotated[
    WrittenAmounts | None,
    typer.Option(parser=amounts, metavar=_LISTED, help="What it asks for in place of what its pods do."),
]


def _min_runtime(text: str) -> str:
    """A length of time, or nothing, which takes away what was set."""
    try:
        seconds(text or "0")
    except BadDurationError as error:
        raise typer.BadParameter(str(error)) from None
    return text


_OF_THE_QUEUE_ABOVE: Final = "unset ('') as for the queue above."
PreemptMinRuntimeOption = Annotated[
    str | None,
    typer.Option(
        parser=_min_runtime,
        metavar="10m",
        help=f"How long pods run before preempt may evict them; {_OF_THE_QUEUE_ABOVE}",
    ),
]
ReclaimMinRuntimeOption = Annotated[
    str | None,
    typer.Option(
        parser=_min_runtime,
        metavar="10m",
        help=f"How long pods run before reclaim may evict them; {_OF_THE_QUEUE_ABOVE}",
    ),
]
ChangedCapabilityOption = Annotated[
    WrittenAmounts | None,
    typer.Option("--capability", parser=changed_amounts, metavar=_CHANGED, help="The most it may use."),
]
ChangedGuaranteeOption = Annotated[
    WrittenAmounts | None,
    typer.Option(
        "--guarantee", parser=changed_parts, metavar="cpu=20%,memory-", help="What is reserved for it."
    ),
]
_ChangedDeserved = Annotated[
    WrittenAmounts | None,
    typer.Option(
        "--deserved",
        parser=changed_amounts,
        metavar=_CHANGED,
        help="Its soft guarantee: its while it asks for it, else lent.",
    ),
]
ChangedRequestOption = Annotated[
    WrittenAmounts | None,
    typer.Option(
        "--request", parser=changed_amounts, metavar=_CHANGED, help="What it asks for in place of its pods."
    ),
]

TreeOutputOption = Annotated[
    Literal["wide", "json", "yaml"] | None,
    typer.Option("--output", "-o", help="wide shows all resources; json and yaml print data."),
]
ResourceOption = Annotated[
    str, typer.Option(help="The resource to show.", show_default="the one that is wanted most")
]
LabelsOption = Annotated[
    str, typer.Option("--selector", "-l", help="Only queues with these labels, such as team=a.")
]


@dataclass(frozen=True)
class QueueFlags:
    """The flags that describe a new queue; None where one was not given."""

    weight: WeightOption = None
    state: StateOption = None
    parent: ParentOption = None
    capability: CapabilityOption = None
    guarantee: GuaranteeOption = None
    deserved: _Deserved = None
    reclaimable: ReclaimableOption = None
    priority: PriorityOption = None
    request: RequestOption = None
    preempt_min_runtime: PreemptMinRuntimeOption = None
    reclaim_min_runtime: ReclaimMinRuntimeOption = None

    def spec(self) -> Json:
        """The fields of a spec that were given; None inside stands for what is to be taken away."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
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

    capability: ChangedCapabilityOption = None
    guarantee: ChangedGuaranteeOption = None
    deserved: _ChangedDeserved = None
    request: ChangedRequestOption = None


def check_resource(name: str, known: tuple[str, ...]) -> None:
    """Refuse to show a resource of which there is nothing to show."""
    if name and name not in known:
        raise typer.BadParameter(
            f"--resource {name}: there is nothing to show of it; choose {' or '.join(known)}"
        )
