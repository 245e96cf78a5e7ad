"""Walks through the code: a pod takes every step that ARCHITECTURE.md names; figures repeat."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from walks import WALKS, pod_in_core, walk

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
TOUR = PAGE.split("## One pod, from event to bind")[1].split("\n## ")[0]
STEP = re.compile(r"`(core/[a-z_/]+\.py)` `([A-Za-z_.]+)`")
LAYERS = {
    "one pod": ("kube/watch.py", "apps/scheduler/scheduler.py", "core/cycle/decision.py", "kube/write.py"),
    "one queue": ("kube/watch.py", "core/cycle/decision.py", "apps/scheduler/statuses.py", "kube/write.py"),
    "one job": (
        "kube/watch.py",
        "apps/controllers.py",
        "core/controllers/jobs/controller.py",
        "kube/write.py",
    ),
    "one what-if": ("core/answers/whatif/ask.py", "core/simulation/virtual_time.py", "core/engine.py"),
    "one console request": (
        "apps/console/server.py",
        "apps/console/answers/queue_page.py",
        "kube/listing.py",
    ),
    "one kubectl write": ("embedded/server.py", "embedded/writing.py", "core/admission/review.py"),
}


def test_one_pod_takes_the_way_that_the_page_tells() -> None:
    called = [(f"core/{file}", name) for file, name, _ in pod_in_core()]
    steps = [
        (file, name if name[0].islower() or "." in name else f"{name}.__init__")
        for file, name in STEP.findall(TOUR)
    ]
    assert len(steps) > 10
    assert [step for step in steps if step not in called] == []
    places = [called.index(step) for step in steps]
    assert places == sorted(places)


def test_all_walks_are_the_same_in_every_run() -> None:
    """Sets of strings have another order in another process, and times are others."""
    tables = [measured(hash_seed) for hash_seed in ("1", "2")]
    assert tables[0] == tables[1]
    figures = {row[:24].strip(): [int(number) for number in row[24:].split()] for row in tables[0]}
    assert figures.keys() == {"one pod, core", *WALKS}
    for files, functions, changes in figures.values():
        assert 10 < files < functions
        assert files <= changes + 1


@pytest.mark.parametrize(("name", "steps"), LAYERS.items())
def test_a_walk_goes_through_its_layers(name: str, steps: tuple[str, ...]) -> None:
    files = [file for file, _, _ in walk(name)]
    places = [files.index(step) for step in steps]
    assert places == sorted(places)


def measured(hash_seed: str) -> list[str]:
    """The rows of the table, as a process of its own prints it."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "tools/walks.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[1:]
