"""Objects in SQLite: every write gets the next revision, and what was acknowledged survives kill -9."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from maar.embedded.generations import Generations

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
);
CREATE TABLE IF NOT EXISTS latest (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
INSERT OR IGNORE INTO latest VALUES (1, 1);
"""
_CHECK_SIZE_EVERY: Final = 256  # writes


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
        self._generations = Generations(folder, _TABLES)
        self._listeners: list[Callable[[Change], None]] = []
        self._unsaid: list[Change] = []
        self._depth = 0
        self._writes = 0
        self._open()

    def _open(self) -> None:
        self._db: sqlite3.Connection = self._generations.writer
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
        """Writes inside are durable together or not at all; listeners hear of them afterwards.

        Without `keep` they are only tried: afterwards all is as before.
        """
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        before = self.revision
        self._db.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
            if keep and self.revision != before:
                self._db.execute("UPDATE latest SET revision = ?", (self.revision,))
                self._db.execute("COMMIT")
                before = self.revision
        finally:
            self._depth = 0
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if self.revision != before:
                self.revision = before
                self._unsaid.clear()
        self._tell()

    def put(self, key: Key, before: bytes | None, body: Callable[[int], bytes]) -> bytes:
        """Write an object, made for its revision; `before` is what `get` gave, None for a new one."""
        with self.transaction():
            self.revision += 1
            data = body(self.revision)
            self._db.execute(
                "INSERT INTO objects VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
                (*key, data),
            )
            type_: ChangeType = "ADDED" if before is None else "MODIFIED"
            self._unsaid.append(Change(self.revision, key, type_, data, before))
        return data

    def remove(self, key: Key, before: bytes, body: Callable[[int], bytes]) -> bytes:
        """Delete an object; `body` makes what watchers are told it was."""
        with self.transaction():
            self.revision += 1
            data = body(self.revision)
            self._db.execute("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?", key)
            self._unsaid.append(Change(self.revision, key, "DELETED", data, before))
        return data

    def close(self) -> None:
        """Let go of the files."""
        self._generations.close()

    def _tell(self) -> None:
        changes, self._unsaid = self._unsaid, []
        self._writes += len(changes)
        for change in changes:
            for listener in self._listeners:
                listener(change)
        if self._writes >= _CHECK_SIZE_EVERY:
            self._writes = 0
            if self._generations.roll_when_large():
                self._open()
