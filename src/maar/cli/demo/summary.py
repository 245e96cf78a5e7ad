"""The end of the demo in words: a table of the queues, and what was shown."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from maar.apps.demo.clock import clock_time
from maar.apps.demo.frame import Row, Summary
from maar.apps.demo.steps import Step

_HEADINGS: Final = ("USED", "DESERVED", "GROUPS", "DONE", "MEDIAN WAIT", "EVICTED PODS")
_NAME: Final = 18


def print_summary(summary: Summary, console: Console) -> None:
    """Print how the hour went; times are those of the hour, CPUs are averages over it."""
    console.print(Text("CPUs on average, times of the played hour:", "bold"))
    for line in _table(summary.rows):
        console.print(line, soft_wrap=True)
    if summary.failed:
        failed = f"pods that failed and were submitted again: {summary.failed}; none should have"
        console.print(Text(failed, "red"), soft_wrap=True)
    for step in summary.steps:
        console.print(_step(step), soft_wrap=True)


def _step(step: Step) -> Text:
    if step.outcome:
        return Text(f"✓ {step.title}\n  {step.outcome}", "green")
    return Text(f"✗ {step.title}\n  was not seen", "red")


def _table(rows: tuple[Row, ...]) -> Iterator[Text]:
    yield Text("  ".join(("QUEUE".ljust(_NAME), *_HEADINGS)), "dim")
    for row in rows:
        wait = "-" if row.median_wait is None else clock_time(row.median_wait)
        cells = (
            f"{row.used:.1f}",
            f"{row.deserved:.1f}",
            str(row.submitted),
            str(row.done),
            wait,
            str(row.evicted),
        )
        aligned = [cell.rjust(len(heading)) for cell, heading in zip(cells, _HEADINGS, strict=True)]
        yield Text("  ".join((("  " * row.depth + row.queue).ljust(_NAME), *aligned)))
