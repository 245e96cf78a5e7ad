"""`maar up` on a bad day: damaged files, odd folders, a full disk, an early Ctrl-C. A sentence each."""

import json
import random
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support.damage import copied, damage
from support.maar_up import MaarUp
from support.small_disk import small_disk
from support.until import TIMEOUT_S, wait_until

MAAR = str(Path(sys.executable).with_name("maar"))
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([MAAR, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def refused(*arguments: str) -> str:
    """What a command says that must fail in one sentence."""
    done = run(*arguments)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def call(up: MaarUp, path: str, body: object = None, token: str | None = None) -> tuple[int, str]:
    """A request as curl would make it; the status and the answer."""
    secret = (up.folder / "data" / "admin.token").read_text() if token is None else token
    headers = {"Authorization": f"Bearer {secret}"}
    request = urllib.request.Request(up.url + path, headers=headers)  # noqa: S310  # ours
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    trust = ssl.create_default_context(cafile=str(up.folder / "data" / "server.crt"))
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    try:
        with urllib.request.urlopen(request, context=trust, timeout=TIMEOUT_S) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def create(up: MaarUp, name: str, size: int = 1_000) -> tuple[int, str]:
    return call(up, CONFIG_MAPS, {"metadata": {"name": name}, "data": {"text": "x" * size}})


def pod(name: str, run_for: str, node: str = "node-1") -> object:
    """A pod that is bound already."""
    metadata = {"name": name, "annotations": {"maar.sh/run-for": run_for}}
    spec = {"nodeName": node, "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": metadata, "spec": spec}


def names(up: MaarUp) -> set[str]:
    found = json.loads(call(up, CONFIG_MAPS)[1])["items"]
    return {one["metadata"]["name"] for one in found if one["metadata"]["name"].startswith("c-")}


def test_a_damaged_cluster_stops_with_the_command_that_restores_it(tmp_path: Path) -> None:
    rng = random.Random(14)
    with MaarUp(tmp_path, "--nodes", "none") as up:
        made = {f"c-{number}" for number in range(60)}
        assert {create(up, name)[0] for name in made} == {201}
        data = up.folder / "data"
        backup = tmp_path / "saved.backup"
        assert "objects at revision" in run("backup", "--data", str(data), "-o", str(backup)).stdout
        assert "in use" in refused("restore", str(backup), "--data", str(data))
        assert create(up, "c-later")[0] == 201
        up.stop(signal.SIGKILL)
        killed = copied(data, tmp_path / "killed")
        for _ in range(3):
            how = damage(next(data.glob("*.wal")), rng)
            reported = refused("up", "--data", str(data), "--port", "0")
            assert "maar restore" in reported, how
            assert "--salvage" in reported, how
            assert "newest good backup is of" in reported, how
            shutil.rmtree(data)
            copied(killed, data)
        damage(next(data.glob("*.wal")), rng)
        done = run("restore", str(backup), "--data", str(data))
        assert done.returncode == 0, done.stderr
        assert f"{data} has " in done.stdout
        up.start()
        assert names(up) == made


def test_the_command_in_the_sentence_works_as_it_stands(tmp_path: Path) -> None:
    with MaarUp(tmp_path, "--nodes", "none") as up:
        assert create(up, "c-1")[0] == 201
        up.stop(signal.SIGKILL)
        data = up.folder / "data"
        next(data.glob("*.wal")).unlink()
        reported = refused("up", "--data", str(data), "--port", "0")
        command = reported.partition("to go on from it: maar ")[2].partition(";")[0]
        assert run(*command.split()).returncode == 0
        up.start()
        assert call(up, "/readyz")[0] == 200


def test_an_empty_token_lets_nobody_in(tmp_path: Path) -> None:
    with MaarUp(tmp_path, "--nodes", "none") as up:
        for nothing in ("", " ", "x"):
            assert call(up, CONFIG_MAPS, token=nothing)[0] == 401
        up.stop()
        for name in ("admin.token", "scheduler.token", "server.key", "server.crt"):
            path = up.folder / "data" / name
            before = path.read_bytes()
            path.write_bytes(b"")
            reported = refused("up", "--data", str(path.parent), "--port", "0")
            assert f"{path} is empty" in reported
            path.write_bytes(before)
        up.start()
        assert call(up, CONFIG_MAPS)[0] == 200


def test_nodes_stay_unless_others_are_asked_for(tmp_path: Path) -> None:
    def nodes(up: MaarUp) -> list[tuple[str, str]]:
        found = json.loads(call(up, "/api/v1/nodes")[1])["items"]
        return [(one["metadata"]["name"], one["status"]["capacity"]["cpu"]) for one in found]

    with MaarUp(tmp_path, "--nodes", "3x16cpu,64Gi") as up:
        three = [("node-1", "16"), ("node-2", "16"), ("node-3", "16")]
        assert nodes(up) == three
        assert call(up, PODS, pod("p", "1h", "node-3"))[0] == 201
        up.stop()
        up.flags = ()
        up.start()
        assert nodes(up) == three
        assert "with 3 nodes" in up.reported
        up.stop()
        up.flags = ("--nodes", "2x16cpu,64Gi")
        up.start()
        assert nodes(up) == three[:2]
        assert "gone (node-3): the pod there fails." in up.reported
        wait_until("the pod fails", lambda: '"phase":"Failed"' in call(up, f"{PODS}/p")[1])


def a_file(path: Path) -> None:
    path.write_text("text")


def a_loop(path: Path) -> None:
    path.symlink_to(path)


def another_folder(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").write_text("text")


def below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("text")


def without_objects(path: Path) -> None:
    path.mkdir()
    (path / "admin.token").write_text("x" * 43)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (a_file, "is a file, not a folder"),
        (a_loop, "name a folder"),
        (another_folder, "thesis.tex"),
        (below_a_file, "name a folder"),
        (without_objects, "without its objects"),
    ],
)
def test_odd_folders_are_explained(tmp_path: Path, make: Callable[[Path], None], sentence: str) -> None:
    (tmp_path / "in").mkdir()
    make(tmp_path / "in" / "data")
    assert sentence in refused("up", "--data", str(tmp_path / "in" / "data"), "--port", "0")


def test_nodes_that_cannot_be_made_are_explained_with_the_flag(tmp_path: Path) -> None:
    reported = refused("up", "--data", str(tmp_path / "data"), "--port", "0", "--nodes", "nine")
    assert "--nodes 'nine': neither nodes of a size, nor a file that exists, nor none: write" in reported


def test_a_disk_that_is_only_read_is_explained(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        remount = ["mount", "-o", "remount,ro", str(disk.path)]
        subprocess.run(remount, check=True)
        assert "read-only" in refused("up", "--data", str(disk.path / "data"), "--port", "0")


def test_a_full_disk_refuses_writes_and_recovers_by_itself(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", 16) as disk, MaarUp(tmp_path, "--nodes", "2x8cpu,32Gi") as up:
        assert create(up, "c-before")[0] == 201
        for number in range(5):
            assert call(up, PODS, pod(f"p-{number}", "2s"))[0] == 201
        disk.fill()
        acknowledged, refusal = {"c-before"}, ""
        for number in range(50):
            code, reported = create(up, f"c-{number}", size=20_000)
            if code == 201:
                acknowledged.add(f"c-{number}")
            else:
                assert code == 507, reported
                refusal = reported
        assert json.loads(refusal)["reason"] == "InsufficientStorage"
        assert "free some space" in json.loads(refusal)["message"]
        code, reported = call(up, "/readyz")
        assert (code, "is full" in reported) == (503, True)
        assert names(up) == acknowledged, "reading goes on"
        time.sleep(3)  # keepers, nodes, scheduler and controllers meet it too
        disk.free()
        wait_until("it is ready again", lambda: call(up, "/readyz")[0] == 200)
        assert create(up, "c-after")[0] == 201
        wait_until("all pods have run", lambda: call(up, PODS)[1].count('"phase":"Succeeded"') == 5)
        up.stop(signal.SIGKILL)
        up.start()
        assert names(up) == {*acknowledged, "c-after"}
        log = up.log.read_text()
        assert "is full" in log
        assert "Traceback" not in log
        assert log.count("is full") < 20, "said once, not for every write"
        disk.fill()
        up.stop(signal.SIGKILL)
        reported = refused("up", "--data", str(disk.path), "--port", "0")
        assert "full" in reported


def test_a_second_maar_up_and_a_taken_port_name_the_process(tmp_path: Path) -> None:
    with MaarUp(tmp_path, "--nodes", "none") as up:
        process = f"process {up.process}"
        assert process in refused("up", "--data", str(up.folder / "data"), "--port", "0")
        port = up.url.rsplit(":", 1)[1]
        reported = refused("up", "--data", str(tmp_path / "other"), "--port", port)
        assert "--port" in reported
        assert process in reported


def test_ctrl_c_in_the_first_moments_ends_with_one_line(tmp_path: Path) -> None:
    """Not before Python itself has started: until then its own words are beyond us."""
    rng = random.Random(22)
    for _ in range(12):
        command = [MAAR, "up", "--data", str(tmp_path / "data"), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until("Python has started", partial(_catches_interrupts, Path(f"/proc/{process.pid}/status")))
        time.sleep(0.15 + rng.random() * 2)
        process.send_signal(signal.SIGINT)
        _, reported = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode in (0, 130), reported
        assert "Traceback" not in reported
        assert reported.count("\n") <= 1, reported
    with MaarUp(tmp_path) as up:
        assert "with 4 nodes" in up.reported


def _catches_interrupts(status: Path) -> bool:
    caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)
