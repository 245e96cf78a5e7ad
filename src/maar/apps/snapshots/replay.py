"""Replaying a recording: the same calls to a fresh engine must give the same plans, byte for byte."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import msgspec

from maar.apps.snapshots.configuration import from_recorded
from maar.apps.snapshots.recording import (
    PARTS,
    Configured,
    Decided,
    LearnedEvents,
    RecordedEvent,
    RecordedLine,
    SizeLimitReached,
    Started,
    WriteAssumed,
    WriteForgotten,
    digests,
)
from maar.apps.version import __version__
from maar.core.engine import Engine
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.kinds import KINDS_BY_NAME, BadObjectError, from_json
from maar.core.model.plan import Plan
from maar.core.model.writes import Bind, BindVolume, Evict, Nominate, RemoveGate, Resume, SelectNode, Write

_LINE: Final = msgspec.json.Decoder(RecordedLine)
_WRITES: Final[dict[str, tuple[type[Write], ...]]] = {
    "binds": (Bind,),
    "evictions": (Evict,),
    "nominations": (Nominate,),
    "resumptions": (Resume,),
    "gate_removals": (RemoveGate,),
    "selections": (SelectNode, BindVolume),
}
_SHOWN: Final = 5  # writes of each kind that differ


class BadRecordingError(ValueError):
    """A file that is no recording: the line, and what is wrong with it."""


@dataclass
class ReplayTotals:
    """What has been replayed."""

    runs: int = 0
    cycles: int = 0
    events: int = 0
    binds: int = 0
    evictions: int = 0
    notes: list[str] = field(default_factory=list)


def replay(lines: Iterable[bytes]) -> ReplayTotals:
    """Replay all runs of a recording; raises at the first plan that differs."""
    tally, engine = ReplayTotals(), Engine()
    parsed = parsed_lines(lines, tally.notes)
    for number, line in parsed:
        if not tally.runs and not isinstance(line, Started):
            raise BadRecordingError(f"line {number}: a recording starts with a line that says Started")
        if isinstance(line, Started):
            engine = Engine(from_recorded(line.configuration), line.scheduler_name)
        elif isinstance(line, Decided):
            plan = engine.decide(line.now)
            if line.plan != digests(plan):
                raise DifferenceError(f"line {number}", line, plan, _assumed_next(parsed))
            tally.binds += len(plan.binds)
            tally.evictions += len(plan.evictions)
        else:
            _repeat(engine, line, number)
        _count(tally, line, number)
    if not tally.runs:
        raise BadRecordingError("there is no recording in it; maar scheduler --record writes one")
    return tally


def _repeat(
    engine: Engine,
    line: LearnedEvents | Configured | WriteAssumed | WriteForgotten | SizeLimitReached,
    number: int,
) -> None:
    """Call the engine as it was called then."""
    match line:
        case LearnedEvents(events=events):
            engine.feed([recorded_event(one, number) for one in events])
        case Configured(configuration=document):
            engine.configuration = from_recorded(document)
        case WriteAssumed(write=write):
            engine.assume(write)
        case WriteForgotten(write=write):
            if (known := engine.assumptions.equal_to(write)) is not None:
                engine.forget(known)
        case _:
            pass


def _count(tally: ReplayTotals, line: RecordedLine, number: int) -> None:
    match line:
        case Started(version=version):
            tally.runs += 1
            if version != __version__:
                tally.notes.append(f"line {number}: recorded by Maar {version}, replayed by {__version__}")
        case LearnedEvents(events=events):
            tally.events += len(events)
        case Decided():
            tally.cycles += 1
        case SizeLimitReached():
            tally.notes.append(f"line {number}: the recording ended at its largest size; the run went on")
        case _:
            pass


class DifferenceError(Exception):
    """A plan came out otherwise: one sentence for each thing that differs."""

    def __init__(self, place: str, recorded: Decided, plan: Plan, assumed: list[Write]) -> None:
        found, time = digests(plan), datetime.fromtimestamp(recorded.now, UTC).isoformat()
        parts = [part for part in PARTS if recorded.plan.get(part) != found[part]]
        self.sentences = [
            f"{place}: at {time} another plan comes out; it differs in {', '.join(parts)}",
            *(sentence for part in parts if part in _WRITES for sentence in _writes(part, plan, assumed)),
        ]
        super().__init__("\n".join(self.sentences))


def _writes(part: str, plan: Plan, assumed: list[Write]) -> list[str]:
    """Which writes of one kind were recorded only, or replayed only; none where only their order differs."""
    recorded = {str(one) for one in assumed if isinstance(one, _WRITES[part])}
    replayed = {str(one) for one in getattr(plan, part)}
    return [
        *(f"recorded, not replayed: {one}" for one in sorted(recorded - replayed)[:_SHOWN]),
        *(f"replayed, not recorded: {one}" for one in sorted(replayed - recorded)[:_SHOWN]),
    ]


def _assumed_next(parsed: Iterator[tuple[int, RecordedLine]]) -> list[Write]:
    """What the scheduler set out to write after its decision."""
    writes: list[Write] = []
    for _, line in parsed:
        if not isinstance(line, WriteAssumed):
            break
        writes.append(line.write)
    return writes


def parsed_lines(lines: Iterable[bytes], notes: list[str]) -> Iterator[tuple[int, RecordedLine]]:
    """Read line by line; one that was cut short may only be the last before a run starts, or of all."""
    broken = ""
    for number, data in enumerate(lines, start=1):
        try:
            line = _LINE.decode(data)
        except RecursionError:
            raise BadRecordingError(f"line {number}: nested too deeply to be a line of a recording") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if broken:
                raise BadRecordingError(broken) from None
            broken = f"line {number}: not a line of a recording: {error}"
            continue
        if isinstance(line, Started) and line.format > Started.newest_format:
            raise BadRecordingError(
                f"line {number}: recorded by Maar {line.version} in format {line.format}, and this is"
                f" {__version__}, which reads format {Started.newest_format}; use the version that"
                " recorded it"
            )
        if broken and not isinstance(line, Started):
            raise BadRecordingError(broken)
        if broken:
            notes.append(f"line {number - 1}: cut short; the process that wrote it was killed")
        broken = ""
        yield number, line
    if broken:
        notes.append("the last line is cut short; the process that wrote it was killed")


def recorded_event(recorded: RecordedEvent, number: int) -> Event:
    """The event of a line; raises where it is of a kind, or has an object, that cannot be read."""
    kind = KINDS_BY_NAME.get(recorded.kind)
    if kind is None:
        raise BadRecordingError(f"line {number}: {recorded.kind} is not a kind that Maar reads")
    if recorded.gone:
        return Deleted(kind=recorded.kind, key=recorded.gone)
    try:
        return Upserted(object=from_json(kind, recorded.object))
    except BadObjectError as error:
        raise BadRecordingError(f"line {number}: a {recorded.kind} cannot be read: {error}") from None
