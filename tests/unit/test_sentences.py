"""Errors say what is wrong, where, and what to do next: those that once said something else."""

import gzip
import re
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import maar
from maar.api.arguments import configuration_of
from maar.cli.backup import backup
from maar.cli.failure import CommandError
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.pod import Pod
from maar.core.model.queue import Queue
from maar.embedded.access import BadSecretError, token, write_kubeconfig
from maar.embedded.data_folder import DataFolderError, unusable
from maar.embedded.store import Store
from maar.serving.listening import holder_of
from support.processes import bounded

LISTENER = "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\n" + (
    "print(s.getsockname()[1], flush=True)\ninput()\n# " + "x" * 200
)


@pytest.mark.parametrize(("size", "reported"), [(10, "too short (10 "), (100_043, "too long (100,043 ")])
def test_a_token_is_too_short_or_too_long(tmp_path: Path, size: int, reported: str) -> None:
    (tmp_path / "admin.token").write_text("x" * size)
    with pytest.raises(BadSecretError, match=re.escape(reported)):
        token(tmp_path, "admin")


def test_a_file_that_is_in_the_way_is_named_and_not_the_unfinished_one(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.mkdir()
    with pytest.raises(OSError, match="directory") as error:
        write_kubeconfig(path, "https://x", b"", "t")
    assert f"cannot be used at {path} (is a directory)" in str(unusable(tmp_path, error.value))


def test_a_link_that_leads_to_itself_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(DataFolderError, match="this is a link that leads nowhere; name a folder"):
        Store(tmp_path / "loop")


@pytest.mark.parametrize(
    ("output", "reported"),
    [("", "this is a folder; name a file in it"), ("no/where", "there is no folder .*/no; make it")],
)
def test_a_backup_that_cannot_be_written_says_why(tmp_path: Path, output: str, reported: str) -> None:
    Store(tmp_path / "data").close()
    with pytest.raises(CommandError, match=reported) as error:
        backup(tmp_path / "data", tmp_path / output)
    assert "space" not in str(error.value)


def test_the_process_that_has_a_port_is_named_in_one_line() -> None:
    command = [sys.executable, "-c", LISTENER]
    with bounded(
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ) as listener:
        assert listener.stdout is not None
        reported = holder_of(int(listener.stdout.readline()))
        listener.kill()
    assert reported.startswith(f"process {listener.pid} (python")
    assert "\n" not in reported
    assert len(reported) < 100


def test_nobody_has_a_port_that_is_free() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        assert holder_of(taken.getsockname()[1]) == ""


def test_a_number_that_is_too_large_is_shown() -> None:
    with pytest.raises(
        BadObjectError, match=r"spec.weight: expected `int`, got `str` \(1e400: quoted, or larger"
    ):
        from_document(Queue, {"metadata": {"name": "q"}, "spec": {"weight": "1e400"}})
    with pytest.raises(BadObjectError, match=r"got `str`$"):
        from_document(Pod, {"metadata": {"name": "p"}, "spec": {"priority": "high"}})


def test_a_configuration_that_is_no_text_is_said_to_be_none(tmp_path: Path) -> None:
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b"{}"))
    with pytest.raises(maar.InputError, match=r"bomb\.json\.gz: this is no text; name a file with"):
        configuration_of(file)


@pytest.mark.parametrize(
    ("source", "reported"),
    [
        (7, "7 is not a cluster; give a path, or objects"),
        (None, "None is not a cluster; give a path, or objects"),
        ("kind: Node\n", "a text is the path of a file here; read YAML first"),
    ],
)
def test_what_is_no_cluster_is_told_what_one_is(source: object, reported: str) -> None:
    with pytest.raises(maar.PlanError, match=re.escape(reported)):
        maar.plan(source)  # type: ignore[arg-type]
