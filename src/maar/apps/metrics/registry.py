"""What every program shows of itself, and the text that a scrape gets."""

from collections.abc import Iterator
from typing import Final, Protocol, runtime_checkable

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

_OTHER_NAMES: Final = "escaping=dots"  # a client that asks for it gets every name written differently


@runtime_checkable
class Rendered(Protocol):
    """A collector of gauges that makes its own text, because the library is slow with many series."""

    def text(self) -> str:
        """All its series, with their heads."""


class Registry(CollectorRegistry):
    """The collectors of a process."""

    def __init__(self) -> None:
        super().__init__()
        self._rendered: list[Rendered] = []
        self._others = _Several()

    def register(self, collector: Collector) -> None:
        """Add a collector."""
        super().register(collector)
        if isinstance(collector, Rendered):
            self._rendered.append(collector)
        else:
            self._others.collectors.append(collector)

    def exposition(self, accept: str) -> tuple[str, bytes]:
        """The content type for what a client accepts, and the text of all metrics."""
        try:
            encode, content_type = choose_encoder(accept)
        except (TypeError, ValueError):  # it asks for a version that is no number
            encode, content_type = choose_encoder("")
        if _OTHER_NAMES in content_type:
            return content_type, encode(self)
        text = "".join([one.text() for one in self._rendered])
        return content_type, text.encode() + encode(self._others)  # OpenMetrics has a last line


class _Several:
    """Some collectors as one."""

    def __init__(self) -> None:
        self.collectors: list[Collector] = []

    def collect(self) -> Iterator[Metric]:
        for one in self.collectors:
            yield from one.collect()


def new_registry() -> Registry:
    """A registry with the memory, processor time and open files of this process."""
    # A second series for every counter, which nobody asks for.
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's own
    registry = Registry()
    ProcessCollector(registry=registry)
    return registry
