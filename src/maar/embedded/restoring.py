"""Putting a backup, or what can still be read of damaged files, in place of what a data folder has."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from maar.embedded.backups import BadBackupError, read_backup
from maar.embedded.data_folder import DataFolder, DataFolderError, sync
from maar.embedded.generations import (
    FORMAT,
    DamageError,
    Files,
    Working,
    continued,
    empty,
    files,
    load,
    numbers,
    open_log,
    open_working,
    write_generation,
)

_REVISIONS_APART: Final = (
    1_000_000  # clients that know revisions of the lost writes must find none of them again
)


_RUN: Final = (
    "pods",
    "jobs.batch",
    "jobs.batch.volcano.sh",
    "cronjobs.batch.volcano.sh",
    "jobflows.flow.volcano.sh",
)


class Restored(NamedTuple):
    """What a data folder has now."""

    revision: int  # up to which the objects are as they were
    objects: int
    acknowledged: int  # as far as the log that was there can say
    set_aside: Path | None  # where the files are that were there
    running: int  # pods among the objects, and what makes pods


def restore(backup: Path, folder: Path) -> Restored:
    """Put a backup in place of the objects of a folder; it is checked first, and no file is lost."""
    with DataFolder(folder), _scratch(folder) as path:
        found = read_backup(backup, path)
        try:
            with closing(open_working(path)) as database:
                format_ = database.execute("PRAGMA user_version").fetchone()[0]
                if format_ != FORMAT:
                    raise BadBackupError(
                        f"{backup} has format {format_}, and this version of Maar reads format {FORMAT};"
                        " restore it with the version that wrote it"
                    )
                problem = database.execute("PRAGMA quick_check(1)").fetchone()[0]
                if problem != "ok":
                    raise BadBackupError(f"{backup} cannot be used: {problem}")
                return _replace(folder, database, found.revision)
        except sqlite3.DatabaseError as error:
            raise BadBackupError(f"{backup} cannot be used: {error}") from None


def salvage(folder: Path) -> Restored:
    """Put what can still be read, up to the first damaged record, in place of the objects of a folder."""
    with DataFolder(folder), _scratch(folder) as path:
        for number in reversed(_all_numbers(folder)):
            for read in (load, _rebuilt):
                path.unlink(missing_ok=True)
                with suppress(DamageError, FileNotFoundError):
                    found = read(files(folder, number), path, tolerant=True)
                    with closing(found.database):
                        return _replace(folder, found.database, found.log.revision)
        raise DataFolderError(
            f"nothing in {folder} can be read; restore a backup: maar restore FILE --data {folder}"
        )


def _rebuilt(generation: Files, into: Path, *, tolerant: bool) -> Working:
    """A generation without its snapshot: it began as the one before it ended, the first without objects."""
    with open_log(generation) as log:
        if log.header.revision == 1:
            database = empty(into)
        else:
            before = load(files(generation.snapshot.parent, generation.number - 1), into)
            database = before.database
            if before.log.revision != log.header.revision:
                database.close()
                raise DamageError(generation.snapshot, "damaged, and the generation before ends elsewhere")
        return Working(continued(database, generation, log, tolerant=tolerant), log)


def _replace(folder: Path, database: sqlite3.Connection, revision: int) -> Restored:
    """Write the next generation; the others are moved only when it is there."""
    old = _all_numbers(folder)
    acknowledged = max([revision, *map(_acknowledged, (files(folder, number) for number in old[-1:]))])
    set_aside = _link_aside(folder) if old else None
    database.execute("UPDATE latest SET revision = ?", (acknowledged + _REVISIONS_APART,))
    objects = database.execute("SELECT count(*) FROM objects").fetchone()[0]
    resources = database.execute("SELECT resource, count(*) FROM objects GROUP BY resource")
    running = sum(count for resource, count in resources if resource in _RUN)
    write_generation(database, folder, old[-1] + 1 if old else 1)
    for number in old:
        for path in folder.glob(f"objects-{number:06}.*"):
            path.unlink()
    sync(folder)
    return Restored(revision, objects, acknowledged, set_aside, running)


def _acknowledged(generation: Files) -> int:
    try:
        with open_log(generation) as log:
            return log.acknowledged
    except DamageError:
        return 0


def _link_aside(folder: Path) -> Path:
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    place = folder / f"set-aside-{moment}"
    place.mkdir(mode=0o700)
    for path in folder.glob("objects-*"):
        os.link(path, place / path.name)
    sync(place)
    return place


def _all_numbers(folder: Path) -> list[int]:
    return sorted({*numbers(folder, "db"), *numbers(folder, "wal")})


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A file for a database that is thrown away afterwards."""
    path = folder / "working.db"
    path.unlink(missing_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
