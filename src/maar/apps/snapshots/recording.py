"""Recordings: every call to an engine as a line of JSON, so that the same can be decided again."""

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EAGAIN
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import blake2b
from io import BufferedRandom
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from maar.apps.snapshots.configuration import as_document
from maar.apps.snapshots.taking import Snapshots
from maar.apps.version import __version__
from maar.core.engine import Brevity, Engine
from maar.core.model.events import Event, Upserted
from maar.core.model.kinds import to_json
from maar.core.model.metadata import Record
from maar.core.model.plan import Plan
from maar.core.model.writes import Write
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.views.reduced_objects import reduced

_LOG: Final = logging.getLogger(__name__)

LARGEST: Final = 2**30  # bytes; a recording that is forgotten must not fill the disk
_NOTHING: Final = msgspec.Raw()
PARTS: Final = (
    "queues", "binds", "evictions", "nominations", "resumptions", "gate_removals", "selections", "pod_groups",
    "held_room",
)  # fmt: skip


class Started(Record, frozen=True, tag=True, tag_field="line"):
    """A scheduler has started; it knows nothing yet."""

    newest_format: ClassVar[int] = 1  # a line that means something else than before makes the next one

    version: str
    scheduler_name: str
    configuration: dict[str, object]
    format: int = 1


class RecordedEvent(Record, frozen=True):
    """An event: an object, or the key of a deleted one."""

    kind: str
    object: msgspec.Raw = _NOTHING
    gone: str = ""


class LearnedEvents(Record, frozen=True, tag="EventsFed", tag_field="line"):
    """Events that the engine has learned."""

    events: tuple[RecordedEvent, ...]


class Configured(Record, frozen=True, tag=True, tag_field="line"):
    """The configuration from here on."""

    configuration: dict[str, object]


class Decided(Record, frozen=True, tag=True, tag_field="line"):
    """A decision: its time, and digests of the parts of its plan."""

    now: float
    plan: dict[str, str]


class WriteAssumed(Record, frozen=True, tag=True, tag_field="line"):
    """The engine assumes that a write is carried out."""

    write: Write


class WriteForgotten(Record, frozen=True, tag=True, tag_field="line"):
    """The engine no longer assumes a write."""

    write: Write


class SizeLimitReached(Record, frozen=True, tag=True, tag_field="line"):
    """The recording ends here; the scheduler went on."""


RecordedLine = (
    Started | LearnedEvents | Configured | Decided | WriteAssumed | WriteForgotten | SizeLimitReached
)


class RecordingEngine(Engine):
    """An engine that has its calls recorded, and snapshots taken of what it decides on."""

    def __init__(
        self,
        configuration: Configuration = DEFAULT,
        scheduler_name: str = "volcano",
        *,
        recording: "Recording | None" = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        super().__init__(configuration, scheduler_name)
        self._recording, self._snapshots = recording, snapshots
        self._recorded = configuration
        if recording is not None:
            recording.begin(configuration, scheduler_name)

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        listed = list(events)
        if self._recording:
            self._recording.add(LearnedEvents(events=tuple(map(_recorded_event, listed))))
        super().feed(listed)

    def decide(self, now: float, *, is_brief: Brevity = False) -> Plan:
        """Decide what to do now."""
        plan = super().decide(now, is_brief=is_brief)
        if self._recording:
            if self.configuration is not self._recorded:
                self._recorded = self.configuration
                self._recording.add(Configured(configuration=as_document(self.configuration)))
            self._recording.add(Decided(now=now, plan=digests(plan)))
            self._recording.flush()
        if self._snapshots is not None:
            self._snapshots.decided(self, now, plan)
        return plan

    def assume(self, write: Write) -> None:
        """Assume that a write is carried out until the cluster shows it."""
        if self._recording:
            self._recording.add(WriteAssumed(write=write))
        super().assume(write)

    def forget(self, write: Write) -> None:
        """Take back what was assumed of a write that has failed."""
        # Whether another has taken its place is a matter of identity, which no file keeps.
        if self._recording and self.assumptions.equal_to(write) is write:
            self._recording.add(WriteForgotten(write=write))
        super().forget(write)


class Recording:
    """A file that lines are added to, false once it has ended; what is flushed survives the process."""

    def __init__(self, file: Path, largest: int = LARGEST) -> None:
        self._path, self._largest = file, largest
        self._file: BufferedRandom | None = _opened(file)
        self._size = self._file.seek(0, os.SEEK_END)
        if self._size and _last_byte(self._file) != b"\n":  # whoever wrote it was killed in mid-line
            self._file.write(b"\n")

    def __bool__(self) -> bool:
        return self._file is not None

    def begin(self, configuration: Configuration, scheduler_name: str) -> None:
        """Say that another scheduler starts here."""
        document = as_document(configuration)
        self.add(
            Started(
                version=__version__,
                scheduler_name=scheduler_name,
                configuration=document,
                format=Started.newest_format,
            )
        )

    def add(self, line: RecordedLine) -> None:
        """Add a line, unless the recording has ended."""
        data = to_json(line) + b"\n"
        self._size += len(data)
        if self._file is not None and self._size > self._largest:
            self._try(lambda file: file.write(to_json(SizeLimitReached()) + b"\n"))
            self._end(f"it has reached its {self._largest:,} bytes; the scheduler goes on without")
        self._try(lambda file: file.write(data))

    def flush(self) -> None:
        """Give what was added to the operating system."""
        self._try(BufferedRandom.flush)

    def close(self) -> None:
        """Record no more."""
        self.flush()
        self._end()

    def _try(self, act: Callable[[BufferedRandom], object]) -> None:
        """Do something to the file; a scheduler does not stop because its recording fails."""
        try:
            if self._file is not None:
                act(self._file)
        except OSError as error:
            self._end(f"{error}; make room and start the scheduler again to record on")

    def _end(self, why: str = "") -> None:
        file, self._file = self._file, None
        if file is not None:
            if why:
                _LOG.warning("the recording %s ends here: %s", self._path, why)
            with suppress(OSError):  # it tries to write once more, and is closed either way
                file.close()


def digests(plan: Plan) -> dict[str, str]:
    """Tell the parts of a plan apart from those of any other plan, byte for byte."""
    return {part: blake2b(to_json(getattr(plan, part)), digest_size=16).hexdigest() for part in PARTS}


def _recorded_event(event: Event) -> RecordedEvent:
    if isinstance(event, Upserted):
        one = event.object
        return RecordedEvent(kind=type(one).__name__, object=msgspec.Raw(to_json(reduced(one))))
    return RecordedEvent(kind=event.kind, gone=event.key)


def _opened(file: Path) -> BufferedRandom:
    """Open a file for us alone: no other user may read it, and no other process may write to it."""
    opened = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "ab+")
    try:
        flock(opened, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        opened.close()
        raise BlockingIOError(EAGAIN, "another scheduler records into it; name another file") from None
    return opened


def _last_byte(file: BufferedRandom) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)
