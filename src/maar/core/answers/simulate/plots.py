"""The plots of a simulation: over time, by queue and by size, policies side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Final, NamedTuple

import numpy as np

from maar.core.answers.simulate.text import amount_text, percent, seconds_text
from maar.core.model.resources import roughly
from maar.core.simulation.experiment import Outcome
from maar.core.simulation.figures import Distribution
from maar.core.simulation.series import Series
from maar.core.views.svg import (
    COLOURS,
    LEFT,
    RIGHT,
    WIDTH,
    Floats,
    Plot,
    Scale,
    Tick,
    across,
    linear,
    of_times,
    of_waits,
    thinned,
    upwards,
)

MOST_QUEUES: Final = 7  # with a colour of their own
_LETTER: Final = 7.0  # width of a letter, about
_POINTS: Final = 200  # of a line of a distribution
_TIME: Final = "time since the first submission"


class Figure(NamedTuple):
    """A plot of the page: a heading, a sentence that says what is seen, and the drawing."""

    heading: str
    caption: str
    plot: Plot


def figures(outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """Every plot for which there is something to see."""
    main = outcomes[0].figures.main_resource
    yield from _utilisation(outcomes, main)
    for one in outcomes:
        yield from _shares(outcomes, one, main)
    yield _delay_distribution(outcomes)
    by_size = [one.figures.delay_by_size for one in outcomes]
    yield _boxes(outcomes, by_size, "Total delay by size", f"what a job's pods ask for together, {main}")
    by_queue = [{name: of.delay for name, of in one.figures.by_queue.items()} for one in outcomes]
    yield _boxes(outcomes, by_queue, "Total delay by queue", "queue")
    yield _waiting(outcomes)
    yield from _share_error(outcomes, main)
    if any(one.figures.evictions for one in outcomes):
        yield _evictions(outcomes)
        yield _lost(outcomes, main)


def _utilisation(outcomes: Sequence[Outcome], main: str) -> Iterator[Figure]:
    def part(series: Series) -> Floats:
        row = series.resources.index(main)
        found: Floats = 100.0 * series.used[row] / np.maximum(series.allocatable[row], 1.0)
        return found

    if all(main in one.series.resources for one in outcomes):
        busy = "; ".join(
            f"{one.policy.name} {percent(one.figures.busy_utilisation[main])}" for one in outcomes
        )
        caption = f"{main} in use, as a part of what the nodes have. While some pod waited: {busy}."
        yield Figure(
            "Utilisation",
            caption,
            _over_time(outcomes, "Utilisation", caption, f"{main} in use", part, "%", 100.0),
        )


def _waiting(outcomes: Sequence[Outcome]) -> Figure:
    caption = "Pods without a node."
    plot = _over_time(outcomes, "Pods that wait", caption, "pods", lambda series: series.waiting, "", None)
    return Figure("Pods that wait", caption, plot)


def _share_error(outcomes: Sequence[Outcome], main: str) -> Iterator[Figure]:
    if not any(_is_shared(one.series, main) for one in outcomes):
        return

    def error(series: Series) -> Floats | None:
        if not _is_shared(series, main):
            return None
        row = series.resources.index(main)
        together: Floats = np.sum([one.error[row] for one in series.by_queue.values()], axis=0)
        found: Floats = 50.0 * together / np.maximum(series.allocatable[row], 1.0)
        return found

    caption = (
        f"Half the sum over queues of what they use more or less of {main} than they deserve, as a part of "
        "the cluster: what would have to change hands. Policies with one queue have none."
    )
    plot = _over_time(outcomes, "Share error", caption, main, error, "%", None)
    yield Figure("Share error", caption, plot)


def _is_shared(series: Series, main: str) -> bool:
    """Whether there are queues between which the main resource is shared."""
    return len(series.by_queue) > 1 and main in series.resources


def _over_time(
    outcomes: Sequence[Outcome],
    title: str,
    description: str,
    label: str,
    value: Callable[[Series], Floats | None],
    unit: str,
    least_high: float | None,
) -> Plot:
    """A line for each policy; one for which there is no value keeps its colour for the other plots."""
    values = [value(one.series) for one in outcomes]
    high = max([least_high or 0.0, *(float(one.max(initial=0.0)) for one in values if one is not None)])
    plot = Plot(title, description, _times(outcomes), upwards(linear(high, 0, 1, unit)), _TIME, label)
    for index, (one, seen) in enumerate(zip(outcomes, values, strict=True)):
        if seen is None or not seen.size:
            continue
        lengths, [ys] = thinned(one.series.seconds, [seen])
        ends = np.cumsum(lengths)
        xs = np.append(ends - lengths, ends[-1:])
        plot.line(xs, np.append(ys, ys[-1:]), index, one.policy.name, is_step=True)
    return plot


def _shares(outcomes: Sequence[Outcome], outcome: Outcome, main: str) -> Iterator[Figure]:
    series, name = outcome.series, outcome.policy.name
    used = used_by_queue(outcome, main)
    if len(used) <= 1:
        return
    whole = np.maximum(series.allocatable[series.resources.index(main)], 1.0)
    work = outcome.jobs.total(main) * outcome.jobs.run_time  # the same for all policies, so colours are too
    names = np.array(outcome.jobs.queue, dtype=object)
    order = sorted(used, key=lambda queue: (-float(np.nansum(work[names == queue])), queue))
    kept, others = order[:MOST_QUEUES], order[MOST_QUEUES:]
    parts = [100.0 * used[queue] / whole for queue in kept]
    if others:
        parts.append(100.0 * np.sum([used[queue] for queue in others], axis=0) / whole)
        kept = [*kept, f"{len(others)} other queues"]
    lengths, means = thinned(series.seconds, parts)
    caption = f"{main} in use by queue under {name}, stacked, as a part of what the nodes have."
    title = f"Shares of queues: {name}"
    y = upwards(linear(100.0, 0, 1, "%"))
    plot = Plot(title, caption, _times(outcomes), y, _TIME, f"{main} in use")
    ends = np.cumsum(lengths)
    xs = np.stack([ends - lengths, ends], axis=1).reshape(-1)  # a value holds for its interval
    low = np.zeros(len(xs))
    for index, (queue, values) in enumerate(zip(kept, means, strict=True)):
        high = low + np.repeat(values, 2)
        plot.area(xs, low, high, index, queue)
        low = high
    yield Figure(title, caption, plot)


def used_by_queue(outcome: Outcome, resource: str) -> dict[str, Floats]:
    """What each queue used in every interval [T].

    Under a policy with one queue it is what the jobs of the trace's queues used: nobody is evicted there, so
    that a job uses what it asks for from its start to its end.
    """
    series, jobs = outcome.series, outcome.jobs
    if resource not in series.resources:
        return {}
    if outcome.policy.one_queue is None:
        row = series.resources.index(resource)
        return {queue: one.used[row] for queue, one in series.by_queue.items()}
    bounds = np.append(series.begins, series.begins[-1:] + series.seconds[-1:])  # [T + 1]
    names, total = np.array(jobs.queue, dtype=object), jobs.total(resource).astype(np.float64)
    found = dict[str, Floats]()
    for queue in sorted(set(jobs.queue)):
        rows = (names == queue) & np.isfinite(jobs.started)
        ended = np.where(np.isfinite(jobs.ended[rows]), jobs.ended[rows], np.inf)
        held = _held_before(bounds, jobs.started[rows], total[rows]) - _held_before(
            bounds, ended, total[rows]
        )
        found[queue] = np.diff(held) / np.maximum(series.seconds, 1e-9)
    return found


def _held_before(bounds: Floats, since: Floats, amounts: Floats) -> Floats:
    """For each bound, the sum of amount x seconds from `since` until then."""
    order = np.argsort(since, kind="stable")
    times, amounts = since[order], amounts[order]
    known = np.isfinite(times)
    times, amounts = times[known], amounts[known]
    count = np.searchsorted(times, bounds)
    sums = np.append(0.0, np.cumsum(amounts))
    moments = np.append(0.0, np.cumsum(amounts * (times - bounds[0])))
    held: Floats = sums[count] * (bounds - bounds[0]) - moments[count]
    return held


def _delay_distribution(outcomes: Sequence[Outcome]) -> Figure:
    caption = (
        "The part of the jobs that were delayed no longer than so long; without evictions that is the wait. "
        "The time is logarithmic."
    )
    longest = max((_finite(one.figures.delay.largest) for one in outcomes), default=0.0)
    x, y = of_waits(longest, LEFT, WIDTH - RIGHT), upwards(linear(100.0, 0, 1, "%"))
    plot = Plot("Total delay of all jobs", caption, x, y, "total delay", "jobs")
    levels = np.linspace(0.0, 1.0, _POINTS)
    for index, one in enumerate(outcomes):
        delays = one.jobs.delay[np.isfinite(one.jobs.delay)]
        if delays.size:
            plot.line(np.quantile(delays, levels), 100.0 * levels, index, one.policy.name)
    return Figure("Total delay of all jobs", caption, plot)


def _boxes(
    outcomes: Sequence[Outcome], values: Sequence[dict[str, Distribution]], title: str, label: str
) -> Figure:
    caption = (
        "Box: the middle half of the jobs, with the median; the line goes to the 95th percentile, the short "
        "mark is the 99th; the time is logarithmic."
    )
    names = list(dict.fromkeys(name for one in values for name in one))
    shown = names if len(names) <= 2 * MOST_QUEUES else _with_most_jobs(values[0], names)
    longest = max((_finite(one.p99) for of in values for one in of.values()), default=0.0)
    x = _groups(shown)
    plot = Plot(title, f"{title}. {caption}", x, upwards(of_waits(longest, 0, 1)), label, "total delay")
    for index, (outcome, of) in enumerate(zip(outcomes, values, strict=True)):
        for at, name in enumerate(shown):
            one = of.get(name)
            if one is not None and one.number:
                left, width = _slot(x, at, index, len(outcomes))
                text = (
                    f"{outcome.policy.name}, {name}: {one.number:,} jobs, median {seconds_text(one.p50)}, "
                    f"95th percentile {seconds_text(one.p95)}"
                )
                plot.box(left, width, (one.p25, one.p50, one.p75, one.p95, one.p99), index, text)
        plot.entries.append(_swatch(index, outcome.policy.name))
    return Figure(title, caption, plot)


def _evictions(outcomes: Sequence[Outcome]) -> Figure:
    caption = "Pods that were evicted, from the start until then."
    high = max(float(one.series.evictions.sum()) for one in outcomes)
    plot = Plot("Evictions", caption, _times(outcomes), upwards(linear(high, 0, 1)), _TIME, "pods")
    for index, one in enumerate(outcomes):
        lengths, [per_second] = thinned(
            one.series.seconds, [one.series.evictions / np.maximum(one.series.seconds, 1e-9)]
        )
        ends = np.cumsum(lengths)
        plot.line(
            np.append(0.0, ends), np.append(0.0, np.cumsum(per_second * lengths)), index, one.policy.name
        )
    return Figure("Evictions", caption, plot)


def _lost(outcomes: Sequence[Outcome], main: str) -> Figure:
    caption = f"What evicted pods had run for, times the {main} that they ask for: it is done again."
    names = [
        name for name in outcomes[0].figures.by_queue if any(name in one.figures.by_queue for one in outcomes)
    ]
    high = max(of.lost for one in outcomes for of in one.figures.by_queue.values())
    shown = names if len(names) <= 2 * MOST_QUEUES else names[: 2 * MOST_QUEUES]
    x = _groups(shown)
    plot = Plot("Work lost to evictions", caption, x, upwards(linear(high, 0, 1)), "queue", f"{main} hours")
    for index, one in enumerate(outcomes):
        for at, name in enumerate(shown):
            lost = one.figures.by_queue[name].lost if name in one.figures.by_queue else 0.0
            left, width = _slot(x, at, index, len(outcomes))
            plot.bar(left, width, lost, index, f"{one.policy.name}, {name}: {amount_text(lost)} {main} hours")
        plot.entries.append(_swatch(index, one.policy.name))
    return Figure("Work lost to evictions", caption, plot)


def _times(outcomes: Sequence[Outcome]) -> Scale:
    longest = max(float(one.series.seconds.sum()) for one in outcomes)
    return of_times(max(longest, 1.0), LEFT, WIDTH - RIGHT)


def _slot(x: Scale, group: int, index: int, count: int) -> tuple[float, float]:
    """Where the one of a policy is in a group of them: left edge and width."""
    room = (x(group + 1.0) - x(float(group))) * 0.8
    width = min(40.0, room / count)
    return x(group + 0.5) - width * count / 2 + width * index + width * 0.1, width * 0.8


def _swatch(series: int, name: str) -> tuple[str, str]:
    return f'<rect class="area f{series % COLOURS}" x="4" y="-11" width="14" height="12"/>', name


def _with_most_jobs(of: dict[str, Distribution], names: list[str]) -> list[str]:
    kept = sorted(names, key=lambda name: -(of[name].number if name in of else 0))[: 2 * MOST_QUEUES]
    return [name for name in names if name in kept]


def _groups(names: Sequence[str]) -> Scale:
    """A scale with a group for each name, which is shortened in its middle where there is no room for it."""
    scale = across(len(names))
    letters = max(4, int((scale.last - scale.first) / max(1, len(names)) / _LETTER))

    def short(name: str) -> str:
        first = (letters - 1) // 2
        return name if len(name) <= letters else f"{name[:first]}…{name[first + 1 - letters :]}"

    return replace(scale, ticks=tuple(Tick(at + 0.5, short(name)) for at, name in enumerate(names)))


def _finite(value: float) -> float:
    return value if isfinite(value) else 0.0


def capacity_text(outcome: Outcome) -> str:
    """What the nodes have together, for a sentence."""
    series = outcome.series
    return ", ".join(
        f"{name} {roughly(name, int(series.allocatable[row].max(initial=0.0)))}"
        for row, name in enumerate(series.resources)
    )
