"""Writes that fail, as metrics."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from maar.kube.write_failures import WriteFailures


class WriteFailureCollector:
    """Shows what a process knows of its writes that fail."""

    def __init__(self, failures: WriteFailures) -> None:
        self._failures = failures

    def collect(self) -> Iterator[Metric]:
        """Give the metrics as they are now."""
        total = CounterMetricFamily(
            "maar_write_failures",
            "Attempts to write that failed, by what the API server said.",
            labels=["write", "kind", "reason"],
        )
        for labels, count in list(self._failures.totals.items()):
            total.add_metric(labels, count)
        yield total
        failing = GaugeMetricFamily(
            "maar_writes_failing",
            "Objects whose last write failed and is tried again.",
            labels=["write", "kind"],
        )
        for work, count in self._failures.standing().items():
            failing.add_metric(work, count)
        yield failing

    def describe(self) -> Iterator[Metric]:
        """Say which metrics there are."""
        return WriteFailureCollector(WriteFailures()).collect()
