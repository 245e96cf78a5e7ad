"""Database files of which a plain copy, taken at any moment, is whole.

A copy made file by file is torn when SQLite moves pages from the write-ahead log into the database
meanwhile. So that never happens here: a database file is written once, all later writes are in its log, and
when the log is large a new generation is made beside it. The newest generation in a copy is then always
whole: its database never changes, and of its log a copy has the beginning.
"""

import fcntl
import os
import re
import sqlite3
from pathlib import Path
from typing import Final

_LARGE_LOG: Final = 64 << 20
_NAME: Final = re.compile(r"objects-(\d{6})\.db")


class FolderInUseError(RuntimeError):
    """Another process has the data folder open."""


class Generations:
    """The database files of a data folder; the newest is in use."""

    def __init__(self, folder: Path, tables: str) -> None:
        self._folder = folder
        self._tables = tables
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise FolderInUseError(
                f"{folder} is in use by another maar; stop that one, or name another folder with --data"
            ) from None
        self._forget_unfinished()
        numbers = self._numbers()
        self._number = numbers[-1] if numbers else self._first()
        self._connect()

    def _connect(self) -> None:
        path = self._path(self._number)
        self.writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.writer.execute("PRAGMA journal_mode = WAL")
        self.writer.execute("PRAGMA synchronous = NORMAL")
        self.writer.execute("PRAGMA wal_autocheckpoint = 0")
        self.writer.executescript(self._tables)
        # The last connection to close moves the log into the database, unless it may not write.
        self._keeper = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
        self._keeper.execute("SELECT count(*) FROM latest").fetchone()

    def roll_when_large(self) -> bool:
        """Begin a new generation once the log has outgrown the database; True where that was done."""
        path = self._path(self._number)
        log = path.with_name(path.name + "-wal")
        if log.stat().st_size < max(_LARGE_LOG, 2 * path.stat().st_size):
            return False
        self._write_generation(self._number + 1)
        self._disconnect()
        self._number += 1
        self._connect()
        for number in self._numbers():
            if number < self._number - 1:  # a copy under way may still want the one before
                self._delete(number)
        return True

    def close(self) -> None:
        """Let go of the files; the log stays as it is."""
        self._disconnect()
        os.close(self._lock)

    def _disconnect(self) -> None:
        self.writer.close()
        self._keeper.close()

    def _first(self) -> int:
        self.writer = sqlite3.connect(":memory:", isolation_level=None)
        self.writer.executescript(self._tables)
        self._write_generation(1)
        self.writer.close()
        return 1

    def _write_generation(self, number: int) -> None:
        """Write all there is into a file that has its name only when it is whole and on the disk."""
        unfinished = self._folder / "unfinished.db"
        self.writer.execute("VACUUM INTO ?", (str(unfinished),))
        unfinished.chmod(0o600)
        for path in (unfinished, self._folder):
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        unfinished.rename(self._path(number))

    def _forget_unfinished(self) -> None:
        for path in self._folder.glob("unfinished.db*"):
            path.unlink()

    def _numbers(self) -> list[int]:
        return sorted(int(m[1]) for p in self._folder.iterdir() if (m := _NAME.fullmatch(p.name)))

    def _path(self, number: int) -> Path:
        return self._folder / f"objects-{number:06}.db"

    def _delete(self, number: int) -> None:
        for suffix in ("", "-wal", "-shm"):
            self._path(number).with_name(self._path(number).name + suffix).unlink(missing_ok=True)
