"""The demo on a screen, a line and a bar for every queue; and its end in words."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from maar.apps.demo.clock import MINUTE_S, clock_time
from maar.apps.demo.frame import Frame, Row, Summary
from maar.apps.demo.steps import Step
from maar.core.answers.tree.answer import Measure, TreeQueue, TreeView
from maar.core.model.queue import ROOT
from maar.core.model.resources import CPU, roughly
from maar.core.views.drawing import branches

WIDTH: Final = 80
_BAR: Final = 24
_LATEST: Final = 3  # log lines on the screen
_TREE_EVERY_S: Final = 5.0  # where there is no screen
_STATES: Final = {"Open": "", "Closing": "yellow", "Closed": "red"}
_USED, _BORROWED, _RESERVED, _DESERVED = "█", "▓", "▒", "░"
_COLOURS: Final = {_USED: "green", _BORROWED: "yellow", _RESERVED: "blue", _DESERVED: "dim"}
_LEGEND: Final = (
    (_USED, "in use"),
    (_BORROWED, "borrowed"),
    (_RESERVED, "reserved and idle"),
    (_DESERVED, "deserved and idle"),
)


@contextmanager
def showing(console: Console) -> Iterator[Callable[[Frame], None]]:
    """Give what shows frames: in place on a terminal, line by line elsewhere."""
    if not console.is_terminal:
        yield PlainLines(console)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda frame: live.update(drawn(frame), refresh=True)


class PlainLines:
    """Prints what happens line by line and a tree every few seconds, where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self._console, self._lines_shown, self._tree_at = console, 0, 0.0

    def __call__(self, frame: Frame) -> None:
        """Print what is new."""
        for minute, text in frame.log[self._lines_shown :]:
            self._print(Text(f"{clock_time(minute)}  {text}"))
        self._lines_shown = len(frame.log)
        if frame.minute >= self._tree_at:
            self._tree_at = frame.minute + _TREE_EVERY_S * frame.speed / MINUTE_S
            for line in (_heading(frame), *_tree(frame.tree)):
                self._print(line)

    def _print(self, line: Text) -> None:
        line.rstrip()
        self._console.print(line, soft_wrap=True)


def drawn(frame: Frame) -> RenderableType:
    """One frame, eighty columns wide."""
    steps = [
        Text(f"✓ {step.outcome}", "green") if step.outcome else Text(f"· {step.title}", "dim")
        for step in frame.steps
    ]
    latest = [Text(f"{clock_time(minute)}  {text}") for minute, text in frame.log[-_LATEST:]]
    lines = [_heading(frame), *_tree(frame.tree), _legend(), *steps, *latest]
    for line in lines:
        line.truncate(WIDTH, overflow="ellipsis")
    return Group(*lines)


def _heading(frame: Frame) -> Text:
    cluster = frame.tree.queues[ROOT]
    cpu = cluster.resources[CPU]
    pace = "paused" if frame.is_held else f"x {frame.speed:g}"
    return Text(
        f"{clock_time(frame.minute)} of the hour ({pace}): {_cpus(cpu.used)} of {_cpus(cpu.deserved)} CPUs "
        f"in use, {cluster.running} groups run, {_waiting(cluster)} wait",
        "bold",
    )


def _tree(view: TreeView) -> Iterator[Text]:
    total = view.queues[ROOT].resources[CPU].deserved
    yield Text(
        f"{'QUEUE':15} {'W':>2} {'GUAR':>4} {'DESERVED':>8} {'USED':>4} {'CPUS':{_BAR}} RUN WAIT STATE", "dim"
    )
    children = {name: queue.children for name, queue in view.queues.items()}
    for name, branch, _ in branches(children, view.top):
        queue = view.queues[name]
        cpu = queue.resources[CPU]
        guarantee = "-" if cpu.guarantee is None else _cpus(cpu.guarantee)
        deserved = _cpus(cpu.deserved) if queue.has_shares else "-"
        weight = "" if name == ROOT else str(queue.weight)
        line = Text(f"{branch + name:15} {weight:>2} {guarantee:>4} {deserved:>8} {_cpus(cpu.used):>4} ")
        line.append_text(_bar(cpu, total))
        line.append(f" {queue.running:3} {_waiting(queue):4} ").append(
            queue.state, _STATES.get(queue.state, "")
        )
        yield line


def _bar(cpu: Measure, total: int) -> Text:
    """Each cell is a part of the whole cluster: what is used, and what is idle though it is deserved."""
    used, deserved, guarantee = (
        round(amount * _BAR / total) if total else 0
        for amount in (cpu.used, cpu.deserved, cpu.guarantee or 0)
    )
    cells = [
        (_USED if cell < deserved else _BORROWED)
        if cell < used
        else _RESERVED
        if cell < guarantee
        else _DESERVED
        if cell < deserved
        else " "
        for cell in range(_BAR)
    ]
    bar = Text()
    for cell in cells:
        bar.append(cell, _COLOURS.get(cell, ""))
    return bar


def _legend() -> Text:
    legend = Text()
    for mark, meaning in _LEGEND:
        legend.append(f"{mark} ", _COLOURS[mark]).append(f"{meaning}   ", "dim")
    return legend


def _waiting(queue: TreeQueue) -> int:
    return queue.inqueue + queue.pending


def _cpus(units: int) -> str:
    return roughly(CPU, units)


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
