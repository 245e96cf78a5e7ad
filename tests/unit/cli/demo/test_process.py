"""The demo's own cluster: what it says when it cannot begin, and that nothing of it is left."""

import sys
from pathlib import Path

import pytest

from maar.cli.demo.process import ClusterProcess
from maar.cli.failure import CommandError
from support.commands import Run, run

__all__ = ["run"]


def test_a_cluster_that_cannot_start_says_why_and_leaves_nothing() -> None:
    with (
        pytest.raises(CommandError, match="it does not say how much cpu"),
        ClusterProcess("4x32Gi") as cluster,
    ):
        cluster.wait_until_up()
    assert cluster.has_ended
    assert not cluster.folder.exists()


def test_a_cluster_that_is_interrupted_while_it_starts_leaves_nothing() -> None:
    with pytest.raises(KeyboardInterrupt), ClusterProcess("none") as cluster:
        raise KeyboardInterrupt
    assert cluster.has_ended
    assert not cluster.folder.exists()


def test_a_cluster_that_does_not_stop_is_killed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('maar is up', flush=True)"
    )
    program = (sys.executable, "-c", f"{deaf}; time.sleep(600)")
    monkeypatch.setattr("maar.cli.demo.process._PROGRAM", program)
    monkeypatch.setattr("maar.cli.demo.process._STOP_WITHIN_S", 0.1)
    with ClusterProcess("none") as cluster:
        cluster.wait_until_up()
    assert cluster.has_ended
    assert "did not stop in 0.1 s and was killed" in capsys.readouterr().err


def test_an_organisation_that_is_not_there_is_named(tmp_path: Path, run: Run) -> None:
    ended = run("maar", "demo", "--organisation", str(tmp_path / "nowhere"))
    assert ended.code == 1
    assert "nowhere: there is no such folder; run the demo in a checkout of Maar" in ended.err
