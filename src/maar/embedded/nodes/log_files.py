"""The log files of containers, as supervisors write them: the last lines, and those still to come."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

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
