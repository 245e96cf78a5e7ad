"""The file of the history: bounded, whole after a kill, set aside where it is damaged."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final

import pytest

from maar.apps.console.answers.history_file import MOST_SAMPLES, HistoryFile, HistoryFileError
from maar.core.views.console.history import QueueMoment, Sample, histories
from support.processes import bounded

WRITER: Final = """
import sys
from pathlib import Path
from maar.apps.console.answers.history_file import HistoryFile
from maar.core.views.console.history import QueueMoment, Sample
file = HistoryFile.open(Path(sys.argv[1]))
queues = {f"queue-{n}": QueueMoment({"cpu": n}, {"cpu": n}, {}, n, n, n) for n in range(200)}
for number in range(1_000_000):
    file.add(Sample(float(number), queues))
    print(number, flush=True)
"""


def sample(moment: float, queues: int = 3) -> Sample:
    amounts = {"cpu": 1_000, "memory": 1 << 30}
    return Sample(
        moment, {f"queue-{n}": QueueMoment(amounts, {"cpu": n}, {}, n, 10 * n, 1) for n in range(queues)}
    )


def times(file: HistoryFile, begin: float = 0.0) -> list[float]:
    found: list[float] = histories(file.since(begin), ["queue-1"])[0].times.tolist()
    return found


def test_samples_are_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "history.sqlite"
    file = HistoryFile.open(path)
    for moment in (60.0, 120.0, 180.0):
        file.add(sample(moment))
    file.close()
    again = HistoryFile.open(path)
    assert times(again) == [60.0, 120.0, 180.0]
    assert times(again, 100.0) == [120.0, 180.0]
    assert not again.note


def test_others_on_the_machine_cannot_read_it(tmp_path: Path) -> None:
    file = HistoryFile.open(tmp_path / "history.sqlite")
    file.add(sample(60.0))
    modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    assert modes == {"history.sqlite": 0o600, "history.sqlite-wal": 0o600}
    file.close()


def test_a_day_is_kept_and_no_more(tmp_path: Path) -> None:
    file = HistoryFile.open(tmp_path / "history.sqlite")
    for number in range(MOST_SAMPLES + 100):
        file.add(sample(60.0 * number, queues=1))
    assert times(file) == [60.0 * number for number in range(100, MOST_SAMPLES + 100)]


def test_the_file_does_not_grow_beyond_a_day(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    file = HistoryFile.open(path)
    for number in range(MOST_SAMPLES):
        file.add(sample(60.0 * number, queues=40))
    size = path.stat().st_size
    for number in range(MOST_SAMPLES, 2 * MOST_SAMPLES):
        file.add(sample(60.0 * number, queues=40))
    file.close()
    assert path.stat().st_size < 1.5 * size + (1 << 20)


def test_a_thousand_queues_take_a_few_kilobytes_a_minute(tmp_path: Path) -> None:
    rng, path = Random(1), tmp_path / "history.sqlite"
    file = HistoryFile.open(path)
    for number in range(20):
        queues = {
            f"team-{n // 10}-queue-{n}": QueueMoment(
                {"cpu": rng.randrange(100) * 500, "memory": rng.randrange(64) << 30},
                {"cpu": rng.randrange(100) * 500, "memory": rng.randrange(64) << 30},
                {"cpu": 4_000},
                rng.randrange(9),
                rng.randrange(4_000),
                0,
            )
            for n in range(1_000)
        }
        file.add(Sample(60.0 * number, queues))
    file.close()
    assert path.stat().st_size / 20 < 20_000  # less than 30 MB a day


def test_nothing_that_was_written_is_lost_when_the_console_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    kept = 0
    for round_ in range(3):
        command, last = [sys.executable, "-c", WRITER, str(path)], -1
        with bounded(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as writer:
            assert writer.stdout is not None
            for line in writer.stdout:
                last = int(line)
                if last > 20 + 7 * round_:
                    break
            os.kill(writer.pid, signal.SIGKILL)
        file = HistoryFile.open(path)
        assert not file.note
        found = times(file)
        assert found[: last + 1] == [float(number) for number in range(last + 1)]
        kept = max(kept, len(found))
        file.close()
    assert kept > 20


@pytest.mark.parametrize("damage", ["text", "header", "middle", "another table", "an earlier version"])
def test_a_damaged_file_is_set_aside_with_a_sentence(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "history.sqlite"
    file = HistoryFile.open(path)
    for number in range(300):
        file.add(sample(60.0 * number, queues=30))
    file.close()
    data = bytearray(path.read_bytes())
    if damage == "text":
        data = bytearray(b"this is no database, and it is longer than a header of SQLite would be" * 20)
    elif damage == "header":
        data[:40] = bytes(40)
    elif damage == "middle":
        data[4096 : 4096 + 8192] = b"\xff" * 8192
    path.write_bytes(data)
    if damage in ("another table", "an earlier version"):
        database = sqlite3.connect(path)
        if damage == "another table":
            database.executescript("DROP TABLE samples; CREATE TABLE samples (other TEXT)")
        else:
            database.execute("PRAGMA user_version = 0")
        database.commit()
        database.close()
    again = HistoryFile.open(path)
    assert "damaged" in again.note
    assert "history.sqlite.damaged" in again.note
    assert (tmp_path / "history.sqlite.damaged").exists()
    assert times(again) == []
    again.add(sample(60.0))
    assert times(again) == [60.0]


def test_a_file_of_a_later_version_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    file = HistoryFile.open(path)
    file.add(sample(60.0))
    file.close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(HistoryFileError, match="format 99, of a later version of Maar, and this one reads"):
        HistoryFile.open(path)
    assert path.read_bytes() == before


def test_a_damaged_sample_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    file = HistoryFile.open(path)
    for number in range(3):
        file.add(sample(60.0 * number))
    file.close()
    database = sqlite3.connect(path)
    database.execute("UPDATE samples SET data = x'00ff' WHERE time = 60.0")
    database.commit()
    database.close()
    known, bad = histories(HistoryFile.open(path).since(0.0), ["queue-1"])
    assert (known.times.tolist(), bad) == ([0.0, 120.0], 1)


def test_a_file_that_another_console_uses_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    first = HistoryFile.open(path)
    first.add(sample(60.0))
    with pytest.raises(HistoryFileError, match="another console may use it"):
        HistoryFile.open(path)
    assert times(first) == [60.0]


def test_a_place_that_cannot_be_written_to_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(HistoryFileError, match="name another file"):
        HistoryFile.open(tmp_path / "file" / "history.sqlite")
    (tmp_path / "folder").mkdir()
    with pytest.raises(HistoryFileError, match="name another file"):
        HistoryFile.open(tmp_path / "folder")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "another.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE photos (name TEXT)")
    database.commit()
    database.close()
    before = path.read_bytes()
    with pytest.raises(HistoryFileError, match="another program"):
        HistoryFile.open(path)
    database = sqlite3.connect(path)
    assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]
    database.close()
    assert path.read_bytes() == before
