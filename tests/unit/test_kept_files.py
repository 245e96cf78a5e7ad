"""What versions of Maar have kept: this one opens it, or says which version does."""

import gzip
import hashlib
import json
import sqlite3
import struct
import subprocess
import sys
import tarfile
import zlib
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest

from maar.api.manifests import read_manifests
from maar.apps.console.answers.history_file import HistoryFile
from maar.apps.snapshots.files import read
from maar.apps.snapshots.recorded_workload import recorded_moments, recorded_start
from maar.apps.snapshots.recording import Started
from maar.apps.snapshots.replay import BadRecordingError, replay
from maar.core.model.events import Upserted
from maar.core.model.kinds import from_json
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.embedded.backups import BadBackupError, read_backup
from maar.embedded.data_folder import DataFolderError
from maar.embedded.restoring import restore, salvage
from maar.embedded.store import Store
from support.maar_up import MaarUp

KEPT: Final = Path(__file__).parents[1] / "kept"
VERSIONS: Final = sorted(KEPT.glob("v*"))
RESOURCES: Final = (
    "queues.scheduling.volcano.sh",
    "podgroups.scheduling.volcano.sh",
    "pods",
    "jobs.batch",
    "jobs.batch.volcano.sh",
    "cronjobs.batch.volcano.sh",
    "jobtemplates.flow.volcano.sh",
    "jobflows.flow.volcano.sh",
)
MAAR: Final = Path(sys.executable).with_name("maar")


@pytest.fixture(params=VERSIONS, ids=lambda one: one.name)
def kept(request: pytest.FixtureRequest) -> Path:
    """The files of one version."""
    assert isinstance(request.param, Path)
    return request.param


@pytest.fixture
def data(kept: Path, tmp_path: Path) -> Path:
    """A data folder of that version, to be written to."""
    with tarfile.open(kept / "data.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def applied(folder: Path) -> dict[str, str]:
    """The uids of what was applied to a cluster, by resource and name; what was made of it comes and goes."""
    with closing(Store(folder)) as store:
        return {
            f"{resource}/{name}": one["metadata"]["uid"]
            for resource in RESOURCES
            for _, name, body in store.page(resource, None)
            if "last-applied-configuration" in str((one := json.loads(body))["metadata"].get("annotations"))
        }


def test_there_are_files_of_the_first_version() -> None:
    assert KEPT / "v0.1.0" in VERSIONS


def test_a_data_folder_opens_with_its_statuses(data: Path) -> None:
    with closing(Store(data)) as store:
        queues = [from_json(Queue, body) for _, _, body in store.page(RESOURCES[0], None)]
        groups = [from_json(PodGroup, body) for _, _, body in store.page(RESOURCES[1], None)]
    assert {"root", "default", "research", "vision", "platform"} == {one.metadata.name for one in queues}
    assert any(one.status.history for one in queues)
    assert any(one.status.planned_start and one.status.planned_start.time for one in groups)
    assert {one.status.phase for one in groups} >= {"Running", "Inqueue", "Completed"}


def test_maar_up_goes_on_from_a_data_folder(data: Path, tmp_path: Path) -> None:
    before = applied(data)
    with MaarUp(tmp_path, "--no-console") as up:
        tree = subprocess.run(
            [MAAR, "queue", "tree"], env=up.environment, capture_output=True, text=True, check=True
        ).stdout
        assert up.stop() == 0
    assert "vision" in tree
    assert {name.partition("/")[0] for name in before} == set(RESOURCES)
    assert before == applied(data)


def test_a_backup_is_restored(kept: Path, tmp_path: Path) -> None:
    made = read_backup(kept / "one.backup")
    done = restore(kept / "one.backup", tmp_path / "restored")
    assert (done.objects, done.revision) == (made.objects, made.revision)
    assert {name.partition("/")[0] for name in applied(tmp_path / "restored")} == set(RESOURCES)


def test_a_recording_is_read_to_its_end(kept: Path) -> None:
    notes = list[str]()
    with gzip.open(kept / "recording.jsonl.gz") as lines:
        assert recorded_start(lines).scheduler_name == "recorded"
        lines.seek(0)
        moments = list(recorded_moments(lines, notes))
    assert moments
    assert notes == []
    kinds = {
        type(event.object).__name__ for one in moments for event in one.events if isinstance(event, Upserted)
    }
    assert {"Node", "Queue", "PodGroup", "Pod"} <= kinds


def test_a_snapshot_is_planned_from(kept: Path) -> None:
    found = read(kept / "snapshot.json.gz")
    assert found is not None
    assert f"v{found[0].version}" == kept.name
    planned = subprocess.run(
        [MAAR, "plan", "-f", kept / "snapshot.json.gz"], capture_output=True, text=True, check=True
    )
    assert "vision" in planned.stdout
    assert planned.stderr == ""


def test_a_history_is_read_on(data: Path) -> None:
    with closing(HistoryFile.open(data / "console-history.sqlite")) as file:
        assert file.note == ""
        assert file.since(0.0)


# What a later version writes, in forms that this one does not know.


def later_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")


def test_a_data_folder_of_a_later_version_is_refused_and_stays(data: Path) -> None:
    (snapshot,) = data.glob("objects-*.db")
    log = snapshot.with_suffix(".wal")
    later_database(snapshot)
    header = bytearray(log.read_bytes())
    size, digest = snapshot.stat().st_size, hashlib.sha256(snapshot.read_bytes()).digest()
    header[24:64] = struct.pack(">Q32s", size, digest)
    kept_files = refused(data, log, header, "has format 99, and this version of Maar reads format 2; start")
    header[:8] = b"maar-wa2"
    refused(data, log, header, "written by a later version of Maar; start that version")
    assert kept_files == {"objects", "console", "backups"}


def refused(data: Path, log: Path, header: bytearray, sentence: str) -> set[str]:
    """Write a log with another header, and expect that nobody opens or changes the folder."""
    chain = zlib.crc32(header[:64])
    header[64:68] = struct.pack(">I", chain)
    for slot, number in ((4096, 0), (8192, 1)):  # as in an empty log
        mark = struct.pack(">QQQI", number, 12288, struct.unpack_from(">Q", header, 16)[0], chain)
        header[slot : slot + 32] = mark + struct.pack(">I", zlib.crc32(mark))
    log.write_bytes(header[:12288])
    before = {one.name: one.read_bytes() for one in data.glob("objects-*")}
    for attempt in (Store, salvage):
        with pytest.raises(DataFolderError, match=sentence):
            attempt(data)
    done = subprocess.run([MAAR, "backup", "--data", data], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert sentence in done.stderr.replace("\n", " ")
    assert {one.name: one.read_bytes() for one in data.glob("objects-*")} == before
    return {one.name.partition("-")[0] for one in data.iterdir()} - {"lock"}


def test_a_backup_of_a_later_version_is_refused(kept: Path, tmp_path: Path) -> None:
    whole = (kept / "one.backup").read_bytes()
    later = tmp_path / "later.backup"
    later.write_bytes(whole.replace(b"maar-backup 1 ", b"maar-backup 2 ", 1))
    with pytest.raises(BadBackupError, match="written by a later version of Maar; restore it with"):
        read_backup(later)
    later.write_bytes(whole.replace(b"maar-backup 1 ", b"maar-backup 2 ", 1)[:-1])
    with pytest.raises(BadBackupError, match="is damaged"):
        read_backup(later)


def test_a_recording_of_a_later_version_is_refused() -> None:
    started = Started(
        version="9.0.0", format=Started.newest_format + 1, scheduler_name="volcano", configuration={}
    )
    line = msgspec.json.encode(started)
    with pytest.raises(BadRecordingError, match=r"recorded by Maar 9\.0\.0 in format 2, and this is"):
        replay([line])


@pytest.mark.parametrize("ending", [".json", ".json.gz", ".yaml"])
def test_a_snapshot_of_a_later_version_is_refused(kept: Path, tmp_path: Path, ending: str) -> None:
    text = gzip.decompress((kept / "snapshot.json.gz").read_bytes()).replace(b"maar.sh/v1", b"maar.sh/v2", 1)
    file = tmp_path / f"later{ending}"
    file.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    (error,) = read_manifests([file]).errors
    assert "a snapshot of maar.sh/v2, and this version of Maar reads maar.sh/v1; use the version" in error
