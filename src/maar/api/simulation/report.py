"""The files of a simulation: the page, the summary, and the columns of every policy."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Final

from maar.api.errors import InputError, why
from maar.apps.snapshots.configuration import as_document
from maar.core.answers.simulate.page import Heading, page
from maar.core.answers.simulate.tables import job_columns, overview, series_columns, summary
from maar.core.simulation.experiment import Outcome

_NOT_IN_FOLDERS: Final = re.compile(r"[^A-Za-z0-9._-]+")
_GAP: Final = "  "


@dataclass(eq=False)
class ReportFolder:
    """The folder of a report, with what is known at any time; a file that was there is replaced."""

    folder: Path
    _written: set[str] = field(default_factory=set)  # policies whose columns are there

    def write(self, heading: Heading, outcomes: Sequence[Outcome], facts: dict[str, object]) -> None:
        """Write the page, the summary, and the columns of policies that are new."""
        folder = self.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for outcome in outcomes:
                if outcome.policy.name not in self._written:
                    of_policy = folder / folder_name(outcome.policy.name)
                    of_policy.mkdir(exist_ok=True)
                    _write(of_policy / "jobs.csv", csv_lines(job_columns(outcome)))
                    _write(of_policy / "series.csv", csv_lines(series_columns(outcome)))
                    self._written.add(outcome.policy.name)
            _write(folder / "report.html", page(heading, outcomes))
            _write(folder / "summary.json", [summary(outcomes, {**facts, "notes": list(heading.notes)})])
        except OSError as error:
            raise InputError(
                f" {folder}: cannot be written: {why(error)}; name another folder", option="out"
            ) from None


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written before anything is simulated."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f" {folder}: cannot be made: {why(error)}; name another folder", option="out"
        ) from None


def folder_name(policy: str) -> str:
    """The folder of a policy."""
    return _NOT_IN_FOLDERS.sub("-", policy).strip(".-") or "policy"


def configurations_of(outcomes: Iterable[Outcome]) -> dict[str, str]:
    """What each policy was configured with, as text, by its name."""
    texts = dict[str, str]()
    for policy in (outcome.policy for outcome in outcomes):
        queue = (
            f"All jobs are in one queue, dequeueStrategy: {policy.one_queue}\n" if policy.one_queue else ""
        )
        texts[policy.name] = queue + json.dumps(as_document(policy.configuration), indent=1)
    return texts


def overview_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """The figures as lines of text, policies side by side."""
    headings, rows = overview(outcomes)
    table = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        _GAP.join(
            [
                first.ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)),
            ]
        )
        for first, *rest in table
    ]


def csv_lines(columns: Mapping[str, Any]) -> Iterator[str]:
    """A line with the names, and one for every row; numbers that nobody knows are empty."""
    yield _line(columns)
    cells = (
        column if isinstance(column, list) else map(_number, column.tolist()) for column in columns.values()
    )
    for row in zip(*cells, strict=True):
        yield _line(row)


def _line(values: Iterable[object]) -> str:
    return ",".join(map(_cell, values)) + "\n"


def _cell(value: object) -> str:
    """A value as RFC 4180 has it."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(special in text for special in ',"\r\n') else text


def _number(value: float) -> str:
    """A number to the microsecond, as exact as times are."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if isfinite(value) else ""


def _write(file: Path, pieces: Iterable[str]) -> None:
    """Write a file in one step: who is killed meanwhile leaves the one that was there."""
    unfinished = file.with_name(f".{file.name}.unfinished")
    with unfinished.open("w", encoding="utf-8", newline="\n") as opened:
        opened.writelines(pieces)
    unfinished.replace(file)
