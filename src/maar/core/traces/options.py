"""How a trace is read: what the user can choose."""

from dataclasses import dataclass
from typing import Final, Literal

from maar.core.model.resources import Resources
from maar.core.traces.skips import TraceError


@dataclass(frozen=True)
class TraceOptions:
    """Which fields are used, what stands for what is missing, and what is left out."""

    queue_from: str = ""  # the field that names the queue; empty: the usual one; none: no field
    namespace_from: Literal["", "user"] = ""  # empty: all jobs are in the namespace below
    queue: str = "default"  # of jobs whose field names none
    namespace: str = "default"
    processors_per_pod: int | None = None  # of jobs without nodes; None: as the trace says, else one
    memory_per_processor: int = 0  # bytes, where the trace has no memory; 0: pods ask for none
    gpu: str = "nvidia.com/gpu"
    shared_gpus: Literal["whole", "thousandths"] = "whole"  # rounded up, or in a resource of thousandths
    gpu_model_label: str = "gpu-model"  # of nodes, for jobs that name a model
    start: float | None = None  # when the first job is submitted; None: as the trace says
    utc_offset: float = 0.0  # seconds, of times without a zone
    stops_at_estimate: bool = False  # a job that ran longer than was stated is ended at that time
    most_jobs: int | None = None
    largest_node: Resources | None = None  # no pod may ask for more; None: not checked
    cluster: Resources | None = None  # no job may ask for more
    queues: frozenset[str] | None = None  # that exist
    window: int = 100_000  # jobs among which order is restored

    def __post_init__(self) -> None:
        for name in ("processors_per_pod", "most_jobs", "window"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise TraceError(f"{name} is {value}: it must be 1 or more")
        if self.memory_per_processor < 0:
            raise TraceError(f"memory_per_processor is {self.memory_per_processor}: it must be 0 or more")

    @property
    def gpu_thousandths(self) -> str:
        """The resource in which a shared GPU is counted."""
        return f"{self.gpu}-milli"


def queue_field(chosen: str, offered: tuple[str, ...], format_name: str) -> str:
    """The field of a format that names the queue: the chosen one, or the first offered; "none": no field."""
    if chosen not in ("", NO_FIELD, *offered):
        raise TraceError(
            f"{format_name} has no field {chosen} that could name a queue:"
            f" choose one of {', '.join(dict.fromkeys((*offered, NO_FIELD)))}"
        )
    return chosen or offered[0]


NO_FIELD: Final = "none"
