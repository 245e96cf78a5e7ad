"""`maar simulate` on a recording of a scheduler: the same again, and the same work under other weights."""

import json
from pathlib import Path
from random import Random

import pytest

from maar.apps.snapshots.recording import Recording, RecordingEngine
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.simulation.jobs import JobArrivals
from maar.core.simulation.virtual_time import Simulation
from maar.core.simulation.workloads import JobMix, synthetic_jobs
from support.commands import Run, run

__all__ = ["run"]  # a fixture

START = 1_700_000_000.0


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, Simulation]:
    """A recording of a simulation of two queues that want more than there is."""
    size = Resources({"cpu": 8000, "memory": 32 * 2**30, "pods": 110})
    ready = (Condition(type="Ready", status="True"),)
    objects: list[Object] = [
        Node(metadata=Metadata(name="n"), status=NodeStatus(allocatable=size, conditions=ready)),
        Queue(metadata=QueueMetadata(name="a"), spec=QueueSpec(weight=1)),
        Queue(metadata=QueueMetadata(name="b"), spec=QueueSpec(weight=3)),
    ]
    mix = JobMix(jobs=20, cluster_cpu=8000, load=1.5, queues={"a": 1, "b": 1}, largest_job_cpu=4000)
    workload = JobArrivals(synthetic_jobs(mix, Random(1), START))
    simulation = Simulation(objects, workload.run_time, start=START)
    recording = Recording(tmp_path / "recording")
    simulation.engine = simulation.cluster.engine = RecordingEngine(recording=recording)
    simulation.submit_all(workload.arrivals())
    for _ in simulation.run():
        pass
    recording.close()
    return tmp_path / "recording", simulation


def test_it_is_simulated_as_it_was_and_under_other_weights(
    run: Run, tmp_path: Path, recorded: tuple[Path, Simulation]
) -> None:
    file, simulation = recorded
    ended = run("maar", "simulate", "--trace", str(file), "--out", str(tmp_path / "same"))
    assert ended.code == 0, ended.err
    same = json.loads((tmp_path / "same/summary.json").read_text(encoding="utf-8"))["policies"]["as-recorded"]
    times = simulation.times()
    assert same["ended"] == same["jobs"] == len(times.group)
    assert same["wait"]["mean"] == pytest.approx(float((times.started - times.submitted).mean()), abs=1e-5)
    assert same["mainResource"] == "cpu"

    queues = tmp_path / "queues.yaml"
    queue = (
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s}, spec: {weight: %d}}\n"
    )
    queues.write_text(queue % ("a", 9) + "---\n" + queue % ("b", 1))
    asked = ("--trace", str(file), "--queues", str(queues), "--config", "default")
    assert run("maar", "simulate", *asked, "--out", str(tmp_path / "other")).code == 0
    other = json.loads((tmp_path / "other/summary.json").read_text(encoding="utf-8"))["policies"]["default"]
    assert other["byQueue"]["a"]["wait"]["mean"] < same["byQueue"]["a"]["wait"]["mean"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--nodes", "4x8cpu,32Gi"), "--nodes: a recording has nodes of its own; leave it out"),
        (("--config", "easy"), "--config easy is for traces of jobs"),
    ],
)
def test_what_a_recording_has_itself_is_refused(
    run: Run, tmp_path: Path, recorded: tuple[Path, Simulation], options: tuple[str, ...], sentence: str
) -> None:
    ended = run("maar", "simulate", "--trace", str(recorded[0]), *options, "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert sentence in ended.err


def test_a_damaged_recording_is_refused(run: Run, tmp_path: Path, recorded: tuple[Path, Simulation]) -> None:
    lines = recorded[0].read_bytes().splitlines(keepends=True)
    recorded[0].write_bytes(b"".join([*lines[:3], b'{"broken\n', *lines[3:]]))
    ended = run("maar", "simulate", "--trace", str(recorded[0]), "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert "recording: " in ended.err
