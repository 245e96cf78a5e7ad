"""Jobs that really run on `maar up --local`: together, again after a failure, and a hundred at a time."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from support.maar_up import MaarUp
from support.until import TIMEOUT_S, wait_until

MAAR: Final = str(Path(sys.executable).with_name("maar"))
EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "workstation"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaarUp]:
    with MaarUp(tmp_path_factory.mktemp("up"), "--local", "--local-gpus", "2") as running:
        yield running
        running.stop()


def maar(up: MaarUp, *words: str) -> str:
    env = {**os.environ, "KUBECONFIG": str(up.kubeconfig)}
    done = subprocess.run(
        [MAAR, *words], env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def job(up: MaarUp, name: str) -> Any:  # noqa: ANN401  # JSON
    (found,) = [
        one
        for one in json.loads(maar(up, "job", "list", "-o", "json"))["items"]
        if one["metadata"]["name"] == name
    ]
    return found["status"]


def ends(up: MaarUp, name: str) -> str:
    """The phase that a job ends in."""
    phases = ("Completed", "Failed", "Aborted", "Terminated")
    wait_until(f"{name} is over", lambda: job(up, name).get("state", {}).get("phase") in phases)
    return str(job(up, name)["state"]["phase"])


def test_three_tasks_compute_together_over_their_host_lists(up: MaarUp) -> None:
    maar(up, "job", "run", "-f", str(EXAMPLES / "three-tasks.yaml"))
    assert ends(up, "squares") == "Completed"
    total = sum(number * number for number in range(1000))
    assert f"the sum of the squares below 1000 is {total}" in maar(up, "job", "logs", "squares")


def test_a_job_that_fails_twice_and_then_succeeds(up: MaarUp) -> None:
    maar(up, "job", "run", "-f", str(EXAMPLES / "fails-twice.yaml"))
    assert ends(up, "stubborn") == "Completed"
    assert job(up, "stubborn")["retryCount"] == 2
    assert "run 2" in maar(up, "job", "logs", "stubborn")


def test_an_array_of_a_hundred(up: MaarUp) -> None:
    script = 'echo "part $MAAR_ARRAY_INDEX"'
    said = maar(up, "run", "--name", "hundred", "--array", "0-99", "--cpus", "10m", "--", "sh", "-c", script)
    printed = [line.rpartition("part ")[2] for line in said.splitlines() if "part " in line]
    assert sorted(map(int, printed)) == list(range(100))
    assert ends(up, "hundred") == "Completed"
