"""The files of a simulation: the page, the summary, and the columns of every policy."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from maar.apps.snapshots.configuration import as_document
from maar.cli.failure import CommandError, why
from maar.core.answers.simulate.page import Heading, page
from maar.core.answers.simulate.tables import jobs_csv, overview, series_csv, summary
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
            for one in outcomes:
                if one.policy.name not in self._written:
                    of_policy = folder / folder_name(one.policy.name)
                    of_policy.mkdir(exist_ok=True)
                    _write(of_policy / "jobs.csv", jobs_csv(one))
                    _write(of_policy / "series.csv", series_csv(one))
                    self._written.add(one.policy.name)
            _write(folder / "report.html", page(heading, outcomes))
            _write(folder / "summary.json", [summary(outcomes, {**facts, "notes": list(heading.notes)})])
        except OSError as error:
            raise CommandError(
                f"--out {folder}: cannot be written: {why(error)}; name another folder"
            ) from None


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written before anything is simulated."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--out {folder}: cannot be made: {why(error)}; name another folder") from None


def folder_name(policy: str) -> str:
    """The folder of a policy."""
    return _NOT_IN_FOLDERS.sub("-", policy).strip(".-") or "policy"


def configurations_of(outcomes: Iterable[Outcome]) -> dict[str, str]:
    """What each policy was configured with, as text, by its name."""
    found = dict[str, str]()
    for policy in (one.policy for one in outcomes):
        queue = (
            f"All jobs are in one queue, dequeueStrategy: {policy.one_queue}\n" if policy.one_queue else ""
        )
        found[policy.name] = queue + json.dumps(as_document(policy.configuration), indent=1)
    return found


def overview_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """The figures as lines of text, policies side by side."""
    headings, rows = overview(outcomes)
    table = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        _GAP.join(
            [first.ljust(widths[0]), *(one.rjust(width) for one, width in zip(rest, widths[1:], strict=True))]
        )
        for first, *rest in table
    ]


def _write(file: Path, pieces: Iterable[str]) -> None:
    """Write a file in one step: who is killed meanwhile leaves the one that was there."""
    unfinished = file.with_name(f".{file.name}.unfinished")
    with unfinished.open("w", encoding="utf-8", newline="\n") as opened:
        opened.writelines(pieces)
    unfinished.replace(file)
