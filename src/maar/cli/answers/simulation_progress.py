"""How far a simulation is, on standard error: a bar on a terminal, else a line after every thousand jobs."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from maar.api.simulation.experiment import Follower
from maar.cli.terminal import Terminal

_LINE_EVERY: Final = 1_000  # jobs, so that the lines are the same on every machine
_DRAW_EVERY_S: Final = 0.2


class SimulationProgress(Follower):
    """A bar for every policy, with the time that is left; results are written when one has been simulated."""

    def __init__(self, write: Callable[[], None] = lambda: None) -> None:
        self._write = write
        self._console = Terminal(stderr=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._name = ""
        self._jobs: int | None = None
        self._shown_at = 0.0  # the bar
        self._shown = 0  # jobs that had ended by the last line

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(), MofNCompleteColumn(), TextColumn("jobs"),
                TimeRemainingColumn(elapsed_when_finished=True), console=self._console,
            )  # fmt: skip
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begins(self, name: str, jobs: int | None) -> None:
        """A policy is simulated from now on."""
        self._name, self._jobs, self._shown = name, jobs, 0
        if self._bar is not None:
            self._task = self._bar.add_task(name, total=jobs)

    def is_at(self, ended: int) -> None:
        """So many jobs have ended; most calls show nothing."""
        if self._bar is not None and self._task is not None:
            if (now := time.monotonic()) - self._shown_at >= _DRAW_EVERY_S:
                self._shown_at = now
                self._bar.update(self._task, completed=ended)
        elif self._bar is None and ended // _LINE_EVERY > self._shown // _LINE_EVERY:
            self._shown = ended
            of_all = "" if self._jobs is None else f" of {self._jobs:,}"
            typer.echo(f"{self._name}: {ended:,}{of_all} jobs have ended", err=True)

    def ends(self) -> None:
        """The policy has been simulated."""
        if self._bar is not None and self._task is not None and self._jobs is not None:
            self._bar.update(self._task, completed=self._jobs)
        self._write()
