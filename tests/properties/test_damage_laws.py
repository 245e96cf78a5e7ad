"""Whatever happens to its files, a cluster opens with all that was acknowledged, or stops with a sentence."""

import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from maar.embedded.backups import BadBackupError, good_backups, keep_backup, read_backup, write_backup
from maar.embedded.data_folder import DataFolderError
from maar.embedded.restoring import restore, salvage
from maar.embedded.store import Key, Store
from support.damage import copied, damage, delete

SEED = 20
WRITES = 400
Objects = dict[tuple[str, str], bytes]
LOG = ("*.wal", "*-wal")


def write(store: Store, rng: random.Random, count: int = WRITES) -> Iterator[tuple[int, Objects]]:
    """Write at random; the revision and all objects after each acknowledged transaction."""
    for _ in range(count):
        with store.transaction():
            for _ in range(rng.choice((1, 1, 1, 3))):
                key = Key("pods", "default", f"p{rng.randrange(40)}")
                there = store.get(key)
                body = rng.randbytes(rng.randrange(1, 1_500))
                if there is not None and rng.random() < 0.2:
                    store.remove(key, there, lambda _: b"")
                else:
                    store.put(key, there, partial(_given, body))
        yield store.revision, objects(store)


def _given(body: bytes, _: int) -> bytes:
    return body


def objects(store: Store) -> Objects:
    return {(namespace, name): body for namespace, name, body in store.page("pods", None)}


def newest(folder: Path, *patterns: str) -> Path:
    return max(path for pattern in patterns for path in folder.glob(pattern))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, Objects]]]:
    """A folder as kill -9 leaves it, and everything that was ever acknowledged in it."""
    place, rng = tmp_path_factory.mktemp("history"), random.Random(SEED)
    with closing(Store(place / "live")) as store:
        states = list(write(store, rng, WRITES // 2))
        write_backup(place / "live", place / "half.backup")
        states += write(store, rng, WRITES // 2)
        copied(place / "live", place / "killed")
    return place / "killed", states


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, Objects]]]:
    """As `history`, in a folder that has two generations, and that has been backed up."""
    place, rng = tmp_path_factory.mktemp("rolled"), random.Random(SEED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maar.embedded.generations._LARGE_LOG", 100_000)
        with closing(Store(place / "live")) as store:
            states = list(write(store, rng))
            keep_backup(place / "live")
            copied(place / "live", place / "killed")
    assert len(list((place / "killed").glob("objects-*.db"))) == 2
    return place / "killed", states


def _explains(reported: str, folder: Path, how: str) -> bool:
    assert "maar restore" in reported, how
    assert str(folder) in reported, how
    return True


def opens_whole_or_says_why(folder: Path, last: tuple[int, Objects], how: str) -> bool:
    """Whether it opens at all."""
    try:
        store = Store(folder)
    except DataFolderError as error:
        return not _explains(str(error), folder, how)
    with closing(store):
        assert (store.revision, objects(store)) == last, how
        list(write(store, random.Random(SEED), 3))  # and it goes on
    return True


@pytest.mark.parametrize(
    ("patterns", "number"), [(LOG, 200), (("objects-*.db",), 100)], ids=["log", "database"]
)
def test_damage_never_passes_in_silence(
    history: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path, patterns: tuple[str, ...], number: int
) -> None:
    killed, states = history
    rng, opened = random.Random(SEED), 0
    for _ in range(number):
        folder = copied(killed, tmp_path / "damaged")
        how = damage(newest(folder, *patterns), rng)
        opened += opens_whole_or_says_why(folder, states[-1], how)
        shutil.rmtree(folder)
    assert opened < number / 5  # most damage hits something that was acknowledged


def test_damage_to_several_files_of_two_generations_never_passes_in_silence(
    rolled: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path
) -> None:
    killed, states = rolled
    rng, opened = random.Random(SEED), 0
    for _ in range(150):
        folder = copied(killed, tmp_path / "damaged")
        files = sorted(folder.glob("objects-*"))
        chosen = rng.sample(files, rng.randrange(1, len(files) + 1))
        hows = [delete(path, rng) if rng.random() < 0.5 else damage(path, rng) for path in chosen]
        opened += opens_whole_or_says_why(folder, states[-1], f"{[path.name for path in chosen]}: {hows}")
        shutil.rmtree(folder)
    assert 0 < opened < 40  # the generation before is not needed


@pytest.mark.parametrize("gone", ["objects-*", "objects-000003.*", "objects-000003.db", "objects-000003.wal"])
def test_files_that_are_gone_are_named_and_what_is_left_can_be_kept(
    rolled: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path, gone: str
) -> None:
    killed, states = rolled
    folder = copied(killed, tmp_path / "data")
    for path in folder.glob(gone):
        path.unlink()
    assert not opens_whole_or_says_why(folder, states[-1], gone)
    if gone == "objects-*":
        return
    restored = salvage(folder)
    with closing(Store(folder)) as store:
        assert objects(store) == dict(states)[restored.revision]


def test_files_of_another_cluster_are_refused(
    history: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path
) -> None:
    killed, states = history
    other = tmp_path / "other"
    restore(killed.parent / "half.backup", other)
    with closing(Store(other)) as store:
        list(write(store, random.Random(1), 5))
    for pattern in ("objects-*.db", "*.wal"):
        folder = copied(killed, tmp_path / "mixed")
        shutil.copyfile(newest(other, pattern), newest(folder, pattern))
        assert not opens_whole_or_says_why(folder, states[-1], pattern)
        shutil.rmtree(folder)


def test_what_was_never_acknowledged_may_be_cut_short(
    history: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path
) -> None:
    killed, states = history
    for garbage in (b"\0", b"\0" * 9_000, random.Random(SEED).randbytes(9_000)):
        folder = copied(killed, tmp_path / "torn")
        with newest(folder, *LOG).open("ab") as log:
            log.write(garbage)
        assert opens_whole_or_says_why(folder, states[-1], "garbage behind the end")
        shutil.rmtree(folder)


def test_a_restored_backup_is_what_was_backed_up_and_revisions_never_come_again(
    history: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path
) -> None:
    killed, states = history
    backup, rng = killed.parent / "half.backup", random.Random(SEED)
    for _ in range(10):
        folder = copied(killed, tmp_path / "damaged")
        damage(newest(folder, *LOG), rng)
        before = {path.name: path.read_bytes() for path in folder.glob("objects-*")}
        restored = restore(backup, folder)
        assert restored.set_aside is not None
        assert {path.name: path.read_bytes() for path in restored.set_aside.iterdir()} == before
        with closing(Store(folder)) as store:
            assert objects(store) == states[WRITES // 2 - 1][1]
            assert store.revision > states[-1][0] - WRITES
            list(write(store, rng, 3))
        shutil.rmtree(folder)


def test_what_is_salvaged_is_what_the_cluster_was_at_some_moment(
    history: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path
) -> None:
    killed, states = history
    known = {1: Objects(), **dict(states)}
    rng, salvaged = random.Random(SEED), 0
    for attempt in range(60):
        folder = copied(killed, tmp_path / "damaged")
        how = damage(newest(folder, *(LOG if attempt % 2 else ("objects-*.db",))), rng)
        try:
            restored = salvage(folder)
        except DataFolderError as error:
            assert "maar restore" in str(error)  # noqa: PT017  either is right
        else:
            salvaged += 1
            with closing(Store(folder)) as store:
                assert objects(store) == known[restored.revision], how
                assert store.revision > states[-1][0], how
        shutil.rmtree(folder)
    assert salvaged > 40


def test_a_damaged_backup_is_refused_and_never_named_as_good(
    history: tuple[Path, list[tuple[int, Objects]]], tmp_path: Path
) -> None:
    killed, states = history
    rng, folder = random.Random(SEED), copied(killed, tmp_path / "data")
    kept = keep_backup(folder)
    assert kept is not None
    assert keep_backup(folder) is None, "nothing has changed"
    whole = kept.read_bytes()
    assert read_backup(kept).revision == states[-1][0]
    for _ in range(60):
        how = damage(kept, rng)
        with pytest.raises(BadBackupError):
            read_backup(kept)
        assert list(good_backups(folder)) == [], how
        before = sorted(path.name for path in folder.glob("objects-*"))
        with pytest.raises(BadBackupError):
            restore(kept, folder)
        assert sorted(path.name for path in folder.glob("objects-*")) == before
        kept.write_bytes(whole)
    assert next(good_backups(folder))[0] == kept
