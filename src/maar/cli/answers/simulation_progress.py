"""How far a simulation is, on standard error: a bar on a terminal, else a line now and then."""

import time
from types import TracebackType
from typing import Final, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

_LINE_EVERY_S: Final = 30.0
_DRAW_EVERY_S: Final = 0.2


class SimulationProgress:
    """A bar for every policy, with the time that is left."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._name = ""
        self._jobs: int | None = None
        self._began = self._shown = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"),
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
        self.ends()
        self._name, self._jobs = name, jobs
        self._began = self._shown = time.monotonic()
        if self._bar is not None:
            self._task = self._bar.add_task(name, total=jobs)

    def is_at(self, ended: int) -> None:
        """So many jobs have ended; most calls show nothing."""
        now = time.monotonic()
        if now - self._shown < (_DRAW_EVERY_S if self._bar is not None else _LINE_EVERY_S):
            return
        self._shown = now
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=ended)
        elif self._bar is None:
            typer.echo(f"{self._name}: {self._so_far(ended, now - self._began)}", err=True)

    def ends(self) -> None:
        """The policy has been simulated."""
        if self._bar is not None and self._task is not None and self._jobs is not None:
            self._bar.update(self._task, completed=self._jobs)

    def _so_far(self, ended: int, seconds: float) -> str:
        if self._jobs is None or not ended:
            return f"{ended:,} jobs have ended"
        left = seconds * (self._jobs - ended) / ended
        return f"{ended:,} of {self._jobs:,} jobs have ended, {left:.0f} s left"
