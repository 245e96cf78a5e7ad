"""Backups of a cluster's objects: one file each, with a checksum over all of it.

The first line has the SHA-256 of everything behind it, the second says what the backup is of, the
rest is the database, compressed. A backup is made from the files of the newest generation, which
any process may read at any moment (see `generations`): the server that writes them is never stopped
for it.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from maar.embedded.data_folder import sync
from maar.embedded.generations import DamageError, Files, load, newest

KEPT: Final = 5
FOLDER: Final = "backups"
_FORMAT: Final = b"maar-backup 1 "
_FIRST: Final = _FORMAT.decode() + "{}\n"
_FIRST_SIZE: Final = len(_FIRST.format("0" * 64))
_CHUNK: Final = 1 << 20
_NAME: Final = re.compile(r"([\dTZ-]+)-r(\d+)\.backup")
_SCRATCH: Final = ".backup-"
_QUICK: Final = 1  # level of compression
_ATTEMPTS: Final = 5  # a new generation may be started, and an old one deleted, while we read
_PAUSE_S: Final = 0.1
_LONGEST_S: Final = (
    3_600.0  # no backup takes longer: what is older and unfinished belongs to a killed process
)
_LONGEST_LINE: Final = 4096
_MOST_PACKED: Final = (
    300  # times smaller; zlib could make nothing 1,000 times smaller, and databases are not nothing
)
_LEAST_CHECKED: Final = 64 << 20  # bytes that fit everywhere


class BadBackupError(Exception):
    """A file is not a backup, or a damaged one."""


class Backup(msgspec.Struct, frozen=True):
    """What a backup is of."""

    revision: int
    objects: int
    time: str
    size: int  # of the database


def write_backup(folder: Path, target: Path) -> Backup:
    """Write a backup of the objects in a data folder, whole or not at all; the cluster may be running."""
    if not folder.is_dir():
        raise BadBackupError(f"{folder}: there is no such folder; name the folder of maar up with --data")
    for _ in range(_ATTEMPTS - 1):
        try:
            return _write_backup(folder, target)
        except (FileNotFoundError, DamageError):
            time.sleep(_PAUSE_S)
    return _write_backup(folder, target)


def read_backup(path: Path, into: Path | None = None) -> Backup:
    """Check a backup from beginning to end, and write its database into a file."""
    try:
        with path.open("rb") as file:
            first = file.read(_FIRST_SIZE)
            digest = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
            if first != _FIRST.format(digest.hexdigest()).encode():
                if not first.startswith(b"maar-backup "):
                    raise BadBackupError(f"{path} is not a backup; backups are made by maar backup")
                if not first.startswith(_FORMAT) and first.endswith(b" %s\n" % digest.hexdigest().encode()):
                    raise BadBackupError(
                        f"{path} was written by a later version of Maar; restore it with that version"
                    )
                raise BadBackupError(f"{path} is damaged: its checksum is wrong; use another backup")
            file.seek(_FIRST_SIZE)
            found = msgspec.json.decode(file.readline(_LONGEST_LINE), type=Backup)
            if into is not None:
                _check_size(path, found.size, into.parent)
                with into.open("wb") as target:
                    for part in _decompressed(iter(lambda: file.read(_CHUNK), b""), found.size):
                        target.write(part)
    except (msgspec.MsgspecError, zlib.error) as error:
        raise BadBackupError(f"{path} cannot be read: {error}; use another backup") from None
    except OSError as error:
        raise BadBackupError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    return found


def good_backups(folder: Path) -> Iterator[tuple[Path, Backup]]:
    """The backups that a data folder keeps and that can be restored, the newest first."""
    for path in kept(folder):
        try:
            yield path, read_backup(path)
        except BadBackupError:
            continue


def kept(folder: Path) -> list[Path]:
    """The files of the backups that a data folder keeps, the newest first."""
    place = folder / FOLDER
    found = [match for path in place.glob("*.backup") if (match := _NAME.fullmatch(path.name))]
    found.sort(key=lambda match: (match[1], int(match[2])), reverse=True)
    return [place / match[0] for match in found]


def keep_backup(folder: Path) -> Path | None:
    """Add a backup to those that a data folder keeps and drop the oldest; None where nothing has changed."""
    place = folder / FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    _forget_unfinished(place)
    unfinished = place / f"{os.getpid()}.unfinished"
    made = write_backup(folder, unfinished)
    before = kept(folder)
    if before and before[0].name.endswith(f"-r{made.revision}.backup"):
        unfinished.unlink()
        return None
    path = unfinished.rename(place / file_name(made))
    sync(place)
    for old in kept(folder)[KEPT:]:
        old.unlink(missing_ok=True)
    return path


def _forget_unfinished(place: Path) -> None:
    """Remove what backups that were killed have left behind."""
    for path in (*place.glob("*.unfinished"), *place.glob(f"{_SCRATCH}*")):
        if path.stat().st_mtime < time.time() - _LONGEST_S:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def file_name(made: Backup) -> str:
    """What a backup is called among those that a data folder keeps: in the order of their times."""
    return f"{made.time.replace(':', '')}-r{made.revision}.backup"


def _write_backup(folder: Path, target: Path) -> Backup:
    found = newest(folder)
    if found is None:
        raise BadBackupError(f"{folder} has no cluster to back up; name the folder of maar up with --data")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=_SCRATCH) as place:
        database, made = Path(place, "objects.db"), Path(place, "backup")
        what = _loaded(found, database)
        with made.open("w+b") as file:
            made.chmod(0o600)
            digest = hashlib.sha256()
            file.write(_FIRST.format("0" * 64).encode())
            for part in (msgspec.json.encode(what) + b"\n", *_compressed(database)):
                digest.update(part)
                file.write(part)
            file.seek(0)
            file.write(_FIRST.format(digest.hexdigest()).encode())
            file.flush()
            os.fsync(file.fileno())
        made.replace(target)
    sync(target.parent)
    return what


def _loaded(found: Files, into: Path) -> Backup:
    working = load(found, into)
    try:
        count = working.database.execute("SELECT count(*) FROM objects").fetchone()[0]
    finally:
        working.database.close()
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Backup(working.log.revision, count, now, into.stat().st_size)


def _compressed(path: Path) -> Iterator[bytes]:
    compress = zlib.compressobj(_QUICK)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield compress.compress(chunk)
    yield compress.flush()


def _check_size(path: Path, size: int, place: Path) -> None:
    """Refuse what unpacks to more than there is room for, or than any database packs so well."""
    packed, room = path.stat().st_size, shutil.disk_usage(place).free
    if size > _LEAST_CHECKED and size > packed * _MOST_PACKED:
        raise BadBackupError(
            f"{path} would unpack its {packed:,} bytes to {size:,}, which no backup does; use another one"
        )
    if 2 * size > room:  # the database, and the files of the folder that are made from it
        raise BadBackupError(
            f"{path} unpacks to {size:,} bytes and needs twice as many, and {place} has room for {room:,}; "
            "free some space, or name another folder with --data"
        )


def _decompressed(parts: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Unpack a piece at a time, to exactly as much as was said."""
    decompress = zlib.decompressobj()
    for part in parts:
        waiting = part
        while waiting:
            unpacked = decompress.decompress(waiting, _CHUNK)
            waiting = decompress.unconsumed_tail
            size -= len(unpacked)
            if size < 0:
                raise zlib.error("it unpacks to more than it says")
            yield unpacked
    yield (rest := decompress.flush())
    if size != len(rest):
        raise zlib.error("it unpacks to less than it says")
