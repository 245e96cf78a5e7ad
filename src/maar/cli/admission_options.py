"""The options of admission: one definition for every command that judges objects."""

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from maar.api.arguments import admission_options
from maar.core.admission.request import Options


@dataclass(frozen=True)
class AdmissionFlags:
    """What an administrator decides about admission."""

    guarantee_over_total: Annotated[
        Literal["refuse", "warn"],
        typer.Option(help="What to do about guarantees beyond the cluster's total."),
    ] = "refuse"
    child_capability: Annotated[
        Literal["sum", "max"],
        typer.Option(help="Whether children's capabilities are added up or compared one by one."),
    ] = "sum"
    max_queue_depth: Annotated[int, typer.Option(min=1, help="How deep the tree may be below root.")] = 5
    max_job_pods: Annotated[int, typer.Option(min=1, help="How many pods one job may ask for.")] = 100_000
    disable_job_plugin: Annotated[
        list[str] | None,
        typer.Option(help="A job plugin that no job may use, such as ssh; may be repeated."),
    ] = None

    def options(self, scheduler_name: str = "volcano") -> Options:
        """The flags as admission reads them."""
        return admission_options(**asdict(self), scheduler_name=scheduler_name)
