"""A full disk: writes are refused, what was acknowledged stays, and writes succeed again with room."""

from contextlib import closing
from http import HTTPStatus
from pathlib import Path

import pytest

from maar.embedded.storage_problems import NotStoredError
from maar.embedded.store import Change, Key, Store
from support.small_disk import SmallDisk, small_disk


def write(store: Store, name: str, size: int = 3_000) -> None:
    key = Key("pods", "default", name)
    store.put(key, store.get(key), lambda _: b"x" * size)


def names(store: Store) -> list[str]:
    return [name for _, name, _ in store.page("pods", None)]


def fill_by_writing(store: Store, disk: SmallDisk) -> int:
    """Write until the disk is full; gives how many writes were acknowledged."""
    disk.fill(leave=200 << 10)
    for number in range(10_000):
        try:
            write(store, f"p{number:05}")
        except NotStoredError as error:
            assert error.code == HTTPStatus.INSUFFICIENT_STORAGE  # noqa: PT017  # the loop needs it
            assert str(disk.path) in error.message  # noqa: PT017
            return number
    raise AssertionError("the disk was never full")


def test_what_was_acknowledged_is_there_and_writes_succeed_again_with_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        folder = disk.path / "data"
        with closing(Store(folder)) as store:
            heard: list[Change] = []
            store.listen(heard.append)
            for _ in range(3):
                before = len(names(store))
                revision = store.revision
                fill_by_writing(store, disk)
                acknowledged = names(store)
                assert store.revision - revision == len(heard), "nobody hears of what was not stored"
                heard.clear()
                disk.fill()
                with pytest.raises(NotStoredError):
                    write(store, "more", size=50_000)
                assert "is full" in store.problem()
                assert (names(store), heard) == (acknowledged, [])
                assert len(acknowledged) >= before
                disk.free()
                assert store.problem() == ""
                write(store, "again")
                heard.clear()
            last = store.revision, names(store)
        with closing(Store(folder)) as again:
            assert (again.revision, names(again)) == last


def test_a_disk_is_full_until_there_is_room_again_and_nobody_is_told_to_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "disk", 4) as disk, closing(Store(disk.path / "data")) as store:
        fill_by_writing(store, disk)
        with pytest.raises(NotStoredError) as refused:
            write(store, "large", size=300_000)
        assert "nothing of this request was stored" in refused.value.message
        assert "retryAfterSeconds" not in refused.value.details  # kubectl would wait, object by object
        disk.fill(leave=12 << 10)
        store.put(Key("pods", "default", "small"), None, lambda _: b"x")
        assert "is full" in store.problem(), "one small write fits, and that is all"
        assert "request" not in store.problem(), "nobody has sent one"
        assert "written again" not in caplog.text
        disk.free()
        write(store, "again")
        assert store.problem() == ""
        assert caplog.text.count("can be written again") == 1


def test_a_full_disk_at_any_moment_of_a_killed_process_keeps_all(tmp_path: Path) -> None:
    """The store is never closed in between: what is on the disk is what kill -9 would leave."""
    with small_disk(tmp_path / "disk", 4) as disk:
        store = Store(disk.path / "data")
        fill_by_writing(store, disk)
        last = store.revision, names(store)
        disk.free()
        copy = tmp_path / "copy"
        copy.mkdir()
        for path in (disk.path / "data").iterdir():
            (copy / path.name).write_bytes(path.read_bytes())
        store.close()
        with closing(Store(copy)) as again:
            assert (again.revision, names(again)) == last


def test_a_new_generation_that_does_not_fit_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("maar.embedded.generations._LARGE_LOG", 1 << 20)
    with small_disk(tmp_path / "disk", 8) as disk, closing(Store(disk.path / "data")) as store:
        disk.fill(leave=3_000 << 10)
        for number in range(520):  # a log of 1.6 MB and a working database as large
            write(store, f"p{number % 260}")
        assert "cannot start a new generation" in caplog.text
        assert len(names(store)) == 260
        disk.free()
        for number in range(520):
            write(store, f"p{number % 260}")
        assert len(list((disk.path / "data").glob("*.db"))) == 2
