"""What `maar simulate` leaves on disk: when, after which signals, and what it says about itself."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import maar
from maar.api.simulation.report import ReportFolder
from maar.cli.answers.simulation_progress import SimulationProgress
from maar.core.answers.simulate.page import Heading
from support.commands import Run, run
from unit.cli.answers.test_simulate import NODES, elements, files, small, swf

__all__ = ["run"]  # a fixture


@pytest.mark.parametrize("decisions", [0, 30])
def test_ctrl_c_leaves_a_partial_report_or_nothing_and_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decisions: int
) -> None:
    left = iter(range(decisions))

    def interrupted(*_: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(SimulationProgress, "is_at", interrupted)
    if not decisions:
        monkeypatch.setattr(SimulationProgress, "begins", interrupted)
    asked = (
        "--generate",
        "mixed",
        "--jobs",
        "50",
        "--nodes",
        NODES,
        "--config",
        "default",
        "--config",
        "fcfs",
    )
    ended = run("maar", "simulate", *asked, "--out", str(tmp_path))
    assert ended.code == 130
    if not decisions:
        assert ended.err == "interrupted before the first decision: nothing is written\n"
        assert files(tmp_path) == {}
        return
    assert "interrupted: stopped by Ctrl-C while default was simulated" in ended.err
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert list(summary["policies"]) == ["default"]
    assert not summary["policies"]["default"]["isWhole"]
    assert "stopped by Ctrl-C" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_results_of_a_policy_are_on_disk_before_the_next_begins(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, begins = list[set[str]](), SimulationProgress.begins

    def begin(progress: SimulationProgress, name: str, jobs: int | None) -> None:
        seen.append(set(files(tmp_path)))
        if len(seen) == 2:
            summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
            assert summary["policies"]["fcfs"]["isWhole"]
            assert summary["notes"] == ["not simulated yet when this was written: easy"]
        begins(progress, name, jobs)

    monkeypatch.setattr(SimulationProgress, "begins", begin)
    asked = ("--generate", "mixed", "--jobs", "20", "--nodes", NODES, "--config", "fcfs", "--config", "easy")
    assert run("maar", "simulate", *asked, "--out", str(tmp_path)).code == 0
    assert seen == [set(), {"report.html", "summary.json", "fcfs/jobs.csv", "fcfs/series.csv"}]
    assert json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["notes"] == []


def test_sigterm_keeps_what_was_simulated_until_then(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(range(30))

    def terminated(*_: object) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(SimulationProgress, "is_at", terminated)
    asked = ("--generate", "mixed", "--jobs", "50", "--nodes", NODES, "--config", "fcfs", "--config", "easy")
    try:
        ended = run("maar", "simulate", *asked, "--out", str(tmp_path))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.code == 143
    assert "interrupted: stopped by SIGTERM while fcfs was simulated" in ended.err
    assert set(files(tmp_path)) == {"report.html", "summary.json", "fcfs/jobs.csv", "fcfs/series.csv"}


def test_sigterm_after_a_policy_keeps_it_whole(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimulationProgress, "ends", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    asked = ("--generate", "mixed", "--jobs", "20", "--nodes", NODES, "--config", "fcfs", "--config", "easy")
    try:
        ended = run("maar", "simulate", *asked, "--out", str(tmp_path))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.code == 143
    assert "interrupted: stopped by SIGTERM after fcfs had been simulated; not simulated: easy\n" in ended.err
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["policies"]["fcfs"]["isWhole"]
    assert set(files(tmp_path)) == {"report.html", "summary.json", "fcfs/jobs.csv", "fcfs/series.csv"}


class Stopped(list[str]):
    """Notes that the process does not live to write."""

    def __iter__(self) -> Iterator[str]:
        raise KeyboardInterrupt


def test_a_report_that_is_not_written_to_its_end_leaves_the_one_that_was_there(tmp_path: Path) -> None:
    found = maar.simulate(small(tmp_path), nodes=NODES, config="fcfs")
    found.write(tmp_path / "out")
    before = files(tmp_path / "out")
    heading = Heading("Simulation", [], Stopped(["a note"]))
    with pytest.raises(KeyboardInterrupt):
        ReportFolder(tmp_path / "out").write(heading, found.outcomes, {})
    after = files(tmp_path / "out")
    assert {name: after[name] for name in before} == before


def test_the_page_says_by_what_it_was_made(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text('actions: "enqueue, allocate"\n')
    asked = ("--trace", str(small(tmp_path)), "--nodes", NODES, "--config", str(config), "--config", "fcfs")
    assert run("maar", "simulate", *asked, "--out", str(tmp_path / "out")).code == 0
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    text = " ".join(elements(page).itertext())
    assert f"Maar {maar.__version__}: maar simulate --trace {tmp_path}/jobs.swf --nodes {NODES}" in text
    assert "--out" not in text
    assert '"actions": "enqueue, allocate"' in text
    assert "All jobs are in one queue, dequeueStrategy: fifo" in text


def test_the_page_of_python_says_by_what_it_was_made(tmp_path: Path) -> None:
    found = maar.simulate(small(tmp_path), nodes=NODES, config={"actions": "enqueue, allocate"})
    found.write(tmp_path / "out")
    text = " ".join(elements((tmp_path / "out/report.html").read_text(encoding="utf-8")).itertext())
    assert f"Maar {maar.__version__}: maar.simulate" in text
    assert '"actions": "enqueue, allocate"' in text


def test_with_most_jobs_notes_count_what_was_read_for_them(run: Run, tmp_path: Path) -> None:
    file = small(tmp_path, swf(1, 0, 60, 4), swf(2, 5, -1, 4), *(swf(n, n, -1, 4) for n in range(10, 90)))
    lines = file.read_text(encoding="utf-8") + swf(100, 100, 60, 4) + swf(101, 101, -1, 4)
    file.write_text(lines)
    asked = ("--trace", str(file), "--nodes", NODES, "--out", str(tmp_path / "out"))
    for most, note in (("1", None), ("2", "81 of 83 records are not simulated:")):
        ended = run("maar", "simulate", *asked, "--most-jobs", most)
        assert ended.code == 0
        found = [one[6:] for one in ended.err.splitlines() if "records are not simulated" in one]
        assert found == ([note] if note else [])
