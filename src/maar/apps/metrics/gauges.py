"""Gauges with many series, and their text.

The library makes an object of every sample and renders each with care for names that ours never
have: a second for 1,000 queues. Here the text is made at once, with the library's own numbers.
Gauges have the same text in both formats that Prometheus asks for, and a property compares it with
the library's.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.utils import floatToGoString

Sample = tuple[tuple[str, ...], float]  # the values of the labels in the order of their names, and the number
_Key = TypeVar("_Key")
_MOST_TEXTS: Final = 1 << 16


class GaugeFamily(NamedTuple):
    """A gauge: its name, what it means, and the names of its labels in the order of the alphabet."""

    name: str
    meaning: str
    labels: tuple[str, ...] = ()

    def head(self) -> str:
        """What stands before its series."""
        return f"# HELP {self.name} {self.meaning}\n# TYPE {self.name} gauge\n"

    def lines(self, samples: Iterable[Sample]) -> str:
        """A line for each series."""
        name, labels = self.name, self.labels
        return "".join(
            [f"{name}{label_text(labels, values)} {NUMBERS[number]}\n" for values, number in samples]
        )

    def metric(self, samples: Iterable[Sample]) -> Metric:
        """The same for the library."""
        family = GaugeMetricFamily(self.name, self.meaning, labels=self.labels)
        for values, number in samples:
            family.add_metric(values, number)
        return family


class Gauges:
    """A collector of gauges whose series are worked out when metrics are scraped."""

    def __init__(self, families: Callable[[], Iterable[tuple[GaugeFamily, Iterable[Sample]]]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Give every series to the library."""
        for family, samples in self._families():
            yield family.metric(samples)

    def describe(self) -> Iterator[Metric]:
        """Say which metrics there are."""
        return self.collect()

    def text(self) -> str:
        """Every series as it is sent to Prometheus."""
        return "".join([family.head() + family.lines(samples) for family, samples in self._families()])


class Texts(dict[_Key, str]):
    """Texts that are made when they are asked for, and kept: most of them come again at once."""

    def __init__(self, make: Callable[[_Key], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _Key) -> str:
        if len(self) >= _MOST_TEXTS:
            self.clear()
        text = self[key] = self._make(key)
        return text


NUMBERS: Final[Texts[float]] = Texts(floatToGoString)  # as the library writes them


def label_text(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """The labels of a series."""
    pairs = [f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
