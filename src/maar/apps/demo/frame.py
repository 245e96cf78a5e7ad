"""What the demo shows: a frame of the current state, and the summary at the end, as plain values."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from maar.apps.demo.record import LogLine, Record
from maar.apps.demo.steps import DemoSteps, Step
from maar.core.answers.tree.answer import TreeView
from maar.core.model.queue import ROOT


@dataclass(frozen=True)
class Frame:
    """One moment of the hour."""

    minute: float
    speed: float
    is_held: bool  # the hour waits for the cluster
    tree: TreeView
    steps: tuple[Step, ...]
    log: tuple[LogLine, ...]  # all until now


@dataclass(frozen=True)
class Row:
    """The figures of a queue: CPUs on average, groups, minutes and pods; of an inner queue all below it."""

    queue: str
    depth: int
    used: float
    deserved: float
    submitted: int
    done: int
    median_wait: float | None  # None where nothing ran
    evicted: int


@dataclass(frozen=True)
class Summary:
    """How the hour went, and what was shown."""

    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    failed: int = 0  # pods

    @property
    def is_complete(self) -> bool:
        """Whether everything was shown."""
        return all(step.outcome for step in self.steps)


def frame_of(record: Record, steps: DemoSteps) -> Frame:
    """Look at the cluster as it is now."""
    clock = record.clock
    return Frame(clock.minute, clock.speed, clock.is_held, record.tree(), steps.steps, tuple(record.log))


def summary_of(record: Record, steps: DemoSteps) -> Summary:
    """Add up what has been seen."""
    return Summary(tuple(_rows(record, record.tree())), steps.steps, record.failed)


def _rows(record: Record, view: TreeView) -> Iterator[Row]:
    submitted, done, evicted = Counter[str](), Counter[str](), Counter[str]()
    waits: defaultdict[str, list[float]] = defaultdict(list)
    paths = {name: list(_path(view, name)) for name in view.queues}
    for group, submission in record.submitted.items():
        for queue in paths[submission.queue]:
            submitted[queue] += 1
            done[queue] += group in record.done
            if group in record.waits:
                waits[queue].append(record.waits[group])
    for leaf, pods in record.evicted.items():
        for queue in paths[leaf]:
            evicted[queue] += pods
    for name in view.queues:
        average = record.averages[name]
        average.add(record.queues[name], record.clock.minute)
        span = average.until - average.since
        yield Row(
            queue=name,
            depth=len(paths[name]) - 1,
            used=average.used / span,
            deserved=average.deserved / span,
            submitted=submitted[name],
            done=done[name],
            median_wait=median(waits[name]) if waits[name] else None,
            evicted=evicted[name],
        )


def _path(view: TreeView, name: str) -> Iterator[str]:
    while name != ROOT:
        yield name
        name = view.queues[name].parent
    yield ROOT
