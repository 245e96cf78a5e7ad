"""The console's own permissions: with all of them it keeps a history, without any of them it lacks some."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from maar.apps.console.answers.history_file import HistoryFile
from support.needs_kubernetes import needs_kubernetes
from support.permissions import Permission, permissions
from support.reduced_permissions import Stage, stage_of, stays_untrue

ME: Final = "maar-console"
ALL: Final = permissions("console")
EVICTIONS_LACK: Final = "history: evictions are not counted"
ALL_LACKS: Final = "history: no sample was taken"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    needs_kubernetes()
    with stage_of(tmp_path_factory.mktemp("console"), "console") as made:
        yield made


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history"


def start(stage: Stage, name: str, kubeconfig: Path, history: Path) -> None:
    stage.start(name, kubeconfig, "--port", "0", "--login", "token", "--history", str(history))


def stop(stage: Stage, name: str) -> None:
    stage.processes.stop(name, signal.SIGTERM)
    assert "Traceback" not in stage.processes.log(name).read_text()


def has_sample(history: Path) -> bool:
    """Look at a copy: the console alone may open the file."""
    with TemporaryDirectory() as folder:
        for file in history.parent.glob("history*"):
            shutil.copy(file, folder)
        copy = HistoryFile.open(Path(folder) / history.name)
        try:
            return bool(copy.since(0.0))
        finally:
            copy.close()


@pytest.mark.parametrize("taken", ALL, ids=str)
def test_its_history_lacks_something_without(stage: Stage, taken: Permission, history: Path) -> None:
    name = f"without-{taken.resource}"
    start(stage, name, stage.account(name, taken), history)
    lacks = EVICTIONS_LACK if taken.resource == "events" else ALL_LACKS
    stage.until("it says what is missing", lambda: lacks in stage.processes.log(name).read_text())
    assert stage.audit.denied(stage.asked(name, taken)) > 0
    assert stays_untrue(lambda: has_sample(history)) == (lacks == ALL_LACKS)
    stop(stage, name)


def test_with_all_of_them_it_keeps_a_history_and_nothing_is_refused(stage: Stage, history: Path) -> None:
    start(stage, ME, stage.account(ME), history)
    stage.until("it takes a sample", lambda: has_sample(history))
    for one in ALL:
        assert stage.audit.allowed(stage.asked(ME, one)) > 0
    assert stage.audit.refusals(ME) == []
    stop(stage, ME)
