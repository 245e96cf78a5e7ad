"""Snapshots on the command line: maar plan takes them with all that is in them, and compares plans."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import msgspec
import pytest

from maar.api.manifests import read_manifests
from maar.apps.snapshots.files import Snapshot, as_yaml, read, write
from maar.apps.snapshots.recording import Recording, RecordingEngine
from maar.apps.snapshots.taking import Taken
from maar.core.answers.plan.ask import whole
from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Event, Upserted
from maar.core.model.pod import Pod
from maar.core.policy.configuration import parse
from maar.core.views.objects import Seen
from support.commands import Run, run

__all__ = ["run"]

EXAMPLE = Path(__file__).parents[3] / "examples" / "small"
NOW = datetime(2026, 11, 16, 4, 0, 0, 250000, tzinfo=UTC)
CONFIGURATION = {"actions": "enqueue, allocate, reclaim", "tiers": [{"plugins": [{"name": "gang"}]}]}

Change = Callable[[Snapshot], Snapshot]


def example() -> list[Event]:
    """The small example, its pods for the scheduler maar."""
    events = list[Event]()
    for one in read_manifests([EXAMPLE]).objects:
        named = one
        if isinstance(one, Pod):
            named = msgspec.structs.replace(
                one, spec=msgspec.structs.replace(one.spec, scheduler_name="maar")
            )
        events.append(Upserted(object=cast("AnyObject", named)))
    return events


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """What a scheduler of another name and configuration saw of the small example, and decided."""
    engine = Engine(parse(CONFIGURATION), "maar")
    engine.feed(example())
    plan = whole(engine.decide(NOW.timestamp()), engine.tables.groups.values())
    return Taken(Seen.of(engine.tables), engine.configuration, NOW.timestamp(), plan).write(tmp_path)


def rewritten(file: Path, ending: str, change: Change = lambda one: one) -> Path:
    """The same snapshot in another form."""
    found = read(file)
    assert found is not None
    other = file.with_name(f"other{ending}")
    write(other, change(found[0]), found[1])
    return other


def test_the_plan_of_a_snapshot_is_the_schedulers_own(snapshot: Path, run: Run) -> None:
    ended = run("maar", "plan", "-f", str(snapshot), "-o", "json")
    assert ended.code == 0
    assert "this is the plan that the scheduler made at 2026-11-16 04:00:00.250000+00:00" in ended.err
    found = read(snapshot)
    assert found is not None
    assert ended.out == json.dumps({"cycles": [found[0].plan]}, indent=1, ensure_ascii=False) + "\n"
    other = json.loads(run("maar", "plan", "-f", str(EXAMPLE), "-o", "json").out)
    assert (
        other["cycles"][0]["evictions"] != json.loads(ended.out)["cycles"][0]["evictions"]
    )  # it is no other's


@pytest.mark.parametrize("ending", [".yaml", ".yml", ".json"])
def test_every_form_of_a_snapshot_gives_the_same_plan(snapshot: Path, run: Run, ending: str) -> None:
    packed = run("maar", "plan", "-f", str(snapshot), "-o", "json")
    other = rewritten(snapshot, ending)
    assert run("maar", "plan", "-f", str(other), "-o", "json") == packed
    other.write_bytes(b" " * (ending == ".json") + other.read_bytes())  # somebody has touched it
    assert run("maar", "plan", "-f", str(other), "-o", "json") == packed


def test_a_snapshot_comes_through_a_pipe(snapshot: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(snapshot)
    assert found is not None
    packed = run("maar", "plan", "-f", str(snapshot), "-o", "json")
    with rewritten(snapshot, ".yaml").open() as piped:
        monkeypatch.setattr("sys.stdin", piped)
        assert run("maar", "plan", "-f", "-", "-o", "json") == packed
    assert b"".join(as_yaml(*found)) == snapshot.with_name("other.yaml").read_bytes()


def test_flags_have_the_last_word(snapshot: Path, run: Run, tmp_path: Path) -> None:
    config = tmp_path / "conf"
    config.write_text("actions: enqueue", encoding="utf-8")
    own = run("maar", "plan", "-f", str(snapshot), "-o", "json")
    assert json.loads(own.out)["cycles"][0]["evictions"]
    ended = run("maar", "plan", "-f", str(snapshot), "-o", "json", "--config", str(config))
    assert json.loads(ended.out)["cycles"][0]["evictions"] == []
    assert "the plan that the scheduler made" not in ended.err
    later = run("maar", "plan", "-f", str(snapshot), "-o", "json", "--now", "2026-11-17T00:00:00Z")
    assert "the plan that the scheduler made" not in later.err
    several = run("maar", "plan", "-f", str(snapshot), "-o", "json", "--cycles", "2")
    assert json.loads(several.out)["cycles"][0] == json.loads(own.out)["cycles"][0]
    assert len(json.loads(several.out)["cycles"]) == 2


def test_another_plan_than_the_schedulers_is_told_with_the_first_difference(snapshot: Path, run: Run) -> None:
    def other(one: Snapshot) -> Snapshot:
        plan = {**(one.plan or {}), "binds": {"ns/p": "n"}}
        return msgspec.structs.replace(one, plan=plan, version="0.0.1")

    ended = run("maar", "plan", "-f", str(rewritten(snapshot, ".json", other)))
    assert ended.code == 0
    assert "the scheduler (Maar 0.0.1) decided otherwise at 2026-11-16 04:00:00.250000+00:00" in ended.err
    assert "warning: binds.ns/p: 'n' is in the first only" in ended.err


def test_what_cannot_be_planned_from_is_explained(snapshot: Path, run: Run, tmp_path: Path) -> None:
    twice = run("maar", "plan", "-f", str(snapshot), "-f", str(rewritten(snapshot, ".yaml")))
    assert twice.code == 1
    assert "there are several snapshots" in twice.err
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(snapshot.read_bytes()[:100])
    ended = run("maar", "plan", "-f", str(cut))
    assert (ended.code, ended.out) == (1, "")
    assert f"{cut}: cannot be read" in ended.err

    def unknown(one: Snapshot) -> Snapshot:
        plugins: list[object] = [{"plugins": [{"name": "somebody-elses"}]}]
        return msgspec.structs.replace(one, configuration={"tiers": plugins})

    ended = run("maar", "plan", "-f", str(rewritten(snapshot, ".json", unknown)))
    assert ended.code == 1
    assert (
        "the snapshot's configuration: tiers[0].plugins[0].name: unknown plugin 'somebody-elses'" in ended.err
    )
    assert "give another with --config" in ended.err
    torn = tmp_path / "torn.yaml"
    torn.write_text("apiVersion: maar.sh/v1\nkind: Snapshot\ntime: yesterday\n", encoding="utf-8")
    ended = run("maar", "plan", "-f", str(torn))
    assert ended.code == 1
    assert "Snapshot without a name: time: invalid RFC3339 encoded datetime" in ended.err


def test_queue_commands_read_snapshots_too(snapshot: Path, run: Run) -> None:
    ended = run("maar", "queue", "tree", "-f", str(snapshot))
    assert ended.code == 0
    assert "research" in ended.out


def test_a_snapshot_has_to_go_somewhere(run: Run, tmp_path: Path) -> None:
    ended = run("maar", "snapshot", "-o", "cluster.txt")
    assert ended.code == 1
    assert "--output cluster.txt: name a file that ends in .yaml, .yml, .json, .json.gz, or -" in ended.err
    ended = run("maar", "snapshot", "--kubeconfig", str(tmp_path / "none"))
    assert ended.code == 1
    assert "none" in ended.err


def test_a_replay_says_what_it_has_seen(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "recording"
    recording = Recording(file)
    engine = RecordingEngine(parse(CONFIGURATION), "maar", recording=recording)
    engine.feed(example())
    plan = engine.decide(NOW.timestamp())
    for one in plan.evictions:
        engine.assume(one)
    recording.close()
    assert plan.evictions
    counted = f"{len(example())} events, {len(plan.binds)} binds, {len(plan.evictions)} evictions"
    reported = f"the same plan in each of 1 cycles of 1 run: {counted}\n"
    assert run("maar", "replay", str(file)) == (0, reported, "")
    with file.open("ab") as cut:
        cut.write(b'{"line":"EventsFed"')
    ended = run("maar", "replay", str(file))
    assert (ended.code, ended.out) == (0, reported)
    assert ended.err == f"note: {file}: the last line is cut short; the process that wrote it was killed\n"
    file.write_bytes(file.read_bytes().replace(b'"weight":', b'"waight":'))
    ended = run("maar", "replay", str(file))
    assert ended.code == 1
    assert f"{file}: line 3: at 2026-11-16T04:00:00.250000+00:00 another plan comes out" in ended.err
    for missing, problem in ((tmp_path / "none", "no such file"), (EXAMPLE, "is a directory")):
        ended = run("maar", "replay", str(missing))
        assert ended.code == 1
        assert f"{missing}: cannot be read" in ended.err
        assert problem in ended.err
