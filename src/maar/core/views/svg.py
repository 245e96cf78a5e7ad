"""Plots as SVG, drawn by hand: scales, axes, lines, stacked areas, boxes.

A plot has a title and a description that screen readers read. Its colours are classes of the page:
`c0`, `c1` and so on, so that one drawing serves light and dark. Series differ by dashes too, not by
colour alone. Coordinates are rounded to a tenth: the same numbers give the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from math import ceil, floor, log10
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maar.core.model.resources import is_bytes, roughly, units_in_one

Floats = NDArray[np.float64]

WIDTH: Final = 720
HEIGHT: Final = 300
LEFT, RIGHT, TOP, BOTTOM = 80, 16, 14, 44
COLOURS: Final = 8
DASHES: Final = ("", "7 3", "2 3", "9 3 2 3")
_LETTER: Final = 6.4  # width, about
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_CLOCK_STEPS: Final = (
    _MINUTE,
    5 * _MINUTE,
    15 * _MINUTE,
    30 * _MINUTE,
    _HOUR,
    3 * _HOUR,
    6 * _HOUR,
    12 * _HOUR,
)
_CLOCK_TICKS: Final = 8
_WAITS: Final = (
    (0.0, "0"), (10.0, "10 s"), (_MINUTE, "1 min"), (10 * _MINUTE, "10 min"), (_HOUR, "1 h"),
    (10 * _HOUR, "10 h"), (4 * _DAY, "4 d"), (40 * _DAY, "40 d"), (400 * _DAY, "400 d"),
)  # fmt: skip


class Tick(NamedTuple):
    """A place on an axis, and what is written there."""

    value: float
    label: str


@dataclass(frozen=True)
class Scale:
    """From values to coordinates; a logarithmic one has room for 0."""

    low: float
    high: float
    first: float  # coordinate of low
    last: float
    ticks: tuple[Tick, ...] = ()
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """The coordinate of a value."""
        low, high, value = (_log(one) if self.is_log else one for one in (self.low, self.high, value))
        part = (value - low) / (high - low) if high > low else 0.0
        return self.first + (self.last - self.first) * min(1.0, max(0.0, part))


def linear(
    high: float, first: float, last: float, unit: str = "", low: float = 0.0, least_step: float = 0.0
) -> Scale:
    """A scale from 0, or another low, with ticks at round numbers, so far apart at least."""
    high = high if high > low else low + 1.0
    step = max(_round_step((high - low) / 5), least_step)
    count = ceil((high - low) / step - 1e-9)
    values = [low + step * index for index in range(count + 1)]
    return Scale(low, values[-1], first, last, tuple(Tick(one, f"{one:g}{unit}") for one in values))


def of_amounts(resource: str, high: float, first: float, last: float) -> Scale:
    """A scale of amounts of a resource, from 0, with ticks that people would choose: 8Gi, 16Gi."""
    unit = float(units_in_one(resource))
    while is_bytes(resource) and high >= 2 * 1024 * unit:
        unit *= 1024
    step = max(_round_step(max(high, unit) / unit / 5) * unit, 1.0)
    values = [step * index for index in range(ceil(max(high, step) / step - 1e-9) + 1)]
    return Scale(
        0.0, values[-1], first, last, tuple(Tick(one, roughly(resource, int(one))) for one in values)
    )


def of_clock(begin: float, end: float, first: float, last: float) -> Scale:
    """A scale of the hours of the day, in UTC, from a time to another."""
    step = next((one for one in _CLOCK_STEPS if (end - begin) / one <= _CLOCK_TICKS), _DAY)
    count = int((end - begin) / step) + 1
    values = [ceil(begin / step) * step + step * index for index in range(count)]
    ticks = tuple(Tick(one, _clock(one, step)) for one in values if one <= end)
    return Scale(begin, end, first, last, ticks)


def of_times(seconds: float, first: float, last: float) -> Scale:
    """A scale of the time that has passed, in the largest unit that fits."""
    unit, name = next(
        ((unit, name) for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")) if seconds >= 2 * unit),
        (1.0, "s"),
    )
    step = _round_step(seconds / unit / 6)
    values = [step * index for index in range(floor(seconds / unit / step + 1e-9) + 1)]
    return Scale(0.0, seconds, first, last, tuple(Tick(one * unit, f"{one:g} {name}") for one in values))


def of_waits(longest: float, first: float, last: float) -> Scale:
    """A logarithmic scale of seconds, from 0 on."""
    high = max(longest, _MINUTE)
    ticks = tuple(Tick(value, label) for value, label in _WAITS if value <= high)
    return Scale(0.0, high, first, last, ticks, is_log=True)


@dataclass
class Plot:
    """A plot that is being drawn: axes first, then what is on them, then the legend below."""

    title: str
    description: str
    x: Scale
    y: Scale
    x_label: str = ""
    y_label: str = ""
    parts: list[str] = field(default_factory=list)
    entries: list[tuple[str, str]] = field(default_factory=list)  # of the legend: drawing, text

    def line(self, xs: Floats, ys: Floats, series: int, name: str, *, is_step: bool = False) -> None:
        """A line, or steps: a value holds until the next; it is interrupted where there is no value."""
        look = f'class="line s{series % COLOURS}" stroke-dasharray="{DASHES[series % len(DASHES)]}"'
        for part in _without_gaps(ys):
            points = list[str]()
            for index, (x, y) in enumerate(zip(xs[part].tolist(), ys[part].tolist(), strict=True)):
                if is_step and index:
                    points.append(f"{_at(self.x(x))},{points[-1].partition(',')[2]}")
                points.append(f"{_at(self.x(x))},{_at(self.y(y))}")
            self.parts.append(
                f'<polyline {look} points="{" ".join(points)}"><title>{_text(name)}</title></polyline>'
            )
        self.entries.append((f'<line {look} x1="0" x2="22" y1="-4" y2="-4"/>', name))

    def area(self, xs: Floats, lows: Floats, highs: Floats, series: int, name: str) -> None:
        """The area between two lines; neighbours are kept apart by a thin line."""
        look = f'class="area f{series % COLOURS}"'
        for part in _without_gaps(highs):
            up, down = (
                [f"{_at(self.x(x))},{_at(self.y(y))}" for x, y in zip(xs[part].tolist(), ys, strict=True)]
                for ys in (highs[part].tolist(), lows[part].tolist())
            )
            points = " ".join([*up, *reversed(down)])
            self.parts.append(f'<polygon {look} points="{points}"><title>{_text(name)}</title></polygon>')
        self.entries.append((f'<rect {look} x="4" y="-11" width="14" height="12"/>', name))

    def box(self, x: float, width: float, values: Sequence[float], series: int, name: str) -> None:
        """A box from the lower to the upper quartile with the median, a line to p95 and a mark at p99."""
        low, middle, high, p95, p99 = (self.y(one) for one in values)
        centre = x + width / 2
        look = f"s{series % COLOURS} f{series % COLOURS}"
        self.parts.append(
            f'<g class="box {look}"><title>{_text(name)}</title>'
            f'<rect x="{_at(x)}" y="{_at(high)}" width="{_at(width)}" height="{_at(max(1.0, low - high))}"/>'
            f'<path d="M{_at(x)} {_at(middle)}h{_at(width)}M{_at(centre)} {_at(high)}V{_at(p95)}"/>'
            f'<path class="tip" d="M{_at(centre - 3)} {_at(p95)}h6M{_at(centre - 2)} {_at(p99)}h4"/></g>'
        )

    def bar(self, x: float, width: float, value: float, series: int, name: str) -> None:
        """A bar from 0 up."""
        top, bottom = self.y(value), self.y(0.0)
        self.parts.append(
            f'<rect class="area f{series % COLOURS}" x="{_at(x)}" y="{_at(top)}" width="{_at(width)}"'
            f' height="{_at(max(0.0, bottom - top))}"><title>{_text(name)}</title></rect>'
        )

    def block(self, x: float, width: float, low: float, high: float, look: str, name: str) -> None:
        """A rectangle from one value up to another; `look` is its classes."""
        top, bottom = self.y(high), self.y(low)
        self.parts.append(
            f'<rect class="{look}" x="{_at(x)}" y="{_at(top)}" width="{_at(width)}"'
            f' height="{_at(max(0.0, bottom - top))}"><title>{_text(name)}</title></rect>'
        )

    def label(self, x: float, text: str, look: str = "mid") -> None:
        """A text below the axis."""
        self.parts.append(
            f'<text class="{look}" x="{_at(x)}" y="{HEIGHT - BOTTOM + 18}">{_text(text)}</text>'
        )

    def entry(self, look: str, name: str) -> None:
        """An entry of the legend for blocks of a look."""
        self.entries.append((f'<rect class="{look}" x="4" y="-11" width="14" height="12"/>', name))

    def svg(self, number: str) -> str:
        """The whole drawing; `number` makes its ids differ from those of other plots of the page."""
        legend, height = self._legend()
        return (
            f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t{number} d{number}">'
            f'<title id="t{number}">{_text(self.title)}</title>'
            f'<desc id="d{number}">{_text(self.description)}</desc>'
            f"{self._axes()}{''.join(self.parts)}{legend}</svg>"
        )

    def _axes(self) -> str:
        left, right, bottom, top = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP
        parts = []
        for tick in self.y.ticks:
            y = _at(self.y(tick.value))
            parts.append(f'<path class="grid" d="M{left} {y}H{right}"/>')
            parts.append(f'<text class="end" x="{left - 6}" y="{y}" dy="4">{_text(tick.label)}</text>')
        for tick in self.x.ticks:
            x = _at(self.x(tick.value))
            parts.append(f'<path class="grid" d="M{x} {bottom}v4"/>')
            parts.append(f'<text class="mid" x="{x}" y="{bottom + 18}">{_text(tick.label)}</text>')
        parts.append(f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/>')
        if self.x_label:
            parts.append(
                f'<text class="mid" x="{(left + right) // 2}" y="{bottom + 36}">{_text(self.x_label)}</text>'
            )
        if self.y_label:
            middle = (top + bottom) // 2
            turned = f'transform="rotate(-90 14 {middle})" x="14" y="{middle}"'
            parts.append(f'<text class="mid" {turned}>{_text(self.y_label)}</text>')
        return "".join(parts)

    def _legend(self) -> tuple[str, int]:
        """The legend in lines below the plot, and the height of everything."""
        if len(self.entries) <= 1:
            return "", HEIGHT
        x, y, parts = float(LEFT), HEIGHT + 16, []
        for drawing, name in self.entries:
            width = 30 + _LETTER * len(name) + 18
            if x + width > WIDTH and x > LEFT:
                x, y = float(LEFT), y + 20
            parts.append(
                f'<g transform="translate({_at(x)} {y})">{drawing}<text x="28">{_text(name)}</text></g>'
            )
            x += width
        return "".join(parts), y + 10


def across(count: int) -> Scale:
    """A scale without numbers, for groups of boxes or bars side by side."""
    return Scale(0.0, float(count), LEFT, WIDTH - RIGHT)


def upwards(scale: Scale) -> Scale:
    """A scale along the height of a plot; low values are at the bottom."""
    return Scale(scale.low, scale.high, HEIGHT - BOTTOM, TOP, scale.ticks, scale.is_log)


def thinned(seconds: Floats, values: Iterable[Floats], most: int = 360) -> tuple[Floats, list[Floats]]:
    """Intervals and their means, neighbours joined until there are no more than so many."""
    step = max(1, ceil(len(seconds) / most))
    starts = np.arange(0, len(seconds), step)
    lengths = np.add.reduceat(seconds, starts) if len(seconds) else seconds
    whole = np.maximum(lengths, 1e-9)
    means = [np.add.reduceat(one * seconds, starts) / whole if len(seconds) else one for one in values]
    return lengths, means


def _without_gaps(values: Floats) -> Iterator[slice]:
    """The stretches in which there are values; NaN is none."""
    known = np.concatenate([[False], ~np.isnan(values), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1])
    yield from (slice(*edge) for edge in edges.reshape(-1, 2).tolist())


def _round_step(rough: float) -> float:
    """The next larger of 1, 2, 2.5, 5 times a power of ten."""
    size = 10.0 ** floor(log10(rough)) if rough > 0 else 1.0
    return next(size * step for step in _STEPS if size * step >= rough * (1 - 1e-9))


def _clock(moment: float, step: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M" if step < _DAY else "%b %d")


def _log(value: float) -> float:
    return log10(1.0 + max(0.0, value))


def _at(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return escape(text, quote=False)
