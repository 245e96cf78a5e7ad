"""What every program shows of itself: where its metrics begin."""

from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics


def new_registry() -> CollectorRegistry:
    """A registry with the memory, processor time and open files of this process."""
    # A second series for every counter, which nobody asks for.
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's own
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry
