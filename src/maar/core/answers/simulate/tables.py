"""The tables of a report: figures for the page, columns for spreadsheets, a summary for programs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from maar.core.answers.simulate.text import amount_text, percent, seconds_text
from maar.core.model.resources import CPU, is_bytes, units_in_one
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
        ("Total delay, mean", *(seconds_text(one.delay.mean) for one in of)),
        ("Total delay, 95th percentile", *(seconds_text(one.delay.p95) for one in of)),
        ("Time from submission to end, mean", *(seconds_text(one.response.mean) for one in of)),
        ("Bounded slowdown, mean", *(amount_text(one.slowdown.mean) for one in of)),
        ("Bounded slowdown, 95th percentile", *(amount_text(one.slowdown.p95) for one in of)),
        (f"Share error, {main}", *(percent(one.share_error.get(main, np.nan)) for one in of)),
        ("Jain's index of weighted shares", *(amount_text(one.jain) for one in of)),
        ("Evicted pods", *(f"{one.evictions:,}" for one in of)),
        (f"Work lost, {main} hours", *(f"{amount_text(one.lost)} ({percent(one.lost_part)})" for one in of)),
        ("Decisions", *(f"{one.decisions:,}" for one in outcomes)),
    ]
    return ("", *(one.policy.name for one in outcomes)), rows


def waits_by_size(outcomes: Sequence[Outcome]) -> Table:
    """Waits and delays by what jobs ask for, a row for each policy."""
    found = [
        {
            name: (one.figures.wait_by_size[name], one.figures.delay_by_size[name])
            for name in one.figures.wait_by_size
        }
        for one in outcomes
    ]
    return _waits(outcomes, f"size, {outcomes[0].figures.main_resource}", found)


def waits_by_queue(outcomes: Sequence[Outcome]) -> Table:
    """Waits and delays by queue, a row for each policy."""
    found = [
        {name: (one.wait, one.delay) for name, one in outcome.figures.by_queue.items()}
        for outcome in outcomes
    ]
    return _waits(outcomes, "queue", found)


def _waits(
    outcomes: Sequence[Outcome], what: str, of: Sequence[Mapping[str, tuple[Distribution, Distribution]]]
) -> Table:
    names = dict.fromkeys(name for one in of for name in one)
    rows = list[tuple[str, ...]]()
    for name in names:
        for outcome, found in zip(outcomes, of, strict=True):
            if name in found:
                wait, delay = found[name]
                seconds = (wait.mean, wait.p50, wait.p95, wait.p99, delay.mean, delay.p95)
                rows.append((name, outcome.policy.name, f"{wait.number:,}", *map(seconds_text, seconds)))
    headings = ("wait, mean", "median", "p95", "p99", "total delay, mean", "p95")
    return (what, "policy", "jobs", *headings), rows


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


def job_columns(outcome: Outcome) -> dict[str, Any]:
    """A row for every job; times are seconds since 1970 in UTC, NaN where it never happened."""
    jobs = outcome.jobs
    requests = {
        f"{_with_unit(name)}_per_pod": amounts / units_in_one(name) for name, amounts in jobs.requests.items()
    }
    return {
        "job": jobs.job,
        "namespace": jobs.namespace,
        "queue": jobs.queue,
        "pods": jobs.pods,
        **requests,
        "submitted_unix_s": jobs.submitted,
        "started_unix_s": jobs.started,
        "ended_unix_s": jobs.ended,
        "wait_s": jobs.wait,
        "total_delay_s": jobs.delay,
        "run_time_s": jobs.run_time,
        "estimate_s": jobs.estimate,
        "bounded_slowdown": jobs.slowdown,
        "evicted_pods": jobs.evictions,
        "lost_pod_seconds": jobs.lost,
    }


def series_columns(outcome: Outcome) -> dict[str, Any]:
    """A row for every interval: means of what was seen in it."""
    series = outcome.series
    columns: dict[str, Any] = {
        "begin_unix_s": series.begins,
        "length_s": series.seconds,
        "waiting_pods": series.waiting,
        "evicted_pods": series.evictions,
    }
    for row, name in enumerate(series.resources):
        units = units_in_one(name)
        columns[f"allocatable_{_with_unit(name)}"] = series.allocatable[row] / units
        columns[f"used_{_with_unit(name)}"] = series.used[row] / units
        for queue, of_queue in series.by_queue.items():
            columns[f"used_{_with_unit(name)}_by_{queue}"] = of_queue.used[row] / units
            columns[f"deserved_{_with_unit(name)}_by_{queue}"] = of_queue.deserved[row] / units
    return columns


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


def _with_unit(resource: str) -> str:
    """A resource as a heading: what is counted in pieces needs no unit."""
    return f"{resource}_bytes" if is_bytes(resource) else f"{resource}_cores" if resource == CPU else resource
