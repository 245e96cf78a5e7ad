"""Law S2: a recorded scheduler decides the same again, and so does a plan from its snapshot."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.apps.snapshots.configuration import from_recorded
from maar.apps.snapshots.files import read
from maar.apps.snapshots.plan import plans_from
from maar.apps.snapshots.recording import Recording, RecordingEngine
from maar.apps.snapshots.taking import Taken
from maar.core.answers.plan.ask import plan_data, whole
from maar.core.engine import Engine
from maar.core.model.plan import Plan
from maar.core.views.objects import Seen
from properties.cluster_recipe import Reach, Recipe
from properties.clusters import grow, recipes
from properties.how_many import cases
from properties.scheduler_runs import Life

LIVES = cases(40)
CYCLES = 8
MAAR = str(Path(sys.executable).with_name("maar"))


@pytest.mark.parametrize("reach", [Reach.MODEL, Reach.BEYOND], ids=lambda reach: reach.name)
def test_s2_replaying_a_recording_gives_identical_decisions(reach: Reach, tmp_path: Path) -> None:
    file, binds = tmp_path / "recording", 0
    recording = Recording(file)

    def count(_: float, plan: Plan) -> None:
        nonlocal binds
        binds += len(plan.binds)

    @settings(max_examples=LIVES)
    @given(recipe=recipes(reach), seed=st.integers(0, 2**32))
    def lived(recipe: Recipe, seed: int) -> None:
        Life(RecordingEngine(recording=recording), Random(seed)).lead(grow(recipe).objects, CYCLES, count)

    lived()
    recording.close()
    assert binds > LIVES
    for hash_seed in ("1", "4294967295"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [MAAR, "replay", file], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert f"{binds:,} binds" in done.stdout


@pytest.mark.parametrize("reach", [Reach.MODEL, Reach.BEYOND], ids=lambda reach: reach.name)
def test_a_snapshot_gives_the_plan_that_was_made_whatever_comes_after(reach: Reach, tmp_path: Path) -> None:
    @settings(max_examples=LIVES)
    @given(recipe=recipes(reach), seed=st.integers(0, 2**32))
    def holds(recipe: Recipe, seed: int) -> None:
        engine, taken = Engine(scheduler_name="volcano"), list[Taken]()

        def take(now: float, plan: Plan) -> None:
            complete = whole(plan, engine.tables.groups.values())
            taken.append(Taken(Seen.of(engine.tables), engine.configuration, now, complete))

        Life(engine, Random(seed)).lead(grow(recipe).objects, CYCLES, take)
        for one in taken:  # only now: what was held has not changed with the tables
            found = read(one.write(tmp_path))
            assert found is not None
            snapshot, objects = found
            (again,) = plans_from(snapshot, objects, from_recorded(snapshot.configuration), snapshot.time)
            assert (
                json.dumps(plan_data(again)) == json.dumps(snapshot.plan) == json.dumps(plan_data(one.plan))
            )

    holds()
