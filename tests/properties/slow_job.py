"""What becomes of a job, written down from the table of phases and orders, one thing at a time.

The slow one knows no versions, marks or finalizers, and writes nothing: it has pods that stand
somehow, and moves from phase to phase until nothing changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

ALIVE: Final = ("Pending", "Running")
_ENDED: Final = {"Aborting": "Aborted", "Terminating": "Terminated", "Completing": "Completed"}
_ENDING: Final = {"AbortJob": "Aborting", "TerminateJob": "Terminating", "CompleteJob": "Completing"}
FINAL: Final = ("Completed", "Failed", "Terminated")

Cell = tuple[str, int]  # a task and an index


@dataclass(frozen=True)
class SlowPolicy:
    """An event, or an exit code, and the action that answers it."""

    event: str
    action: str
    exit_code: int | None = None

    def answers(self, event: str, code: int) -> bool:
        """Whether it is for what happened."""
        if self.exit_code is not None:
            return event == "PodFailed" and code == self.exit_code
        return self.event in (event, "*")


@dataclass(frozen=True)
class SlowTask:
    """A task."""

    name: str
    replicas: int
    least: int
    policies: tuple[SlowPolicy, ...]
    partition_size: int  # 0: it has no partitions


@dataclass
class SlowJob:
    """A job that has been created and waits for its group to be admitted."""

    tasks: tuple[SlowTask, ...]
    least: int
    max_retry: int
    min_success: int | None
    policies: tuple[SlowPolicy, ...]
    are_slow: bool  # whether pods that are deleted stay until they end
    phase: str = "Pending"
    retry: int = 0
    version: int = 0
    is_admitted: bool = False
    restarts_all: bool = False
    pods: dict[Cell, str] = field(default_factory=dict)
    going: set[Cell] = field(default_factory=set)  # terminating
    succeeded: set[Cell] = field(default_factory=set)  # and removed
    of_before: set[Cell] = field(default_factory=set)  # ended in a run before, and kept
    made: list[Cell] = field(default_factory=list)  # the pods that were made, again and again

    # What happens

    def begin(self) -> None:
        """It is created; one that needs no pods runs at once."""
        self._settle()

    def admit(self) -> None:
        """The scheduler admits the pod group."""
        self.is_admitted = True
        self._settle()

    def run(self, cell: Cell) -> None:
        """A pod runs."""
        self.pods[cell] = "Running"
        self._settle()

    def succeed(self, cell: Cell) -> None:
        """A pod succeeds; with all of its task, that is TaskCompleted."""
        self.pods[cell] = "Succeeded"
        task = self._task(cell)
        if all(self._is_done((task.name, index)) for index in range(task.replicas)):
            self._happened("TaskCompleted", cell)
        self._settle()

    def fail(self, cell: Cell, code: int) -> None:
        """A pod fails."""
        self.pods[cell] = "Failed"
        self._happened("PodFailed", cell, code)
        self._settle()

    def remove(self, cell: Cell, *, is_eviction: bool, is_slow: bool) -> None:
        """Somebody deletes a pod: evicted where it has not ended, or where that was what ended it."""
        stood = self.pods.pop(cell)
        is_old = cell in self.of_before
        self.of_before.discard(cell)
        if stood == "Succeeded":
            self.succeeded.add(cell)
        elif stood in ALIVE:
            if is_slow:
                self.going.add(cell)
            self._happened("PodEvicted", cell)
        elif is_eviction and not is_old:
            self._happened("PodEvicted", cell)
        self._settle()

    def end(self, cell: Cell) -> None:
        """A pod that was terminating is gone."""
        self.going.discard(cell)
        self._settle()

    def command(self, action: str) -> None:
        """A Command, which names no pods."""
        self._order(action, (), is_retry=True)
        self._settle()

    # The table

    def _happened(self, event: str, cell: Cell, code: int = 0) -> None:
        for policy in (*self._task(cell).policies, *self.policies):
            if policy.answers(event, code):
                self._order(policy.action, self._cells(policy.action, cell), is_retry=event != "PodEvicted")
                return

    def _order(self, action: str, cells: Iterable[Cell], *, is_retry: bool) -> None:
        cells = set(cells)
        if self.phase in ("Pending", "Running", "Restarting"):
            if action in _ENDING:
                self._kill_alive()
                self.phase, self.version = _ENDING[action], self.version + 1
            elif action == "RestartJob" and not (self.phase == "Restarting" and self.restarts_all):
                self._restart(set(self.pods) | self.succeeded, is_retry=is_retry, is_whole=True)
            elif cells and not (self.phase == "Restarting" and self.restarts_all):
                self._restart(cells, is_retry=is_retry, is_whole=False)
        elif self.phase in ("Aborting", "Aborted") and action == "ResumeJob":
            self._kill_alive()
            self.of_before |= set(self.pods)
            self.phase, self.version = "Restarting", self.version + 1
            self.restarts_all, self.is_admitted = True, False

    def _restart(self, cells: set[Cell], *, is_retry: bool, is_whole: bool) -> None:
        if is_retry and self.phase != "Restarting":
            self.retry += 1
        if self.retry >= self.max_retry:
            self._kill_alive()
            self.phase, self.version = "Failed", self.version + 1
            return
        for cell in cells:
            self._kill(cell)
            self.succeeded.discard(cell)
        self.phase, self.restarts_all = "Restarting", is_whole
        if is_whole:
            self.version, self.is_admitted = self.version + 1, False

    def _settle(self) -> None:
        while self._moved() or self._made():
            pass

    def _moved(self) -> bool:
        """One change of phase that follows from the pods."""
        before, replicas = self.phase, sum(task.replicas for task in self.tasks)
        running, pending = self._count("Running"), self._count("Pending")
        succeeded, failed = self.successes, self._count("Failed")
        if before == "Pending" and running + succeeded + failed >= self.least:
            self.phase = "Running"
        elif before == "Running" and replicas:
            if self.min_success is not None and succeeded >= self.min_success:
                self.phase = "Completed"
                self._kill_alive()
            elif succeeded + failed == replicas:
                is_good = self.min_success is None and succeeded >= self.least and not self._is_task_short()
                self.phase = "Completed" if is_good else "Failed"
            elif pending > replicas - self.least:
                self.phase = "Pending"
        elif before == "Restarting" and replicas - len(self.going) >= self.least:
            self.phase, self.restarts_all = "Pending", False
        elif before in _ENDED and not (running or pending or self.going):
            self.phase = _ENDED[before]
        return self.phase != before

    def _made(self) -> bool:
        """Whether a pod was missing, and was made."""
        if self.phase not in ("Pending", "Running") or not self.is_admitted:
            return False
        cells = [(task.name, index) for task in self.tasks for index in range(task.replicas)]
        missing = [one for one in cells if not (one in self.pods or one in self.going or self._is_done(one))]
        self.pods |= dict.fromkeys(missing, "Pending")
        self.made += missing
        return bool(missing)

    # What stands in it

    @property
    def successes(self) -> int:
        """How many pods succeeded, those that are removed included."""
        return self._count("Succeeded") + len(self.succeeded)

    def _count(self, stood: str) -> int:
        return list(self.pods.values()).count(stood)

    def _is_done(self, cell: Cell) -> bool:
        return cell in self.succeeded or self.pods.get(cell) == "Succeeded"

    def _task(self, cell: Cell) -> SlowTask:
        return next(task for task in self.tasks if task.name == cell[0])

    def _cells(self, action: str, cell: Cell) -> list[Cell]:
        """The pods that an action is about."""
        task = self._task(cell)
        whole = [(task.name, index) for index in range(task.replicas)]
        if action == "RestartPod":
            return [cell]
        if action == "RestartPartition":
            size = task.partition_size
            return [one for one in whole if size and one[1] // size == cell[1] // size]
        return whole if action == "RestartTask" else []

    def _is_task_short(self) -> bool:
        if self.least < sum(task.least for task in self.tasks):
            return False
        return any(
            sum(self._is_done((task.name, index)) for index in range(task.replicas)) < task.least
            for task in self.tasks
        )

    def _kill(self, cell: Cell) -> None:
        self.of_before.discard(cell)
        if self.pods.pop(cell, "") in ALIVE and self.are_slow:
            self.going.add(cell)

    def _kill_alive(self) -> None:
        for cell in [one for one, stood in self.pods.items() if stood in ALIVE]:
            self._kill(cell)
