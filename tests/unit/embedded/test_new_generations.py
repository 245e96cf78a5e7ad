"""Beginning a generation: whenever it is interrupted, the folder opens with all that was acknowledged."""

import errno
from contextlib import closing
from pathlib import Path

import pytest

from maar.embedded.store import Key, Store
from maar.embedded.write_ahead_log import LogWriter
from support.damage import copied

WRITES = 300


def write(store: Store, number: int) -> None:
    key = Key("pods", "default", f"p{number % 50}")
    store.put(key, store.get(key), lambda revision: b"%d " % revision + b"x" * 1_000)


def whole(folder: Path, revision: int) -> None:
    """Check that a folder opens at a revision, twice, also when nothing was written in between."""
    for _ in range(2):
        with closing(Store(folder)) as store:
            assert store.revision == revision
    with closing(Store(folder)) as store:
        write(store, 1)
    with closing(Store(folder)) as store:
        assert store.revision == revision + 1


@pytest.fixture(autouse=True)
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maar.embedded.generations._LARGE_LOG", 100_000)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_around_the_word_that_another_generation_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The log of the new generation has its name then, the snapshot has not."""
    killed: list[int] = []
    leave_for = LogWriter.leave_for

    def leaving(log: LogWriter, generation: int) -> None:
        if moment == "after":
            leave_for(log, generation)
        if not killed:
            copied(tmp_path / "live", tmp_path / "killed")
            killed.append(store.revision)
        if moment == "before":
            leave_for(log, generation)

    with monkeypatch.context() as patch, closing(Store(tmp_path / "live")) as store:
        patch.setattr(LogWriter, "leave_for", leaving)
        for number in range(WRITES):
            write(store, number)
    assert sorted(path.name for path in (tmp_path / "killed").glob("objects-000002.*")) == [
        "objects-000002.wal"
    ]
    whole(tmp_path / "killed", killed[0])


@pytest.mark.parametrize("times", [1, 2], ids=["and is taken back", "and cannot be taken back"])
def test_a_generation_that_cannot_be_begun_leaves_the_old_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, times: int
) -> None:
    leave_for, left = LogWriter.leave_for, 0

    def failing(log: LogWriter, generation: int) -> None:
        nonlocal left
        left += 1
        if left == 1:
            leave_for(log, generation)
        if left <= times:
            raise OSError(errno.ENOSPC, "No space left on device")
        leave_for(log, generation)

    with monkeypatch.context() as patch, closing(Store(tmp_path / "live")) as store:
        patch.setattr(LogWriter, "leave_for", failing)
        for number in range(256):
            write(store, number)
        assert "cannot start a new generation of the data files" in caplog.text
        copied(tmp_path / "live", tmp_path / "at once")
        failed = store.revision
        for number in range(40):
            write(store, number)
        copied(tmp_path / "live", tmp_path / "later")
        last = store.revision
    whole(tmp_path / "at once", failed)
    whole(tmp_path / "later", last)
