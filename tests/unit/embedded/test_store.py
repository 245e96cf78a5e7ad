"""The store: revisions, transactions, and data that survives whatever happens to the process."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path

import pytest

from maar.embedded.data_folder import FolderInUseError
from maar.embedded.failures import ApiError
from maar.embedded.history import History
from maar.embedded.store import Change, Key, Store
from support.processes import bounded

POD = Key("pods", "default", "p")

WRITER = """
import sys
from pathlib import Path
from maar.embedded.store import Key, Store

store = Store(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    key = Key("pods", "default", f"p{number % 97}")
    store.put(key, store.get(key), lambda revision: b"%d " % revision + b"x" * 3000)
    print(number, store.revision, flush=True)
"""


def write(store: Store, key: Key = POD, text: bytes = b"body") -> bytes:
    return store.put(key, store.get(key), lambda revision: b"%d %b" % (revision, text))


def test_every_write_gets_the_next_revision_and_listeners_hear_of_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    heard: list[Change] = []
    store.listen(heard.append)
    start = store.revision
    first = write(store, text=b"one")
    second = write(store, text=b"two")
    store.remove(POD, second, lambda revision: b"%d gone" % revision)
    assert [(one.revision - start, one.type, one.body, one.before) for one in heard] == [
        (1, "ADDED", b"%d one" % (start + 1), None),
        (2, "MODIFIED", b"%d two" % (start + 2), first),
        (3, "DELETED", b"%d gone" % (start + 3), second),
    ]
    store.close()


def test_a_watch_from_a_revision_of_another_life_is_refused(tmp_path: Path) -> None:
    """Who knows a later revision than the store, as after an old copy was put back, has to list."""
    store = Store(tmp_path)
    history = History(store)
    write(store)
    with history.watch("pods", store.revision):
        pass
    with pytest.raises(ApiError, match="too large") as refusal, history.watch("pods", store.revision + 1):
        pass
    assert refusal.value.code == HTTPStatus.GONE
    store.close()


def test_revisions_go_on_after_a_restart_even_when_the_last_write_was_a_deletion(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.remove(POD, write(store), lambda _: b"")
    last = store.revision
    store.close()
    again = Store(tmp_path)
    assert again.revision == last
    assert again.get(POD) is None
    again.close()


def test_a_transaction_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    store = Store(tmp_path)
    heard: list[Change] = []
    store.listen(heard.append)
    before = store.revision

    def write_and_stop() -> None:
        with store.transaction():
            write(store)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_and_stop()
    assert (store.get(POD), store.revision, heard) == (None, before, [])
    write(store)
    assert [one.revision for one in heard] == [before + 1]
    store.close()


def test_what_is_only_tried_is_not_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    heard: list[Change] = []
    store.listen(heard.append)
    before = store.revision
    with store.transaction(keep=False):
        write(store)
        assert store.get(POD) is not None
    assert (store.get(POD), store.revision, heard) == (None, before, [])
    store.close()


def test_pages_are_in_order_and_go_on_behind_any_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for namespace, name in (("b", "z"), ("a", "y"), ("a", "x"), ("b", "a")):
        write(store, Key("pods", namespace, name))
    write(store, Key("nodes", "", "n"))
    assert [row[:2] for row in store.page("pods", None)] == [("a", "x"), ("a", "y"), ("b", "a"), ("b", "z")]
    assert [row[:2] for row in store.page("pods", None, ("a", "y"), 1)] == [("b", "a")]
    assert [row[:2] for row in store.page("pods", "b", ("b", "a"))] == [("b", "z")]
    assert store.count("pods", None, ("a", "x")) == 3
    assert store.count("pods", "a") == 2
    store.close()


def test_a_folder_in_use_is_refused_with_what_to_do(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(FolderInUseError, match="--data"):
        Store(tmp_path)
    store.close()
    Store(tmp_path).close()


def test_a_folder_in_which_the_console_kept_its_history_is_a_new_one(tmp_path: Path) -> None:
    """Maar console keeps it in the folder that maar up uses without --data."""
    (tmp_path / "console").mkdir()
    (tmp_path / "console-history.sqlite-wal").touch()
    Store(tmp_path).close()


def test_old_generations_are_left_behind_when_the_log_is_large(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(25_000):
        store.put(Key("pods", "default", f"p{number % 50}"), None, lambda _: b"x" * 3500)
    last = store.revision
    store.close()
    databases = sorted(path.name for path in tmp_path.glob("*.db"))
    assert len(databases) == 2, databases  # the one in use, and the one before for a copy under way
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 300 << 20
    again = Store(tmp_path)
    assert (again.revision, again.count("pods", None)) == (last, 50)
    again.close()


def start_writing(folder: Path, count: int = 1_000_000) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(count)], stdout=subprocess.PIPE, text=True
    )


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with bounded(start_writing(tmp_path)) as writer:
        assert writer.stdout is not None
        for _ in range(2_000):
            acknowledged = writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        acknowledged = (writer.stdout.read().splitlines(keepends=True) or [acknowledged])[-1]
    lines = [acknowledged] if acknowledged.endswith("\n") else []
    store = Store(tmp_path)
    for line in lines:
        number, revision = map(int, line.split())
        body = store.get(Key("pods", "default", f"p{number % 97}"))
        assert body is not None
        assert int(body.split()[0]) >= revision
        assert store.revision >= revision
    store.close()


def test_a_copy_taken_at_any_moment_is_whole_and_has_what_was_acknowledged_before(tmp_path: Path) -> None:
    live = tmp_path / "live"
    with bounded(start_writing(live)) as writer:
        assert writer.stdout is not None
        for attempt in range(10):
            for _ in range(700):
                acknowledged = writer.stdout.readline()
            copy = tmp_path / f"copy{attempt}"
            copy.mkdir()
            # A slow copy, in either order: the databases first, or their logs first.
            files = sorted(live.iterdir(), key=lambda path: path.name, reverse=bool(attempt % 2))
            for path in files:
                shutil.copyfile(path, copy / path.name)
                for _ in range(300):
                    writer.stdout.readline()
            check_copy(copy, int(acknowledged.split()[1]))
            shutil.rmtree(copy)
        writer.kill()
        writer.stdout.read()


def check_copy(copy: Path, revision: int) -> None:
    newest = max(copy.glob("objects-*.db"))
    connection = sqlite3.connect(newest)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    store = Store(copy)
    bodies = [body for _, _, body in store.page("pods", None)]
    assert store.revision >= revision
    assert max(int(body.split()[0]) for body in bodies) == store.revision
    store.close()
