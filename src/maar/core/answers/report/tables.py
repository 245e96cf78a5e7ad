"""The tables of a report: figures for the page, columns for spreadsheets, a summary for programs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite

import numpy as np

from maar.core.answers.report.text import amount_text, percent, seconds_text
from maar.core.model.resources import quantity_text
from maar.core.simulation.experiment import Outcome
from maar.core.simulation.figures import Distribution

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]  # headings, rows


def overview(outcomes: Sequence[Outcome]) -> Table:
    """The figures of every policy side by side."""
    of = [one.figures for one in outcomes]
    main = of[0].main_resource
    rows = [
        ("Jobs that ended", *(f"{one.ended:,} of {one.jobs:,}" for one in of)),
        ("Makespan", *(seconds_text(one.makespan) for one in of)),
        *(
            (f"Utilisation, {name}", *(percent(one.utilisation[name]) for one in of))
            for name in of[0].utilisation
            if all(name in one.utilisation for one in of)
        ),
        (
            f"Utilisation while some pod waited, {main}",
            *(percent(one.busy_utilisation.get(main, np.nan)) for one in of),
        ),
        ("Wait, mean", *(seconds_text(one.wait.mean) for one in of)),
        ("Wait, median", *(seconds_text(one.wait.p50) for one in of)),
        ("Wait, 95th percentile", *(seconds_text(one.wait.p95) for one in of)),
        ("Wait, 99th percentile", *(seconds_text(one.wait.p99) for one in of)),
        ("Time from submission to end, mean", *(seconds_text(one.turnaround.mean) for one in of)),
        ("Bounded slowdown, mean", *(amount_text(one.slowdown.mean) for one in of)),
        ("Bounded slowdown, 95th percentile", *(amount_text(one.slowdown.p95) for one in of)),
        (f"Share error, {main}", *(percent(one.share_error.get(main, np.nan)) for one in of)),
        ("Jain's index of weighted shares", *(amount_text(one.jain) for one in of)),
        ("Evicted pods", *(f"{one.evictions:,}" for one in of)),
        (f"Work lost, {main} hours", *(f"{amount_text(one.lost)} ({percent(one.lost_part)})" for one in of)),
        ("Decisions", *(f"{one.decisions:,}" for one in outcomes)),
    ]
    return ("", *(one.policy.name for one in outcomes)), rows


def waits(outcomes: Sequence[Outcome], what: str, of: Sequence[Mapping[str, Distribution]]) -> Table:
    """Jobs and their waits by something, a row for each policy."""
    names = dict.fromkeys(name for one in of for name in one)
    rows: list[tuple[str, ...]] = [
        (
            name,
            outcome.policy.name,
            f"{one.number:,}",
            *(map(seconds_text, (one.mean, one.p50, one.p95, one.p99))),
        )
        for name in names
        for outcome, found in zip(outcomes, of, strict=True)
        if (one := found.get(name)) is not None
    ]
    return (what, "policy", "jobs", "mean", "median", "p95", "p99"), rows


def queues(outcomes: Sequence[Outcome]) -> Table:
    """Share errors and evictions by queue, a row for each policy."""
    main = outcomes[0].figures.main_resource
    names = dict.fromkeys(name for one in outcomes for name in one.figures.by_queue)
    rows: list[tuple[str, ...]] = [
        (
            name,
            outcome.policy.name,
            f"{one.jobs:,}",
            percent(one.share_error.get(main, np.nan)),
            f"{one.evictions:,}",
            amount_text(one.lost),
        )
        for name in names
        for outcome in outcomes
        if (one := outcome.figures.by_queue.get(name)) is not None
    ]
    return (
        "queue",
        "policy",
        "jobs",
        f"share error, {main}",
        "evicted pods",
        f"work lost, {main} hours",
    ), rows


def jobs_csv(outcome: Outcome) -> Iterator[str]:
    """A line for every job; times as in RFC 3339, empty where it never happened."""
    jobs = outcome.jobs
    names = list(jobs.requests)
    yield _line([
        "job", "namespace", "queue", "pods", *names, "submitted", "started", "ended", "wait_s", "run_time_s",
        "estimate_s", "bounded_slowdown", "evicted_pods", "lost_pod_seconds",
    ])  # fmt: skip
    columns = (
        jobs.pods, *jobs.requests.values(), jobs.submitted, jobs.started, jobs.ended, jobs.wait,
        jobs.run_time, jobs.estimate, jobs.slowdown, jobs.evictions, jobs.lost,
    )  # fmt: skip
    rows = zip(jobs.job, jobs.namespace, jobs.queue, *(one.tolist() for one in columns), strict=True)
    count = len(names)
    for job, namespace, queue, pods, *numbers in rows:
        amounts = [quantity_text(name, units) for name, units in zip(names, numbers, strict=False)]
        submitted, started, ended, wait, run, estimate, slowdown, evictions, lost = numbers[count:]
        yield _line([
            job, namespace, queue, pods, *amounts, *map(_time, (submitted, started, ended)),
            *map(_number, (wait, run, estimate)), _number(slowdown, 4), evictions, _number(lost),
        ])  # fmt: skip


def series_csv(outcome: Outcome) -> Iterator[str]:
    """A line for every interval: means of what was seen in it."""
    series = outcome.series
    heads, columns = ["begin", "seconds", "waiting_pods", "evicted_pods"], [series.waiting, series.evictions]
    for row, name in enumerate(series.resources):
        heads += [f"allocatable_{name}", f"used_{name}"]
        columns += [series.allocatable[row], series.used[row]]
    for queue, one in series.by_queue.items():
        for row, name in enumerate(series.resources):
            heads += [f"used_{name}_{queue}", f"deserved_{name}_{queue}"]
            columns += [one.used[row], one.deserved[row]]
    yield _line(heads)
    for begin, seconds, *values in zip(
        series.begins.tolist(), series.seconds.tolist(), *(one.tolist() for one in columns), strict=True
    ):
        yield _line([_time(begin), _number(seconds), *(_number(one, 3) for one in values)])


def summary(outcomes: Iterable[Outcome], facts: Mapping[str, object]) -> str:
    """The figures of every policy as JSON; what is not known is null."""
    policies = {
        one.policy.name: {
            "decisions": one.decisions,
            "isWhole": one.is_whole,
            **_plain(one.figures._asdict()),
        }
        for one in outcomes
    }
    return json.dumps({**facts, "policies": policies}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: object) -> dict[str, object]:
    """Named values, numbers rounded to nine digits so that the last bits do not show."""
    found = _rounded(value)
    return found if isinstance(found, dict) else {}


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.9g}") if isfinite(value) else None
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {_camel(str(key)): _rounded(one) for key, one in value.items()}
    return value


def _camel(name: str) -> str:
    if not name.islower() or "_" not in name:
        return name
    first, *others = name.split("_")
    return first + "".join(one.capitalize() for one in others)


def _line(values: Iterable[object]) -> str:
    return ",".join(map(_cell, values)) + "\n"


def _cell(value: object) -> str:
    """A value as RFC 4180 has it."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(one in text for one in ',"\r\n') else text


def _time(seconds: float) -> str:
    if not isfinite(seconds):
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if isfinite(value) else ""
