"""The log of a container: which lines a client asks for, and the files that they are in."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from maar.embedded.failures import Cause, bad_request, invalid

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False, "": False}


@dataclass(frozen=True)
class LogOptions:
    """The options of one request; None where nothing is asked for."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    since_time: datetime | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "LogOptions":
        """Read the options of a request; refuse what Kubernetes refuses."""
        options = cls(
            query.get("container", ""),
            _flag(query, "follow"),
            _flag(query, "previous"),
            _flag(query, "timestamps"),
            _number(query, "tailLines"),
            _number(query, "limitBytes"),
            _number(query, "sinceSeconds"),
            _time(query, "sinceTime"),
        )
        causes = [
            Cause(name, "FieldValueInvalid", f"Invalid value: {number}: must be greater than {least}")
            for name, number, smallest, least in (
                ("tailLines", options.tail_lines, 0, "or equal to 0"),
                ("limitBytes", options.limit_bytes, 1, "0"),
                ("sinceSeconds", options.since_seconds, 1, "0"),
            )
            if number is not None and number < smallest
        ]
        if options.since_seconds is not None and options.since_time is not None:
            message = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
            causes.append(Cause("", "FieldValueForbidden", message))
        if causes:
            raise invalid("PodLogOptions", "", "", causes)
        return options

    def since(self, now: float) -> bytes:
        """The stamp of the first line that is asked for; empty for all."""
        if self.since_seconds is not None:
            return stamp(now - self.since_seconds)
        return stamp(self.since_time.timestamp()) if self.since_time else b""


def stamp(seconds: float) -> bytes:
    """A time as lines of logs begin with it; later ones sort later."""
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f"{text}000Z".encode()


def _flag(query: Mapping[str, str], name: str) -> bool:
    text = query.get(name, "")
    if text.lower() not in _BOOLEANS:
        raise bad_request(f"{name}: {text!r} is not a truth value: write true or false")
    return _BOOLEANS[text.lower()]


def _number(query: Mapping[str, str], name: str) -> int | None:
    if name not in query:
        return None
    try:
        return int(query[name])
    except ValueError:
        raise bad_request(f"{name}: {query[name]!r} is not a whole number") from None


def _time(query: Mapping[str, str], name: str) -> datetime | None:
    if name not in query:
        return None
    try:
        time = datetime.fromisoformat(query[name])
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise bad_request(f"{name}: {query[name]!r} is not a time: write one like 2026-01-31T12:00:00Z")
    return time


POLL: Final = 0.1  # seconds between looks at a log that may grow

_CHUNK: Final = 64 << 10


async def read_log(path: Path, tail: int | None, over: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Whole lines in chunks: those that are there, and those to come until `over` says that none will."""
    with ExitStack() as opened:
        files = _open(path, opened)
        if tail is not None:
            _skip_to_last(files, tail)
        rest = b""
        while True:
            finished = over()  # asked before reading, so that the last lines are read
            for file in files:
                while data := file.read(_CHUNK):
                    lines, end, rest = (rest + data).rpartition(b"\n")
                    if end:
                        yield lines + end
                    await asyncio.sleep(0)
            if finished:
                return
            if newer := _newer(path, files[-1:]):
                files = [*files[-1:], opened.enter_context(newer)]
            else:
                await asyncio.sleep(POLL)


def _open(path: Path, opened: ExitStack) -> list[BinaryIO]:
    """The files of a log, the older one first."""
    current = _newer(path, [])
    if current is None:
        return []
    files = [opened.enter_context(current)]
    # A log that is set aside in this moment is both files.
    if older := _newer(path.with_name(f"{path.name}.1"), files):
        files.insert(0, opened.enter_context(older))
    return files


def _newer(path: Path, than: list[BinaryIO]) -> BinaryIO | None:
    """The file that has a name now, unless it is one that is open or there is none."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    if any(os.path.samestat(os.fstat(file.fileno()), os.fstat(one.fileno())) for one in than):
        file.close()
        return None
    return file


def _skip_to_last(files: list[BinaryIO], lines: int) -> None:
    """Put every file where its part of the last lines begins."""
    for file in reversed(files):
        lines -= _seek_last(file, lines)


def _seek_last(file: BinaryIO, lines: int) -> int:
    """Put a file where its last lines begin; gives how many there are."""
    at, found = file.seek(0, os.SEEK_END), 0
    while at and lines:
        start = max(0, at - _CHUNK)
        file.seek(start)
        block = file.read(at - start)
        position = len(block)
        while (position := block.rfind(b"\n", 0, position)) >= 0:
            if found == lines:
                file.seek(start + position + 1)
                return lines
            found += 1
        at = start
    file.seek(at)
    return found
