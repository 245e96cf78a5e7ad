"""Whatever a scheduler went through, its recording can be simulated."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.apps.snapshots.recorded_workload import recorded_moments
from maar.apps.snapshots.recording import Recording, RecordingEngine
from maar.core.model.pod import Pod
from maar.core.simulation.virtual_time import Simulation
from maar.core.traces.recordings import RecordedWorkload
from properties.cluster_recipe import Reach, Recipe
from properties.clusters import grow, recipes
from properties.how_many import cases
from properties.scheduler_runs import Life

LIVES = cases(25)
CYCLES = 8
MOST_DECISIONS = 300


@pytest.mark.parametrize("reach", [Reach.MODEL, Reach.BEYOND], ids=lambda reach: reach.name)
def test_every_recording_can_be_simulated(reach: Reach, tmp_path: Path) -> None:
    files = iter(range(10_000))
    arrived = 0

    @settings(max_examples=LIVES)
    @given(recipe=recipes(reach), seed=st.integers(0, 2**32))
    def holds(recipe: Recipe, seed: int) -> None:
        nonlocal arrived
        file = tmp_path / f"recording-{next(files)}"
        recording = Recording(file)
        Life(RecordingEngine(recording=recording), Random(seed)).lead(
            grow(recipe).objects, CYCLES, lambda _time, _plan: None
        )
        recording.close()
        lines = file.read_bytes().splitlines(keepends=True)
        workload = RecordedWorkload(lambda: recorded_moments(lines))
        arrivals = list(workload.arrivals())
        times = [one.time for one in arrivals]
        assert times == sorted(times)
        pods = [one for arrival in arrivals for one in arrival.objects if isinstance(one, Pod)]
        assert len({one.key for one in pods}) == len(pods) == workload.totals.pods
        assert all(seconds is None or seconds >= 0 for seconds in map(workload.run_time, pods))
        arrived += len(pods)
        simulation = Simulation(workload.objects, workload.run_time, start=workload.start)
        simulation.submit_all(iter(arrivals))
        for _ in simulation.run():
            if simulation.decisions > MOST_DECISIONS:
                break

    holds()
    assert arrived > LIVES
