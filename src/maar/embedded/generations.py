"""Generations of database files: what was acknowledged is there, or opening them reports the damage.

A generation is a snapshot, `objects-000001.db`, that never changes once it has its name, and a
write-ahead log, `objects-000001.wal`, that only grows. The log's header has the snapshot's SHA-256,
so that a changed byte in either file is found when they are opened. What is served is a working
database made of both; it has no name in the folder and needs none, because it can always be made
again. When the log has outgrown the snapshot, the next generation is started.

A plain copy of the folder, made file by file at any moment, opens with all that was acknowledged
before the copy began: of the newest generation in it the snapshot is whole, and the log has at
least what its marks say (see `write_ahead_log`). The log gets its name before the snapshot does: a
snapshot without a log is damage, a log without records beside the generation before it is a new
generation that was not finished. Between the two, the old log gets a last record that names the new
generation, so that a missing new generation is noticed. A copy that listed the files before that
record and read the old log after it does not open, and the error says why; salvaging it gives all
that was acknowledged when the copy began.

Complexity. Opening copies the snapshot once, computes its SHA-256 on the way, and replays the log.
A new generation writes all objects once; until then the log has grown to twice the snapshot, so
that the cost of a write stays bounded.

Why not otherwise? SQLite's checkpoints change the database file and the log at different moments,
so that a copy may have one from before and the other from after. Decision records 11 and 32.
"""

import hashlib
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from maar.embedded.data_folder import DataFolderError, sync
from maar.embedded.write_ahead_log import (
    DamagedLogError,
    Header,
    LogReader,
    LogWriter,
    Transaction,
    create_log,
)

_LARGE_LOG: Final = 64 << 20
_NAME: Final = re.compile(r"objects-(\d{6})\.(db|wal)")
_CHUNK: Final = 1 << 20
_BATCH: Final = 5_000  # transactions whose pages are in memory while a log is read
FORMAT: Final = 2
_TABLES: Final = f"""
CREATE TABLE objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
);
CREATE TABLE latest (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
INSERT INTO latest VALUES (1, 1);
PRAGMA user_version = {FORMAT};
"""  # noqa: S608  a constant


class DamageError(Exception):
    """A file of a generation lacks something that was acknowledged."""

    def __init__(self, file: Path, what: str) -> None:
        super().__init__(f"{file} is {what}")
        self.file, self.what = file, what


class Files(NamedTuple):
    """The two files of a generation."""

    number: int
    snapshot: Path
    log: Path


class Working(NamedTuple):
    """The objects of a generation in a database that may be written, and the log read to its end."""

    database: sqlite3.Connection
    log: LogReader


def files(folder: Path, number: int) -> Files:
    """Where a generation is kept."""
    path = folder / f"objects-{number:06}"
    return Files(number, path.with_suffix(".db"), path.with_suffix(".wal"))


def numbers(folder: Path, kind: str) -> list[int]:
    """The generations of which a folder has a db or a wal."""
    found = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    return sorted(int(one[1]) for one in found if one and one[2] == kind)


def newest(folder: Path) -> Files | None:
    """The generation in use; None where there is none yet."""
    logs, snapshots = numbers(folder, "wal"), numbers(folder, "db")  # a log has its name before its snapshot
    if logs and logs[-1] > (snapshots[-1] if snapshots else 0):
        unfinished = files(folder, logs[-1])
        before = files(folder, snapshots[-1]) if snapshots else None
        if not _is_unfinished(unfinished, before):
            raise DamageError(unfinished.snapshot, "missing, although its write-ahead log is there")
    return files(folder, snapshots[-1]) if snapshots else None


def load(generation: Files, into: Path, *, tolerant: bool = False) -> Working:
    """Make the working database of a generation in a new file; `tolerant` stops at a damaged record."""
    with open_log(generation) as log:
        _copy_checked(generation, log.header, into)
        database = open_working(into)
        _check_format(generation, database)
        return Working(continued(database, generation, log, tolerant=tolerant), log)


def open_log(generation: Files) -> LogReader:
    """The log of a generation from its beginning."""
    try:
        return LogReader(generation.log)
    except FileNotFoundError:
        raise DamageError(generation.log, "missing, although its snapshot is there") from None
    except DamagedLogError as error:
        raise DamageError(generation.log, str(error)) from None


def continued(
    database: sqlite3.Connection, generation: Files, log: LogReader, *, tolerant: bool = False
) -> sqlite3.Connection:
    """Bring a database that is as the snapshot of a generation to the end of its log."""
    database.execute("BEGIN")
    try:
        _replay(database, log)
        if log.lacks_its_continuation and not tolerant:
            _check_is_unfinished(generation, log, database)
    except DamagedLogError as error:
        if not tolerant:
            database.close()
            raise DamageError(
                generation.log, f"{error}, and revision {log.acknowledged} was acknowledged"
            ) from None
    database.execute("UPDATE latest SET revision = ?", (log.revision,))
    database.execute("COMMIT")
    return database


def open_working(path: Path | str) -> sqlite3.Connection:
    """Open a database that is thrown away afterwards: it waits for no disk, and writes when it commits."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in (
        "locking_mode = EXCLUSIVE",
        "journal_mode = MEMORY",
        "synchronous = OFF",
        "cache_spill = OFF",
    ):
        database.execute(f"PRAGMA {pragma}")
    return database


def write_generation(
    database: sqlite3.Connection, folder: Path, number: int, announce: Callable[[], None] = lambda: None
) -> Files:
    """Write a database as a snapshot with an empty log; they have their names only when they are whole.

    Between the two names is the moment to announce it.
    """
    made = files(folder, number)
    unfinished = folder / "unfinished.db"
    unfinished.unlink(missing_ok=True)
    try:
        database.execute("VACUUM INTO ?", (str(unfinished),))
        unfinished.chmod(0o600)
        sync(unfinished)
        revision = database.execute("SELECT revision FROM latest").fetchone()[0]
        with unfinished.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        create_log(made.log, Header(number, revision, unfinished.stat().st_size, digest))
        announce()
        unfinished.rename(made.snapshot)
    finally:
        unfinished.unlink(missing_ok=True)
    sync(folder)
    return made


def _write_first(folder: Path) -> Files:
    """Write a generation without objects."""
    with closing(empty(":memory:")) as database:
        return write_generation(database, folder, 1)


def empty(path: Path | str) -> sqlite3.Connection:
    """A database without objects in a new file."""
    database = open_working(path)
    database.executescript(_TABLES)
    return database


class Generations:
    """The generations of a data folder that this process has to itself; the newest is in use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for path in (*folder.glob("unfinished.db*"), *folder.glob("working.db*")):
            path.unlink()
        found = newest(folder)
        self._use(found or _write_first(folder))

    def _use(self, generation: Files) -> None:
        path = self._folder / "working.db"
        try:
            self.database, log = load(generation, path)
        finally:
            path.unlink(missing_ok=True)  # it stays open, and is gone when the process ends
        self.log = LogWriter(generation.log, log)
        self._files = generation
        self._stay()

    def _stay(self) -> None:
        """Withdraw the record that names the next generation: that was not finished."""
        if self.log.is_left:
            self.log.leave_for(0)
        for number in numbers(self._folder, "wal"):
            if number > self._files.number:
                files(self._folder, number).log.unlink()

    def roll_when_large(self, prepare: Callable[[], None]) -> bool:
        """Begin a new generation once the log has outgrown the snapshot; True where that was done."""
        if self.log.size < max(_LARGE_LOG, 2 * self._files.snapshot.stat().st_size):
            return False
        prepare()
        following = self._files.number + 1
        try:
            made = write_generation(
                self.database, self._folder, following, lambda: self.log.leave_for(following)
            )
        except (OSError, sqlite3.Error):
            self._stay()
            raise
        self.log.close()
        with LogReader(made.log) as log:
            self.log = LogWriter(made.log, log)
        self._files = made
        for number in numbers(self._folder, "db"):
            if number < made.number - 1:  # a copy under way may still need the one before
                for path in self._folder.glob(f"objects-{number:06}.*"):
                    path.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Close the files."""
        self.database.close()
        self.log.close()


def _replay(database: sqlite3.Connection, log: LogReader) -> None:
    for number, transaction in enumerate(log.transactions(), start=1):
        apply(database, transaction)
        if number % _BATCH == 0:
            database.execute("COMMIT")
            database.execute("BEGIN")


def apply(database: sqlite3.Connection, transaction: Transaction) -> None:
    """Carry out the writes of a transaction."""
    for *key, body in transaction.writes:
        if body is None:
            database.execute("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?", key)
        else:
            database.execute(
                "INSERT INTO objects VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
                (*key, body),
            )


def _check_is_unfinished(generation: Files, log: LogReader, database: sqlite3.Connection) -> None:
    """Refuse a log that was left for a generation of which nothing is there."""
    following = files(generation.snapshot.parent, log.continued_by)
    if not following.log.exists():  # else it is unfinished: see `newest`
        database.close()
        raise DamageError(
            following.snapshot,
            f"missing, and so is its log, although {generation.log.name} is continued there from revision"
            f" {log.revision} on",
        )


def _copy_checked(generation: Files, header: Header, into: Path) -> None:
    """Copy a snapshot, and check on the way that it is the one that its log continues."""
    if header.generation != generation.number:
        raise DamageError(generation.log, f"the log of another generation, {header.generation}")
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with generation.snapshot.open("rb") as source, os.fdopen(descriptor, "wb") as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            target.write(chunk)
            size += len(chunk)
    if (size, digest.digest()) != header[2:]:
        raise DamageError(
            generation.snapshot,
            f"damaged: it has {size:,} bytes of {header.snapshot_size:,}"
            if size != header.snapshot_size
            else "damaged: its checksum is wrong",
        )


def _check_format(generation: Files, database: sqlite3.Connection) -> None:
    """Refuse what another version of Maar has written whole, in a form that this one does not know."""
    (found,) = database.execute("PRAGMA user_version").fetchone()
    if found != FORMAT:
        database.close()
        raise DataFolderError(
            f"{generation.snapshot} has format {found}, and this version of Maar reads format {FORMAT}; start"
            " the version that wrote it, or name another folder with --data"
        )


def _is_unfinished(generation: Files, before: Files | None) -> bool:
    """Whether a log without a snapshot was made by a start of a generation that was not finished."""
    try:
        with LogReader(generation.log) as log:
            has_records = next(log.transactions(), None) is not None
            if has_records or before is None:
                return not has_records and log.header.revision == 1
            with LogReader(before.log) as previous:
                for _ in previous.transactions():
                    pass
                return previous.revision >= log.header.revision  # further, where it went on instead
    except (DamagedLogError, FileNotFoundError):
        return False
