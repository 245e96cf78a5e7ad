"""The way of one pod through the code: every step that ARCHITECTURE.md names is really taken."""

import re
from itertools import pairwise
from pathlib import Path

from way_of_one_pod import way_of_one_pod

PAGE = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
TOUR = PAGE.split("## One pod, from event to bind")[1].split("\n## ")[0]
STEP = re.compile(r"`(core/[a-z_/]+\.py)` `([A-Za-z_.]+)`")
LIMITS = re.compile(r"at most ([0-9]+) files and ([0-9]+) changes of file")


def test_one_pod_takes_the_way_that_the_page_tells() -> None:
    called = [(f"core/{file}", name) for file, name, _ in way_of_one_pod()]
    steps = [
        (file, name if name[0].islower() or "." in name else f"{name}.__init__")
        for file, name in STEP.findall(TOUR)
    ]
    assert len(steps) > 10
    assert [step for step in steps if step not in called] == []
    places = [called.index(step) for step in steps]
    assert places == sorted(places)


def test_the_way_is_as_short_as_the_page_tells() -> None:
    """Whoever follows a pod changes from file to file; a longer way is a worse layout, or a new feature."""
    files = [file for file, _, _ in way_of_one_pod()]
    [(most_files, most_changes)] = LIMITS.findall(TOUR)
    assert len(set(files)) <= int(most_files)
    assert sum(one != other for one, other in pairwise(files)) <= int(most_changes)
