"""Data folders of the first format, whose log was SQLite's own: they become a new generation."""

import logging
import sqlite3
from pathlib import Path
from typing import Final

from maar.embedded.generations import FORMAT, DamageError, Files, open_working, write_generation

_LOG: Final = logging.getLogger(__name__)
_FRAME_HEADER: Final = 24
_LOG_HEADER: Final = 32


def is_first_format(generation: Files) -> bool:
    """Whether a generation is a database with SQLite's own log."""
    if generation.log.exists():
        return False
    try:
        database = sqlite3.connect(f"{generation.snapshot.as_uri()}?mode=ro", uri=True)
        try:
            return bool(database.execute("PRAGMA user_version").fetchone()[0] == 0)
        finally:
            database.close()
    except sqlite3.Error:
        return False


def upgraded(folder: Path, old: Files) -> Files:
    """Write what a database of the first format has as the next generation; the old files stay beside it."""
    copy = folder / "working.db"
    try:
        database = sqlite3.connect(old.snapshot, isolation_level=None)
        try:
            found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise DamageError(old.snapshot, f"damaged: {found}")
            _report_unread(old.snapshot, database)
            database.execute("VACUUM INTO ?", (str(copy),))
        finally:
            database.close()
        working = open_working(copy)
        try:
            working.execute(f"PRAGMA user_version = {FORMAT}")
            working.execute("INSERT OR IGNORE INTO latest VALUES (1, 1)")
            return write_generation(working, folder, old.number + 1)
        finally:
            working.close()
    except sqlite3.DatabaseError as error:
        raise DamageError(old.snapshot, f"damaged: {error}") from None
    finally:
        copy.unlink(missing_ok=True)


def _report_unread(snapshot: Path, database: sqlite3.Connection) -> None:
    """Say where the log goes on behind what SQLite takes from it: damage, or a write that was cut short."""
    log = snapshot.with_name(f"{snapshot.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    frame = _FRAME_HEADER + int(database.execute("PRAGMA page_size").fetchone()[0])
    frames = max(0, size - _LOG_HEADER) // frame
    _, used, _ = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if frames > max(used, 0):
        _LOG.warning(
            "%s: the last %d of %d pages cannot be read, and what they had is not there; if they are more"
            " than the last write, put back a copy of the folder",
            log,
            frames - max(used, 0),
            frames,
        )
