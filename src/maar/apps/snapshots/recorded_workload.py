"""A recording as a workload for simulations: what was learned before each decision."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from maar.apps.snapshots.configuration import from_recorded
from maar.apps.snapshots.recording import Decided, LearnedEvents, Started, WriteAssumed
from maar.apps.snapshots.replay import BadRecordingError, parsed_lines, recorded_event
from maar.core.model.events import Event
from maar.core.model.writes import Evict
from maar.core.policy.configuration import Configuration
from maar.core.traces.recorded_moments import RecordedMoment


class RecordedStart(NamedTuple):
    """How the recorded scheduler was configured when it first started."""

    configuration: Configuration
    scheduler_name: str


def recorded_start(lines: Iterable[bytes]) -> RecordedStart:
    """Read the first line of a recording."""
    for _, line in parsed_lines(lines, []):
        if isinstance(line, Started):
            return RecordedStart(from_recorded(line.configuration), line.scheduler_name)
        break
    raise BadRecordingError("line 1: a recording starts with a line that says Started")


def recorded_moments(lines: Iterable[bytes], notes: list[str] | None = None) -> Iterator[RecordedMoment]:
    """What a scheduler learned before each decision; what came after the last one is left out."""
    events, evicted, restarts = list[Event](), set[str](), False
    for number, line in parsed_lines(lines, notes if notes is not None else []):
        match line:
            case Started():
                events.clear()
                restarts = True
            case LearnedEvents():
                events += [recorded_event(one, number) for one in line.events]
            case WriteAssumed(write=Evict() as write):
                evicted.add(write.pod)
            case Decided(now=now):
                yield RecordedMoment(now, events, frozenset(evicted), restarts)
                events, restarts = [], False
                evicted.clear()
            case _:
                pass
