"""The history of a queue and of those below it as drawings: shares, use, waits, evictions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maar.core.model.resources import CPU, MEMORY, PODS, roughly
from maar.core.views.console.history import Floats, Histories
from maar.core.views.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    Plot,
    Scale,
    linear,
    of_amounts,
    of_clock,
    of_times,
    upwards,
)

Places = NDArray[np.int64]

MOST_BELOW: Final = 7  # queues with a colour of their own
_MOST_RESOURCES: Final = 4
_POINTS: Final = 360
_BARS: Final = 48
_SEEN: Final = 0.005  # part of the whole, from which on it is drawn
_HOLDS_S: Final = 200.0  # that a sample stands for at most; where none came, the line is interrupted
_TIME: Final = "time of day, UTC"


class HistoryFigure(NamedTuple):
    """A drawing with its title and a sentence on what is seen."""

    title: str
    caption: str
    svg: str


class Window(NamedTuple):
    """The time that is drawn, and by how much samples may be apart."""

    begin: float
    end: float
    holds_s: float = _HOLDS_S

    @property
    def grid(self) -> Floats:
        """The moments that are drawn."""
        count = int(min(_POINTS, max(2.0, (self.end - self.begin) / 30.0)))
        return np.linspace(self.begin, self.end, count)

    @property
    def scale(self) -> Scale:
        """The axis."""
        return of_clock(self.begin, self.end, LEFT, WIDTH - RIGHT)


def share_figures(
    known: Histories, queue: str, below: Sequence[str], window: Window
) -> Iterator[HistoryFigure]:
    """What a queue deserved and used, and what those below it used and deserved."""
    own = known.queues[queue]
    at = _places(known.times, window)
    for number, resource in enumerate(_resources(known, queue)):
        parts = {
            "deserved": _drawn(own.deserved.get(resource), at),
            "used": _drawn(own.used.get(resource), at),
            "guarantee": _drawn(own.guarantee.get(resource), at),
        }
        if not np.nansum(parts["guarantee"]):
            del parts["guarantee"]
        caption = f"What queue {queue} deserved and used of {resource}."
        if (last := _last(parts["used"])) is not None:
            caption += f" Last: {roughly(resource, int(last))} used."
        plot = _amount_plot(f"{resource}: deserved and used", caption, resource, window, parts.values())
        for series, (name, values) in enumerate(parts.items()):
            plot.line(window.grid, values, series, name, is_step=True)
        yield HistoryFigure(plot.title, caption, plot.svg(f"-own-{number}"))
        if below:
            yield from _stacks(known, queue, below, resource, window, number)


def work_figures(known: Histories, queue: str, window: Window) -> Iterator[HistoryFigure]:
    """Pod groups that waited, how long, and pods that were evicted."""
    own, at = known.queues[queue], _places(known.times, window)
    waiting = _drawn(own.waiting, at)
    caption = f"Pod groups in queue {queue} and below it that had not started."
    y = upwards(linear(_high(waiting), 0, 1, least_step=1.0))
    plot = Plot("Waiting pod groups", caption, window.scale, y, _TIME, "pod groups")
    plot.line(window.grid, waiting, 0, "waiting", is_step=True)
    yield HistoryFigure(plot.title, caption, plot.svg("-waiting"))
    longest = _drawn(own.longest, at)
    caption = "How long the one that had waited longest had waited."
    high = max(60.0, _high(longest))
    plot = Plot("Longest wait", caption, window.scale, upwards(of_times(high, 0, 1)), _TIME, "wait")
    plot.line(window.grid, longest, 1, "longest wait", is_step=True)
    yield HistoryFigure(plot.title, caption, plot.svg("-longest"))
    yield _evictions(known, queue, window)


def _evictions(known: Histories, queue: str, window: Window) -> HistoryFigure:
    edges = np.linspace(window.begin, window.end, _BARS + 1)
    numbers = np.nan_to_num(known.queues[queue].evictions)
    sums, _ = np.histogram(known.times, edges, weights=numbers)
    total = int(sums.sum())
    minutes = (edges[1] - edges[0]) / 60.0
    caption = f"Pods of queue {queue} and below it that were evicted, in steps of {minutes:.3g} min: {total}."
    y = upwards(linear(max(1.0, float(sums.max())), 0, 1, least_step=1.0))
    plot = Plot("Evictions", caption, window.scale, y, _TIME, "pods")
    for left, right, count in zip(edges[:-1].tolist(), edges[1:].tolist(), sums.tolist(), strict=True):
        if count:
            x, end = plot.x(left), plot.x(right)
            plot.bar(x + 0.5, max(1.0, end - x - 1.0), count, 1, f"{int(count)} evicted")
    return HistoryFigure(plot.title, caption, plot.svg("-evictions"))


def _stacks(
    known: Histories, queue: str, below: Sequence[str], resource: str, window: Window, number: int
) -> Iterator[HistoryFigure]:
    """Those below a queue on top of each other: what they used, and what they deserved."""
    at = _places(known.times, window)
    own = known.queues[queue]
    for word, kind in (("used", "use"), ("deserved", "shares")):
        whole = _drawn(getattr(own, word).get(resource), at)
        parts = [_drawn(getattr(known.queues[name], word).get(resource), at) for name in below]
        shown = [  # a queue has the same colour in all drawings
            (series, name, np.nan_to_num(values))
            for series, (name, values) in enumerate(zip(below, parts, strict=True))
            if np.nansum(values)
        ]
        if not shown:
            continue
        rest = np.maximum(0.0, np.nan_to_num(whole) - np.sum([values for *_, values in shown], axis=0))
        if word == "used" and np.any(rest > _SEEN * np.maximum(1.0, np.nan_to_num(whole))):
            shown.append((MOST_BELOW, "others", rest))
        title, caption = f"{resource}: {kind} by queue", f"What the queues below {queue} {word}, stacked."
        top = np.sum([values for *_, values in shown], axis=0)
        plot = _amount_plot(title, caption, resource, window, [top, whole])
        low = np.where(np.isnan(whole), np.nan, 0.0)
        for series, name, values in shown:
            high = low + values
            plot.area(window.grid, low, high, series, name)
            low = high
        yield HistoryFigure(title, caption, plot.svg(f"-{word}-{number}"))


def _amount_plot(title: str, caption: str, resource: str, window: Window, values: Iterable[Floats]) -> Plot:
    high = max((_high(one) for one in values), default=0.0)
    y = upwards(of_amounts(resource, high, 0, 1))
    return Plot(title, caption, window.scale, y, _TIME, resource)


def _resources(known: Histories, queue: str) -> list[str]:
    """The resources that were used, the usual ones first; or else what was deserved."""
    own = known.queues[queue]
    used = [name for name, values in own.used.items() if np.nansum(values) and name != PODS]
    found = used or [name for name, values in own.deserved.items() if np.nansum(values) and name != PODS]
    order = {CPU: 0, MEMORY: 2}  # devices between them
    return sorted(found, key=lambda name: (order.get(name, 1), name))[:_MOST_RESOURCES]


def _places(times: Floats, window: Window) -> Places:
    """For each moment that is drawn the sample that stands for it, -1 where there is none."""
    grid = window.grid
    found = np.searchsorted(times, grid, side="right") - 1
    if not len(times):
        return found
    apart = grid - times[np.maximum(found, 0)]
    return np.where((found >= 0) & (apart <= window.holds_s), found, -1)


def _drawn(values: Floats | None, at: Places) -> Floats:
    if values is None or not len(values):
        return np.full(len(at), np.nan)
    return np.where(at >= 0, values[np.maximum(at, 0)], np.nan)


def _high(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else 0.0


def _last(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known[-1]) if len(known) else None
