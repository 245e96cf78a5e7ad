"""Recordings: what is in them, how they end, and how a difference is told."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from maar.apps.snapshots.recording import Recording, RecordingEngine
from maar.apps.snapshots.replay import BadRecordingError, DifferenceError, ReplayTotals, replay
from maar.core.engine import Engine
from maar.core.model.events import Deleted, Upserted
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import Resources
from maar.core.model.writes import Bind
from maar.core.policy.configuration import parse

NOW = datetime(2026, 11, 16, 4, tzinfo=UTC).timestamp()


def pod(name: str, node: str = "") -> Pod:
    need = ResourceRequirements(requests=Resources.parse({"cpu": "1"}))
    return Pod(
        metadata=Metadata(name=name, namespace="ns", annotations={GROUP_ANNOTATION: "g", "mine": "hunter2"}),
        spec=PodSpec(scheduler_name="volcano", node_name=node, containers=(Container(resources=need),)),
    )


def begin(engine: Engine) -> None:
    """Two nodes of different size, and two pods that fit anywhere."""
    ready = (Condition(type="Ready", status="True"),)
    sizes = {"n1": "4", "n2": "8"}
    for name, cpu in sizes.items():
        size = Resources.parse({"cpu": cpu, "pods": "9"})
        node = Node(metadata=Metadata(name=name), status=NodeStatus(allocatable=size, conditions=ready))
        engine.feed([Upserted(object=node)])
    group = PodGroup(metadata=Metadata(name="g", namespace="ns"), spec=PodGroupSpec(min_member=1))
    engine.feed([Upserted(object=group), Upserted(object=pod("a")), Upserted(object=pod("b"))])


def cycle(engine: Engine, now: float = NOW) -> tuple[Bind, ...]:
    binds = engine.decide(now).binds
    for one in binds:
        engine.assume(one)
    return binds


def recorded(file: Path) -> None:
    """A life with everything in it that can be recorded."""
    recording = Recording(file)
    engine = RecordingEngine(recording=recording)
    begin(engine)
    first, second = cycle(engine)
    engine.feed([Upserted(object=pod("a", first.node))])
    engine.forget(second)  # it is free again
    before, engine.configuration = engine.configuration, parse({"actions": "enqueue"})
    assert cycle(engine, NOW + 0.5) == ()
    engine.configuration = before
    (again,) = cycle(engine, NOW + 1)
    engine.forget(second)  # equal to what is under way now, and not the same: nothing is taken back
    assert again == second
    assert cycle(engine, NOW + 2) == ()
    engine.feed([Deleted(kind="Pod", key="ns/a")])
    engine.decide(NOW + 3)
    recording.close()


def replayed(file: Path) -> ReplayTotals:
    with file.open("rb") as lines:
        return replay(lines)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "recording.jsonl"
    recorded(made)
    return made


def test_a_recording_replays(file: Path) -> None:
    assert replayed(file) == ReplayTotals(runs=1, cycles=5, events=7, binds=3)
    kinds = [json.loads(line)["line"] for line in file.read_text(encoding="utf-8").splitlines()]
    assert kinds == [
        "Started", "EventsFed", "EventsFed", "EventsFed", "Decided", "WriteAssumed", "WriteAssumed",
        "EventsFed", "WriteForgotten", "Configured",
        "Decided", "Configured", "Decided", "WriteAssumed", "Decided", "EventsFed", "Decided",
    ]  # fmt: skip


def test_a_recording_is_for_its_owner_and_says_nothing_that_decisions_do_not_read(file: Path) -> None:
    assert file.stat().st_mode & 0o077 == 0
    assert "hunter2" not in file.read_text(encoding="utf-8")


def test_wherever_a_scheduler_was_killed_the_rest_replays_and_the_next_one_records_on(file: Path) -> None:
    whole = file.read_bytes()
    lines = whole.splitlines()
    for length in range(len(lines[0]) + 1, len(whole), 211):
        file.write_bytes(whole[:length])
        finished = [one for one in whole[:length].splitlines() if one in lines]
        assert replayed(file).cycles == sum(b'"Decided"' in one for one in finished)
        recorded(file)
        assert replayed(file).runs == 2


def test_what_was_decided_is_in_the_file_before_it_is_carried_out(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "r")
    engine = RecordingEngine(recording=recording)
    begin(engine)
    engine.decide(NOW)
    assert replayed(tmp_path / "r").cycles == 1
    recording.close()


def test_a_recording_ends_at_its_size_and_the_scheduler_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "r"
    recording = Recording(file, largest=6_000)
    engine = RecordingEngine(recording=recording)
    begin(engine)
    for number in range(50):
        cycle(engine, NOW + number)
    assert 4_000 < file.stat().st_size < 6_100
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "it has reached its 6,000 bytes" in caplog.text
    tally = replayed(file)
    assert 1 < tally.cycles < 50
    assert any("largest size" in note for note in tally.notes)


def test_two_schedulers_do_not_record_into_one_file(file: Path) -> None:
    recording = Recording(file)
    with pytest.raises(BlockingIOError, match="another scheduler records into it; name another file"):
        Recording(file)
    recording.close()
    Recording(file).close()


def test_a_full_disk_ends_the_recording_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    recording = Recording(Path("/dev/full"))
    engine = RecordingEngine(recording=recording)
    begin(engine)
    assert len(cycle(engine)) == 2
    assert cycle(engine, NOW + 1) == ()
    recording.close()
    assert len(caplog.messages) == 1
    assert "No space left on device; make room" in caplog.text


def test_the_first_plan_that_differs_is_told_with_what_was_written_then(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    first = next(one for one in text.splitlines() if '"WriteAssumed"' in one)
    write = json.loads(first)["write"]
    other = {"n1": "n2", "n2": "n1"}[write["node"]]
    labelled = text.replace(f'"name":"{write["node"]}"', '"name":"n0"')  # as if there had been another node
    file.write_text(labelled, encoding="utf-8")
    with pytest.raises(DifferenceError) as caught:
        replayed(file)
    difference = caught.value.sentences
    assert difference[0].startswith("line 5: at 2026-11-16T04:00:00+00:00 another plan comes out")
    assert "binds" in difference[0]
    assert f"recorded, not replayed: Bind(pod='ns/a', node='{write['node']}')" in difference
    assert not any(other in one for one in difference)
    assert any(one.startswith("replayed, not recorded: Bind(pod='ns/a', node='n0')") for one in difference)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no recording in it"),
        (b"kind: Pod\n", "no recording in it"),
        (b"kind: Pod\nmetadata: {}\n", "line 1: not a line of a recording"),
        (b'{"line":"EventsFed","events":[]}\n', "line 1: a recording starts with"),
        (
            b'<first line>{"line":"EventsFed","events":[{"kind":"Cat","gone":"x"}]}\n',
            "line 2: Cat is not a kind",
        ),
        (
            b'<first line>{"line":"EventsFed","events":[{"kind":"Pod","object":{"spec":1}}]}\n',
            "line 2: a Pod cannot be read",
        ),
        (
            b'<first line>{"line":"EventsFed"\n{"line":"EventsFed","events":[]}\n',
            "line 2: not a line of a recording",
        ),
    ],
)
def test_what_is_no_recording_is_explained(file: Path, content: bytes, problem: str) -> None:
    first_line = file.read_bytes().splitlines(keepends=True)[0]
    with pytest.raises(BadRecordingError, match=problem):
        replay(content.replace(b"<first line>", first_line).splitlines(keepends=True))


def test_another_version_is_noted(file: Path) -> None:
    first_line, *rest = file.read_bytes().splitlines(keepends=True)
    older = msgspec.json.encode({**msgspec.json.decode(first_line), "version": "0.0.1"})
    assert "recorded by Maar 0.0.1" in replay([older, *rest]).notes[0]
