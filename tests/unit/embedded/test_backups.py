"""Backups: taken from a cluster that is being written, kept in a small number, never in the way."""

import asyncio
import hashlib
import os
import sqlite3
import threading
import tracemalloc
import zlib
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest

from maar.embedded.backup_schedule import keep_backups, keep_last_backup
from maar.embedded.backups import (
    KEPT,
    Backup,
    BadBackupError,
    good_backups,
    keep_backup,
    kept,
    read_backup,
    write_backup,
)
from maar.embedded.data_folder import DataFolderError
from maar.embedded.restoring import restore
from maar.embedded.store import Key, Store
from support.small_disk import small_disk
from support.until import until


def write(store: Store, number: int) -> None:
    key = Key("pods", "default", f"p{number % 50}")
    store.put(key, store.get(key), lambda revision: b"%d " % revision + b"x" * 2_000)


def test_a_backup_of_a_cluster_under_load_is_what_it_was_at_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While generations are begun and deleted all the time."""
    monkeypatch.setattr("maar.embedded.generations._LARGE_LOG", 300_000)
    stop, target = threading.Event(), tmp_path / "one.backup"
    with closing(Store(tmp_path / "data")) as store:
        acknowledged = [store.revision]

        def work() -> None:
            number = 0
            while not stop.is_set():
                write(store, number := number + 1)
                acknowledged.append(store.revision)

        writer = threading.Thread(target=work)
        writer.start()
        try:
            for _ in range(20):
                before = acknowledged[-1]
                made = write_backup(tmp_path / "data", target)
                assert before <= made.revision <= store.revision
                read_backup(target, tmp_path / "one.db")
                with closing(sqlite3.connect(tmp_path / "one.db")) as database:
                    bodies = [body for (body,) in database.execute("SELECT body FROM objects")]
                assert max((int(body.split()[0]) for body in bodies), default=1) == made.revision
                assert len(bodies) == made.objects
        finally:
            stop.set()
            writer.join()
    assert not (tmp_path / "data" / "objects-000001.db").exists(), "generations were begun meanwhile"


def test_only_the_last_few_are_kept_and_what_was_killed_is_cleared_away(tmp_path: Path) -> None:
    with closing(Store(tmp_path)) as store:
        for number in range(KEPT + 3):
            write(store, number)
            made = keep_backup(tmp_path)
        assert [backup.revision for _, backup in good_backups(tmp_path)] == list(
            range(store.revision, store.revision - KEPT, -1)
        )
        place = tmp_path / "backups"
        for name in (".backup-x", "1.unfinished"):
            (place / name).mkdir() if name.startswith(".") else (place / name).touch()
            os.utime(place / name, (0, 0))
        write(store, 1)
        keep_backup(tmp_path)
        assert sorted(place.iterdir()) == sorted(kept(tmp_path))
        assert made == kept(tmp_path)[1], "the one before the newest"


def test_a_folder_without_a_cluster_has_no_backup(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(BadBackupError, match="--data"):
            write_backup(folder, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", ["backups", "set-aside-20261116T040000.000000Z"])
def test_a_folder_that_has_only_what_was_put_aside_is_no_new_one(tmp_path: Path, left: str) -> None:
    (tmp_path / left).mkdir()
    (tmp_path / "console-history.sqlite").touch()
    with pytest.raises(DataFolderError, match=r"without its objects, although a cluster .* maar restore"):
        Store(tmp_path)


def test_a_backup_opens_in_a_new_folder(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "data")) as store:
        write(store, 1)
        body = store.get(Key("pods", "default", "p1"))
        write_backup(tmp_path / "data", tmp_path / "saved")
    restored = restore(tmp_path / "saved", tmp_path / "new")
    assert (restored.objects, restored.set_aside) == (1, None)
    with closing(Store(tmp_path / "new")) as store:
        assert store.get(Key("pods", "default", "p1")) == body


@pytest.mark.anyio
async def test_backups_are_made_when_something_has_changed(tmp_path: Path) -> None:
    with closing(Store(tmp_path)) as store:
        keeping = asyncio.create_task(keep_backups(tmp_path, store, every_s=0.01))
        await until("the first is there", lambda: len(kept(tmp_path)) == 1)
        await asyncio.sleep(0.3)
        assert len(kept(tmp_path)) == 1
        write(store, 1)
        await until("the second is there", lambda: len(kept(tmp_path)) == 2)
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


@pytest.mark.anyio
async def test_the_first_changes_are_soon_in_a_backup_and_later_ones_take_their_time(tmp_path: Path) -> None:
    with closing(Store(tmp_path)) as store:
        keeping = asyncio.create_task(keep_backups(tmp_path, store, every_s=600.0, first_s=0.05))
        await until("the first is there", lambda: len(kept(tmp_path)) == 1)
        await asyncio.sleep(0.3)  # nothing has changed for longer than the first pause
        write(store, 1)
        await until("the second is there", lambda: len(kept(tmp_path)) == 2)
        write(store, 2)
        await asyncio.sleep(0.5)
        assert len(kept(tmp_path)) == 2
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


def test_what_is_there_at_the_end_is_kept_unless_it_is_already(tmp_path: Path) -> None:
    with closing(Store(tmp_path)) as store:
        for number in (1, 2):
            write(store, number)
            keep_last_backup(tmp_path, store)
            keep_last_backup(tmp_path, store)
            assert len(kept(tmp_path)) == number
            assert read_backup(kept(tmp_path)[0]).revision == store.revision


@pytest.mark.anyio
async def test_no_backup_fills_the_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with small_disk(tmp_path / "disk", 4) as disk, closing(Store(disk.path / "data")) as store:
        for number in range(50):
            write(store, number)
        disk.fill(leave=300 << 10)
        keeping = asyncio.create_task(keep_backups(disk.path / "data", store, every_s=0.01))
        await until("it is said", lambda: "no backup could be made" in caplog.text)
        await asyncio.sleep(0.2)
        assert caplog.text.count("no backup could be made") == 1
        assert kept(disk.path / "data") == []
        disk.free()
        await until("there is room", lambda: len(kept(disk.path / "data")) == 1)
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


def test_what_a_killed_start_left_unfinished_is_removed(tmp_path: Path) -> None:
    Store(tmp_path).close()
    (tmp_path / "admin.token.4711").write_text("")
    os.utime(tmp_path / "lock", (0, 0))
    Store(tmp_path).close()
    assert not (tmp_path / "admin.token.4711").exists()
    assert (tmp_path / "lock").stat().st_mtime > 0


def packed(path: Path, data: bytes, size: int) -> Path:
    """A file with a good checksum, whose database is some data and is said to have a size."""
    head = msgspec.json.encode(Backup(revision=1, objects=1, time="2026-01-01T00:00:00Z", size=size)) + b"\n"
    rest = head + data
    path.write_bytes(b"maar-backup 1 %b\n" % hashlib.sha256(rest).hexdigest().encode() + rest)
    return path


def bomb(size: int) -> bytes:
    """Nothing, packed as well as it can be."""
    compress = zlib.compressobj(9)
    parts = [compress.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*parts, compress.flush()])


@pytest.mark.parametrize(
    ("said", "reported"),
    [
        (512 << 20, "which no backup does; use another one"),
        (1 << 20, "it unpacks to more than it says"),
        (-1, "it unpacks to more than it says"),
        (1 << 60, "which no backup does; use another one"),
    ],
)
def test_a_backup_that_unpacks_to_far_too_much_is_not_unpacked(
    tmp_path: Path, said: int, reported: str
) -> None:
    file, into = packed(tmp_path / "a.backup", bomb(512 << 20), said), tmp_path / "objects.db"
    tracemalloc.start()
    try:
        with pytest.raises(BadBackupError, match=reported):
            read_backup(file, into)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert not into.exists() or into.stat().st_size <= max(said, 0)


def test_a_backup_that_is_larger_than_the_disk_or_smaller_than_it_says_is_refused(tmp_path: Path) -> None:
    data = zlib.compress(os.urandom(1 << 20))
    with small_disk(tmp_path / "disk", 8) as disk:
        with pytest.raises(BadBackupError, match=r"needs twice as many, .* has room for"):
            read_backup(packed(tmp_path / "a.backup", data, 60 << 20), disk.path / "objects.db")
        with pytest.raises(BadBackupError, match="it unpacks to less than it says"):
            read_backup(packed(tmp_path / "b.backup", data, (1 << 20) + 1), tmp_path / "objects.db")
