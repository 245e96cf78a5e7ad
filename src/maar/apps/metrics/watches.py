"""Metrics of watches: events, delays and interruptions."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily

from maar.kube.watch import BadObject, Trouble

Lags = Callable[[], Mapping[str, float]]  # the seconds for which changes may have gone unseen, by kind


class WatchMetrics:
    """Events, how long they wait, and what goes wrong with the watches that bring them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lag = _LagCollector()
        registry.register(self._lag)
        self._events = Counter(
            "maar_watch_events_total", "Changes of the cluster that were learned.", registry=registry
        )
        self._delay = Histogram(
            "maar_watch_delay_seconds",
            "From the arrival of a change to its being learned; of what came together, the longest.",
            buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=registry,
        )
        self._interruptions = Counter(
            "maar_watch_interruptions_total",
            "Times that changes stopped coming.",
            ["kind"],
            registry=registry,
        )
        self._bad_objects = Counter(
            "maar_watch_bad_objects_total", "Objects that could not be read.", ["kind"], registry=registry
        )

    def follow(self, lags: Lags) -> None:
        """Read the lag of each watch from here when metrics are scraped."""
        self._lag.lags = lags

    def learned(self, events: int, delay_s: float) -> None:
        """Count events, and how long the oldest had waited."""
        self._events.inc(events)
        self._delay.observe(delay_s)

    def troubled(self, trouble: Trouble) -> None:
        """Count an interruption, or an object that cannot be read."""
        counter = self._bad_objects if isinstance(trouble, BadObject) else self._interruptions
        counter.labels(trouble.kind).inc()


class _LagCollector:
    def __init__(self) -> None:
        self.lags: Lags = dict

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "maar_watch_lag_seconds",
            "For how long changes may have gone unseen; 0 while the API server sends them.",
            labels=["kind"],
        )
        for kind, seconds in self.lags().items():
            family.add_metric((kind,), seconds)
        yield family

    def describe(self) -> Iterator[Metric]:
        return _LagCollector().collect()
