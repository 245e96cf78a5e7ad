"""The options of admission: one definition for every command that judges objects."""

from typing import Annotated, Literal

import typer

GuaranteeOverTotalOption = Annotated[
    Literal["refuse", "warn"],
    typer.Option("--guarantee-over-total", help="What to do about guarantees beyond the cluster's total."),
]
ChildCapabilityOption = Annotated[
    Literal["sum", "max"],
    typer.Option(
        "--child-capability", help="Whether children's capabilities are added up or compared one by one."
    ),
]
MaxQueueDepthOption = Annotated[
    int, typer.Option("--max-queue-depth", min=1, help="How deep the tree may be below root.")
]
