"""The write-ahead log: every transaction since a snapshot was written, in a file where damage is found.

The problem. SQLite ends its own log at the first frame with a wrong checksum. A flipped bit then
hides every transaction behind it, and a log that was deleted or cut counts as empty: acknowledged
writes are lost without an error. This log distinguishes damage from an ordinary end:

    header   what it continues: generation, revision, size and SHA-256 of the snapshot
    marks    two slots, written in turn: how far the log was acknowledged (offset, revision,
    checksum) records  length, checksum, transaction; each checksum goes on from that of the record
    before

A transaction is appended, then marked, then acknowledged. Every record before the mark must be
there and right, else the log is damaged. Behind the mark may be what was never acknowledged, such
as a record that kill -9 cut short: it is used as far as it is whole. One slot may be unreadable if
a whole record lies behind the mark of the other, because no mark is ever more than one record
ahead.

The last record of a log that the next generation continues names that generation. Where its files
are missing, opening fails: this log alone does not have everything that was acknowledged.

The marks are at the beginning of the log itself, so that a copy taken while the log grows is whole
too: it is read from the front, and gets the marks before the records. A mark in a file of its own
could be copied later than the log, and the copy would look damaged.

No write waits for the disk: what the operating system has, a killed process does not lose. A
machine that loses power may have kept the mark and lost records before it; then the log is damaged,
and opening reports it. A write costs one append and one mark of fixed size, however long the log
is; reading it costs as much as it is long. An fsync for every write would take ten times as long as
the write. Decision record 32.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from maar.embedded.data_folder import DataFolderError, write_private

_MAGIC: Final = b"maar-wal"
_HEADER: Final = struct.Struct(">8sQQQ32s")  # magic, generation, revision, size and digest of the snapshot
_MARK: Final = struct.Struct(">QQQI")  # number of the mark, end of the log, revision, checksum of the chain
_FRAME: Final = struct.Struct(">II")  # length, checksum
_CHECKSUM: Final = struct.Struct(">I")
_SLOTS: Final = (4096, 8192)  # apart, so that one bad block of the disk spoils one of them
_RECORDS: Final = 12288
_LARGEST: Final = 1 << 30
_ENCODE: Final = msgspec.msgpack.Encoder().encode


class Written(NamedTuple):
    """One object that a transaction wrote; without a body, deleted."""

    resource: str
    namespace: str
    name: str
    body: bytes | None


class Transaction(msgspec.Struct, array_like=True, frozen=True):
    """What was written together, and the revision of the last write."""

    revision: int
    writes: list[Written]
    continued_by: int = 0  # the generation that goes on from here; such a record has no writes


_DECODE: Final = msgspec.msgpack.Decoder(Transaction).decode


class Header(NamedTuple):
    """What a log continues."""

    generation: int
    revision: int
    snapshot_size: int
    snapshot_digest: bytes


class _Mark(NamedTuple):
    number: int
    end: int
    revision: int
    chain: int


class DamagedLogError(Exception):
    """A log lacks what was acknowledged, or the file is not a log."""


def create_log(path: Path, header: Header) -> None:
    """Write an empty log, whole or not at all."""
    data = _HEADER.pack(_MAGIC, *header)
    chain = zlib.crc32(data)
    file = bytearray(_RECORDS)
    file[: len(data) + _CHECKSUM.size] = data + _CHECKSUM.pack(chain)
    for number, slot in enumerate(_SLOTS):
        mark = _packed(_Mark(number, _RECORDS, header.revision, chain))
        file[slot : slot + len(mark)] = mark
    write_private(path, bytes(file))


class LogReader:
    """A log as it is now, record by record; `end`, `revision` and `chain` say how far it has been read."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            self.header, self._mark, self._must_go_on = self._beginning()
        except (DamagedLogError, DataFolderError):
            self._file.close()
            raise
        self.end, self.revision = _RECORDS, self.header.revision
        self.continued_by = 0  # what the last record says
        self._reached_mark = self._is_at_mark()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def acknowledged(self) -> int:
        """The revision that was acknowledged last, as far as the marks can say."""
        return self._mark.revision

    @property
    def next_mark(self) -> int:
        """The number of the next mark."""
        return self._mark.number + 1

    @property
    def lacks_its_continuation(self) -> bool:
        """Whether, read to its end, it was left for the next generation, as far as the marks can say.

        A copy that has an older mark began before that, and is whole without the next generation.
        """
        return bool(self.continued_by) and (self.end == self._mark.end or self._must_go_on)

    def transactions(self) -> Iterator[Transaction]:
        """All of them; raises where one that was acknowledged is not there."""
        self._file.seek(_RECORDS)
        while (found := self._next()) is not None:
            yield found
        if not self._reached_mark or (self._must_go_on and self.end == self._mark.end):
            raise DamagedLogError(f"damaged at byte {self.end:,}, behind revision {self.revision}")

    def _beginning(self) -> tuple[Header, _Mark, bool]:
        start = self._file.read(_RECORDS)
        data = start[: _HEADER.size]
        chain = zlib.crc32(data)
        if len(start) < _RECORDS or start[_HEADER.size :][: _CHECKSUM.size] != _CHECKSUM.pack(chain):
            raise DamagedLogError("damaged in its first block")
        magic, *rest = _HEADER.unpack(data)
        if magic != _MAGIC:  # the checksum is right, so this is no damage
            raise DataFolderError(
                f"{self._file.name} was written by a later version of Maar; start that version, or name"
                " another folder with --data"
            )
        self.chain = chain
        marks = [mark for slot in _SLOTS if (mark := _unpacked(start[slot:])) is not None]
        if not marks:
            raise DamagedLogError("damaged in both of its marks")
        return Header(*rest), max(marks), len(marks) < len(_SLOTS)

    def _next(self) -> Transaction | None:
        """The next record; None where what follows is not one."""
        frame = self._file.read(_FRAME.size)
        if len(frame) < _FRAME.size:
            return None
        length, checksum = _FRAME.unpack(frame)
        if not 0 < length <= _LARGEST or len(payload := self._file.read(length)) < length:
            return None
        if zlib.crc32(payload, zlib.crc32(frame[:4], self.chain)) != checksum:
            return None
        try:
            found = _DECODE(payload)
        except msgspec.MsgspecError:
            return None
        if found.revision != self.revision + len(found.writes):
            return None
        self.end += _FRAME.size + length
        self.revision, self.chain, self.continued_by = found.revision, checksum, found.continued_by
        self._reached_mark = self._reached_mark or self._is_at_mark()
        return found

    def _is_at_mark(self) -> bool:
        return self._mark[1:] == (self.end, self.revision, self.chain)


class LogWriter:
    """Appends to a log that has been read to its end."""

    def __init__(self, path: Path, read: LogReader) -> None:
        self._descriptor = os.open(path, os.O_WRONLY)
        self._end, self._chain, self._number = read.end, read.chain, read.next_mark
        self._revision, self.is_left = read.revision, bool(read.continued_by)
        self._before = self._end, self._chain, self._revision, self.is_left
        self._is_marked = True
        os.ftruncate(self._descriptor, self._end)  # a record that was cut short
        for _ in _SLOTS:  # whatever is there counts from now on, and both slots are readable
            self.mark()

    @property
    def size(self) -> int:
        """How long the file is."""
        return self._end

    def append(self, transaction: Transaction) -> None:
        """Write a transaction behind the others; it is acknowledged once it is marked."""
        if not self._is_marked:
            self.mark()  # one that failed before: marks are never two records apart
        payload = _ENCODE(transaction)
        length = _CHECKSUM.pack(len(payload))
        chain = zlib.crc32(payload, zlib.crc32(length, self._chain))
        self._before = self._end, self._chain, self._revision, self.is_left
        self._write(b"".join((length, _CHECKSUM.pack(chain), payload)))
        self._end += _FRAME.size + len(payload)
        self._chain, self._revision, self._is_marked = chain, transaction.revision, False
        self.is_left = bool(transaction.continued_by)

    def leave_for(self, generation: int) -> None:
        """Record, on the disk, that another generation continues this log; 0 withdraws that."""
        try:
            self.append(Transaction(self._revision, [], generation))
        except OSError:
            self.take_back()
            raise
        self.mark()
        os.fsync(self._descriptor)

    def take_back(self) -> None:
        """Undo the last append, or what there was of it."""
        self._end, self._chain, self._revision, self.is_left = self._before
        self._is_marked = True
        os.ftruncate(self._descriptor, self._end)

    def mark(self) -> None:
        """Mark everything that was appended as acknowledged."""
        mark = _Mark(self._number, self._end, self._revision, self._chain)
        os.pwrite(self._descriptor, _packed(mark), _SLOTS[self._number % len(_SLOTS)])
        self._number += 1
        self._is_marked = True

    def check_space(self, size: int) -> None:
        """Raise OSError where the file cannot grow by a size now."""
        try:
            self._write(bytes(size))
        finally:
            os.ftruncate(self._descriptor, self._end)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            written += os.pwrite(self._descriptor, data[written:], self._end + written)


def _packed(mark: _Mark) -> bytes:
    data = _MARK.pack(*mark)
    return data + _CHECKSUM.pack(zlib.crc32(data))


def _unpacked(data: bytes) -> _Mark | None:
    mark = _Mark(*_MARK.unpack(data[: _MARK.size]))
    return mark if data.startswith(_packed(mark)) else None
