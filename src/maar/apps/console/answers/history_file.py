"""A day of samples in a small file: SQLite, a row for each, the oldest deleted in the same transaction.

A console that is killed loses at most the sample that it was writing: SQLite's log is replayed at
the next start. A file that is no database, or a damaged one, is set aside under another name, and a
new one is begun.
"""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Final, Self

from maar.core.views.console.history import Sample, packed

MOST_SAMPLES: Final = 1_440
_APPLICATION: Final = 0x4D616172  # by which SQLite tells whose database it is
_VERSION: Final = 1  # of the table
_LOCK_TIMEOUT_S: Final = 2.0
_BESIDE: Final = ("-wal", "-shm", "-journal")  # files that SQLite keeps beside a database


class HistoryFileError(Exception):
    """The file cannot be used, in a sentence."""


class HistoryFile:
    """Samples by time; used from several threads, one at a time."""

    def __init__(self, database: sqlite3.Connection, path: Path, note: str = "") -> None:
        self._database, self._lock, self.path = database, threading.Lock(), path
        self.note = note  # what was wrong with an earlier file

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a file, or begin it; a damaged one is set aside."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return cls(_opened(path), path)
        except sqlite3.OperationalError as error:
            use = "another console may use it, or it may not be written to; name another file"
            raise HistoryFileError(f"the history cannot be kept in {path}: {error}; {use}") from None
        except sqlite3.DatabaseError as error:
            return cls._replaced(path, error)
        except OSError as error:
            why = error.strerror or error
            raise HistoryFileError(
                f"the history cannot be kept in {path}: {why}; name another file"
            ) from None

    @classmethod
    def _replaced(cls, path: Path, error: Exception) -> Self:
        try:
            note = _set_aside(path, error)
            return cls(_opened(path), path, note)
        except (OSError, sqlite3.Error) as why:
            raise HistoryFileError(
                f"the history in {path} is damaged ({error}) and cannot be set aside: {why}; delete it"
            ) from None

    def add(self, sample: Sample) -> None:
        """Keep a sample; what is beyond a day goes."""
        data = packed(sample)
        with self._lock, self._database as transaction:
            transaction.execute("INSERT OR REPLACE INTO samples VALUES (?, ?)", (sample.time, data))
            transaction.execute(
                "DELETE FROM samples WHERE time NOT IN (SELECT time FROM samples ORDER BY time DESC LIMIT ?)",
                (MOST_SAMPLES,),
            )

    def since(self, begin: float) -> list[bytes]:
        """The packed samples from a time on, the oldest first."""
        with self._lock, closing(self._database.cursor()) as cursor:
            rows = cursor.execute("SELECT data FROM samples WHERE time >= ? ORDER BY time", (begin,))
            return [data for (data,) in rows if isinstance(data, bytes)]

    def close(self) -> None:
        """Close it."""
        with self._lock:
            self._database.close()


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)  # it says what only its user's kubeconfig may list; SQLite's other files follow it
    database = sqlite3.connect(path, timeout=_LOCK_TIMEOUT_S, check_same_thread=False)
    try:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        _check_tables(database)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        with database as transaction:
            transaction.execute(
                "CREATE TABLE IF NOT EXISTS samples (time REAL PRIMARY KEY, data BLOB) WITHOUT ROWID"
            )
            transaction.execute(f"PRAGMA application_id = {_APPLICATION}")
            transaction.execute(f"PRAGMA user_version = {_VERSION}")
    except (sqlite3.Error, HistoryFileError):
        database.close()
        raise
    return database


def _check_tables(database: sqlite3.Connection) -> None:
    """Refuse what is another program's, and what is ours and is not as we made it."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        return
    if application != _APPLICATION:
        raise HistoryFileError(
            "the history cannot be kept in a database of another program; name another file"
        )
    if version > _VERSION:
        raise HistoryFileError(
            f"the history is of format {version}, of a later version of Maar, and this one reads format"
            f" {_VERSION}; name another file, or delete this one"
        )
    columns = [row[1] for row in database.execute("PRAGMA table_info(samples)")]
    if version != _VERSION or columns != ["time", "data"]:
        raise sqlite3.DatabaseError(f"its table is not of version {_VERSION}")


def _set_aside(path: Path, error: Exception) -> str:
    """Move a damaged file away, over an earlier one, and say so."""
    aside = path.with_name(f"{path.name}.damaged")
    path.replace(aside)
    for ending in _BESIDE:
        path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
    return (
        f"the history in {path} was damaged ({error}); it is set aside as {aside.name}, and a new one begun"
    )
