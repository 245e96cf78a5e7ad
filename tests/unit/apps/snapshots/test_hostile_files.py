"""Snapshots and recordings that somebody made to do harm: a sentence, in bounded memory."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

import maar
from maar.apps.snapshots.files import UnreadableSnapshotError, read
from maar.apps.snapshots.replay import BadRecordingError, replay
from maar.parsing.limits import DocumentLimits

HEAD = '{"apiVersion":"v1","kind":"List","items":[\n{"apiVersion":"maar.sh/v1","kind":"Snapshot"'
SNAPSHOT = f'{HEAD},"time":"2026-11-16T04:00:00Z"'
STARTED = b'{"line":"Started","version":"","schedulerName":"","scheduler_name":"","configuration":{}}'
DEEP = 100_000


def closed(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_a_snapshot_that_unpacks_to_more_than_fits_is_refused_before_it_does(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(HEAD.encode()) + gzip.compress(b" " * (1 << 20)) * 1_500)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableSnapshotError, match=r"larger than a snapshot may be \(256 MiB"):
            read(bomb)
        assert tracemalloc.get_traced_memory()[1] < 700 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_a_snapshot_keeps_within_limits(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"snapshot{ending}"
    data = f"{SNAPSHOT}{' ' * 1_000}}}]}}".encode()
    file.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    assert read(file, DocumentLimits(len(data), nodes=10)) is not None
    with pytest.raises(UnreadableSnapshotError, match="leave objects out of it"):
        read(file, DocumentLimits(len(data) - 1, nodes=10))
    with pytest.raises(UnreadableSnapshotError, match="1 values"):
        read(file, DocumentLimits(len(data), nodes=1))


@pytest.mark.parametrize(
    "text",
    [
        f'{HEAD},"x":{"[" * DEEP}',
        f'{SNAPSHOT},"x":{closed(DEEP)}}}]}}',
        f'{SNAPSHOT},"plan":{{"binds":{closed(300)}}}}}]}}',
        f'{SNAPSHOT},"configuration":{{"actions":{closed(900)}}}}}]}}',
        f'{SNAPSHOT}}},\n{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p"}},"spec":{closed(DEEP)}}}]}}',
    ],
    ids=["open", "closed", "plan", "configuration", "pod"],
)
def test_a_snapshot_that_is_too_deep_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "deep.json"
    file.write_text(text)
    with pytest.raises(maar.PlanError, match=r"deep\.json: .*nested .*deep.*; take it again"):
        maar.plan(file)


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"x","a":' + "[" * DEEP,
        f'{{"line":"EventsFed","events":[{{"kind":"Pod","object":{closed(DEEP)}}}]}}',
        f'{{"line":"EventsFed","events":[{{"kind":"Pod","object":{{"spec":{closed(900)}}}}}]}}',
    ],
    ids=["open", "closed", "object"],
)
def test_a_line_of_a_recording_that_is_too_deep_is_refused(line: str) -> None:
    with pytest.raises(BadRecordingError, match=r"line 2: .*nested too deeply"):
        replay([STARTED, line.encode()])
