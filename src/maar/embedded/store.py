"""Objects in SQLite: every write gets the next revision, and what was acknowledged survives kill -9.

The problem. An API server needs objects by key and in order, a revision for every write, and a
stream of changes in the order of revisions. What a client got an answer for must be there after a
crash; a plain copy of the data folder, made at any moment, must open; and damage must be found,
not served as a smaller cluster.

How it works. Reads and writes go to a working SQLite database, which is made at the start and not
kept. What is kept is a generation (`generations.py`): a snapshot that never changes and a log of
all transactions since (`write_ahead_log.py`). A transaction

1. changes the working database, inside a transaction of SQLite; 2. is appended to the log; 3. is
committed in the working database; 4. is marked in the log as acknowledged; 5. is passed to the
listeners, change by change, and only then answered.

Where step 2 or 3 fails, the record is taken back, the database rolls back, and the revision is
what it was. Where step 4 fails the writes are there and listeners get them, but the client gets an
error: whether they survive a crash is not certain. Transactions inside another one are part of it.

Invariants.
- Revisions have no gaps: every object that is written or deleted takes the next one.
- Listeners get every committed change once, in the order of revisions, and never one that was
  rolled back.
- Snapshot and log together give the working database at any time, up to the transaction that is
  open.
- One process has the folder (`DataFolder`), so nothing else changes the files.

Complexity. A write is one change by primary key, one append and one mark; it waits for no disk.
`get` is one lookup, `page` reads as many rows as it gives. A new generation writes all objects
once. It begins when the log has outgrown twice the snapshot (and 64 MiB), so that its cost is
spread over more bytes than it writes.

Why not otherwise? SQLite's own log ends without an error at the first damaged frame, and a
checkpoint between the copies of two files makes the copy unusable. An fsync for every write takes
ten times as long as the write. Old revisions for watches are in memory only (`history.py`):
clients of Kubernetes list again after 410 Gone. Decision records 11 and 32.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from maar.embedded.data_folder import DataFolder
from maar.embedded.failures import ApiError
from maar.embedded.opening import open_generations
from maar.embedded.storage_problems import disk_problem, not_stored
from maar.embedded.write_ahead_log import Transaction, Written

_LOG: Final = logging.getLogger(__name__)

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

_CHECK_SIZE_EVERY: Final = 256  # writes
_FREE_SPACE: Final = 64 << 10  # bytes that must be free before writes are expected to succeed again


class Key(NamedTuple):
    """Where an object is kept: its resource with the group, its namespace (or nothing) and its name."""

    resource: str
    namespace: str
    name: str


class Change(NamedTuple):
    """One write: what is there now and what was there before, both with their revisions inside."""

    revision: int
    key: Key
    type: ChangeType
    body: bytes  # of a deletion: the object as it was last, at the deletion's revision
    before: bytes | None


class Store:
    """The objects of a cluster, each as the JSON that clients get, in one SQLite file of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = DataFolder(folder)
        try:
            self._generations = open_generations(folder)
        except BaseException:
            self._folder.close()
            raise
        self._listeners: list[Callable[[Change], None]] = []
        self._unpublished: list[Change] = []
        self._depth = 0
        self._writes = 0
        self._problem = ""
        self._db: sqlite3.Connection = self._generations.database
        self.revision: int = self._db.execute("SELECT revision FROM latest").fetchone()[0]

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call for every change once it is durable, in the order of revisions."""
        self._listeners.append(listener)

    def get(self, key: Key) -> bytes | None:
        """One object, or None."""
        row = self._db.execute(
            "SELECT body FROM objects WHERE resource = ? AND namespace = ? AND name = ?", key
        ).fetchone()
        return None if row is None else row[0]

    def page(
        self, resource: str, namespace: str | None, after: tuple[str, str] = ("", ""), limit: int = -1
    ) -> list[tuple[str, str, bytes]]:
        """Objects by namespace and name, from behind `after`; of every namespace where that is None."""
        if namespace is None:
            return self._db.execute(
                "SELECT namespace, name, body FROM objects WHERE resource = ? AND (namespace, name) > (?, ?)"
                " ORDER BY namespace, name LIMIT ?",
                (resource, *after, limit),
            ).fetchall()
        return self._db.execute(
            "SELECT namespace, name, body FROM objects WHERE resource = ? AND namespace = ? AND name > ?"
            " ORDER BY name LIMIT ?",
            (resource, namespace, after[1], limit),
        ).fetchall()

    def scan(
        self, resource: str, namespace: str | None = None, at_once: int = 200
    ) -> Iterator[tuple[str, str, bytes]]:
        """All objects by namespace and name, read a few at a time: others may write in between."""
        after = ("", "")
        while page := self.page(resource, namespace, after, at_once):
            after = page[-1][:2]
            yield from page

    def count(self, resource: str, namespace: str | None, after: tuple[str, str] = ("", "")) -> int:
        """How many objects `page` would give without a limit."""
        if namespace is None:
            where, values = "(namespace, name) > (?, ?)", after
        else:
            where, values = "namespace = ? AND name > ?", (namespace, after[1])
        query = f"SELECT count(*) FROM objects WHERE resource = ? AND {where}"  # noqa: S608  constant texts
        return int(self._db.execute(query, (resource, *values)).fetchone()[0])

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """Writes inside are durable together or not at all; listeners get them afterwards.

        Without `keep` they are only tried: afterwards all is as before.
        """
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        before, unmarked = self.revision, None
        self._db.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
            if keep and self.revision != before:
                unmarked = self._commit()
                before = self.revision
        finally:
            self._depth = 0
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if self.revision != before:
                self.revision = before
                self._unpublished.clear()
        self._publish()
        if unmarked is not None:
            raise unmarked

    def put(self, key: Key, before: bytes | None, body: Callable[[int], bytes]) -> bytes:
        """Write an object, made for its revision; `before` is what `get` gave, None for a new one."""
        with self.transaction():
            data = body(self.revision + 1)
            self._db.execute(
                "INSERT INTO objects VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
                (*key, data),
            )
            self.revision += 1
            type_: ChangeType = "ADDED" if before is None else "MODIFIED"
            self._unpublished.append(Change(self.revision, key, type_, data, before))
        return data

    def remove(self, key: Key, before: bytes, body: Callable[[int], bytes]) -> bytes:
        """Delete an object; `body` makes the last state that watchers get."""
        with self.transaction():
            data = body(self.revision + 1)
            self._db.execute("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?", key)
            self.revision += 1
            self._unpublished.append(Change(self.revision, key, "DELETED", data, before))
        return data

    def problem(self) -> str:
        """Why nothing can be written at the moment, or an empty text; checked again at every call."""
        if self._problem:
            try:
                self._generations.log.check_space(_FREE_SPACE)
                self._problem = ""
                _LOG.warning("%s can be written again", self._folder.path)
            except OSError as error:
                self._problem = disk_problem(self._folder.path, error)
        return self._problem

    def close(self) -> None:
        """Close the files and release the folder."""
        self._generations.close()
        self._folder.close()

    def _commit(self) -> ApiError | None:
        """Make the writes of a transaction durable: in the log, in the database, then marked.

        Returns the error that kept them from being marked: they are there then, but must not be acknowledged.
        """
        log = self._generations.log
        writes = [
            Written(*change.key, None if change.type == "DELETED" else change.body)
            for change in self._unpublished
        ]
        try:
            log.append(Transaction(self.revision, writes))
            self._db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            with suppress(OSError):  # a record behind the mark was never acknowledged
                log.take_back()
            raise self._noted(error) from None
        try:
            log.mark()
        except OSError as error:
            return self._noted(error)
        self.problem()  # a small write may fit where the next one does not
        return None

    def _noted(self, error: OSError | sqlite3.Error) -> ApiError:
        found = disk_problem(self._folder.path, error)
        if not self._problem:
            _LOG.error("%s", found)
        self._problem = found
        return not_stored(self._folder.path, error)

    def _publish(self) -> None:
        changes, self._unpublished = self._unpublished, []
        self._writes += len(changes)
        for change in changes:
            for listener in self._listeners:
                listener(change)
        if self._writes >= _CHECK_SIZE_EVERY:
            self._writes = 0
            self._roll()

    def _roll(self) -> None:
        """Begin a new generation where the log is large; where the disk has no room, keep the old one."""
        try:
            self._generations.roll_when_large(self._note_revision)
        except (OSError, sqlite3.Error) as error:
            _LOG.warning(
                "cannot start a new generation of the data files: %s", disk_problem(self._folder.path, error)
            )

    def _note_revision(self) -> None:
        self._db.execute("UPDATE latest SET revision = ?", (self.revision,))
