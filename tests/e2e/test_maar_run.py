"""`maar run` as a user types it, on a cluster whose node is this machine."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.maar_up import MaarUp
from support.processes import bounded
from support.until import TIMEOUT_S, wait_until

MAAR = str(Path(sys.executable).with_name("maar"))


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaarUp]:
    with MaarUp(tmp_path_factory.mktemp("up"), "--local", "--local-gpus", "2") as running:
        yield running
        running.stop()


def environment(up: MaarUp, **more: str) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(up.kubeconfig), **more}


def maar_run(
    up: MaarUp, *arguments: str, folder: Path | None = None, **more: str
) -> "subprocess.CompletedProcess[str]":
    command = [MAAR, "run", "--cpus", "50m", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=folder,
        env=environment(up, **more),
    )


def state_of(up: MaarUp, name: str) -> tuple[object, object]:
    """The phase of a job, and the reason of it."""
    status = job_of(up, name)["status"]
    assert isinstance(status, dict)
    return status["state"]["phase"], status["state"].get("reason")


def job_of(up: MaarUp, name: str) -> dict[str, object]:
    """The job as it is stored; empty where there is none."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(up.kubeconfig), name], capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


READ = """
import asyncio, sys
from pathlib import Path
from maar.core.model.job import Job
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import resource_path_of
from maar.kube.write import get

async def read():
    async with ApiServer(await load(Path(sys.argv[1]), None)) as server:
        found = await get(server, resource_path_of(Job), f"default/{sys.argv[2]}")
        print(found.body.decode() if isinstance(found, Done) else "{}")

asyncio.run(read())
"""


def test_a_command_runs_where_it_was_typed_with_its_environment_and_words(up: MaarUp, tmp_path: Path) -> None:
    script = 'pwd; echo "$COLOUR $$HOME $(echo sub)"; printf "no end of line"; echo problem >&2'
    done = maar_run(up, "--env", "COLOUR=red", "--", "sh", "-c", script, folder=tmp_path, FLAVOUR="sour")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == str(tmp_path)
    assert lines[1].startswith("red ")
    assert lines[1].endswith("HOME sub")
    assert "no end of line" in done.stdout
    done = maar_run(up, "printenv", "FLAVOUR", FLAVOUR="sour")
    assert (done.returncode, done.stdout) == (0, "sour\n")


def test_secrets_stay_here_unless_they_are_named(up: MaarUp) -> None:
    done = maar_run(up, "sh", "-c", 'echo "[$MY_API_KEY][$OTHER_TOKEN]"', MY_API_KEY="k", OTHER_TOKEN="t")  # noqa: S106
    assert done.stdout == "[][]\n"
    assert "MY_API_KEY" in done.stderr
    assert "--env NAME sends one" in done.stderr
    done = maar_run(up, "--env", "MY_API_KEY", "sh", "-c", 'echo "[$MY_API_KEY]"', MY_API_KEY="k")
    assert done.stdout == "[k]\n"
    done = maar_run(up, "--no-env", "sh", "-c", 'echo "[$FLAVOUR]"', FLAVOUR="sour")
    assert done.stdout == "[]\n"


def test_it_ends_with_the_exit_code_of_the_command(up: MaarUp) -> None:
    assert maar_run(up, "--", "sh", "-c", "exit 7").returncode == 7
    done = maar_run(up, "no-such-program-anywhere")
    assert done.returncode == 128
    assert "executable file not found" in done.stderr


def test_an_array_has_a_pod_for_each_index_and_the_first_failure_counts(up: MaarUp) -> None:
    script = 'i=$MAAR_ARRAY_INDEX; echo "index $i of $MAAR_ARRAY"; test "$i" -lt 5 || exit "$i"'
    done = maar_run(up, "--name", "fan", "--array", "3,9,5-7:2", "--", "sh", "-c", script)
    assert done.returncode == 9  # of pod 1, before pods 2 and 3
    expected = [f"[fan-main-{pod}] index {index} of 3,9,5,7" for pod, index in enumerate((3, 9, 5, 7))]
    assert sorted(done.stdout.splitlines()) == expected
    assert state_of(up, "fan") == ("Failed", "MinSuccess")
    after = maar_run(up, "--after", "fan", "echo", "ran")
    assert (after.returncode, after.stdout) == (1, "")
    assert "error: --after fan: it comes after job fan, which is Failed and not Completed" in after.stderr


def test_a_job_whose_predecessor_fails_while_it_waits_fails_too(up: MaarUp, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.1; done; exit 3"
    maar_run(up, "--detach", "--name", "breaks", "--", "sh", "-c", script)
    command = [MAAR, "run", "--cpus", "50m", "--name", "dependent", "--after", "breaks", "echo", "ran"]
    follower = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(up))
    wait_until("it waits", lambda: bool(job_of(up, "dependent").get("status")))
    go.touch()
    _, shown = follower.communicate(timeout=TIMEOUT_S)
    assert follower.returncode == 1
    assert "job dependent is Failed: it comes after job breaks, which is Failed and not Completed" in shown
    assert state_of(up, "dependent") == ("Failed", "DependencyFailed")


def test_what_can_never_run_ends_with_a_sentence_unless_it_is_to_wait(up: MaarUp) -> None:
    missing = maar_run(up, "--after", "nothing", "true")
    assert missing.returncode == 1
    assert "error: --after nothing: there is no such job in namespace default" in missing.stderr
    large = maar_run(up, "--name", "large", "--memory", "10000Gi", "true")
    assert large.returncode == 1
    assert "error: job large cannot run and was deleted" in large.stderr
    assert "--wait-anyway" in large.stderr
    assert job_of(up, "large") == {}
    patient = maar_run(up, "--detach", "--wait-anyway", "--name", "patient", "--after", "nothing", "true")
    assert patient.returncode == 0, patient.stderr
    assert job_of(up, "patient")["metadata"]


def test_a_gang_that_is_larger_than_a_quota_can_never_run(up: MaarUp) -> None:
    subprocess.run([sys.executable, "-c", TIGHT, str(up.kubeconfig)], check=True)
    done = maar_run(up, "-n", "tight", "--replicas", "3", "true")
    assert done.returncode == 1
    assert "never on this cluster, unless the quota is raised" in done.stderr


TIGHT = """
import asyncio, sys
from pathlib import Path
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.paths import resource_path_of
from maar.kube.write import create

async def make():
    async with ApiServer(await load(Path(sys.argv[1]), None)) as server:
        for kind, key, rest in (
            (Namespace, "tight", {}), (ResourceQuota, "tight/small", {"spec": {"hard": {"cpu": "100m"}}})
        ):
            head = {"apiVersion": "v1", "kind": kind.__name__}
            namespace, _, name = key.rpartition("/")
            metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
            print(await create(server, resource_path_of(kind), key, {**head, "metadata": metadata, **rest}))

asyncio.run(make())
"""


def test_a_queue_that_does_not_exist_is_no_empty_list(up: MaarUp) -> None:
    for command in (["job", "list"], ["pod", "list"], ["job", "list", "--start"]):
        done = subprocess.run(
            [MAAR, *command, "-q", "defualt"],
            capture_output=True,
            text=True,
            check=False,
            env=environment(up),
        )
        assert (done.returncode, done.stdout) == (1, ""), command
        assert "queue defualt does not exist; did you mean default" in done.stderr


def test_nor_are_the_pods_of_a_job_that_does_not_exist(up: MaarUp) -> None:
    command = [MAAR, "pod", "list", "--job", "nobody"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(up))
    assert (done.returncode, done.stdout) == (1, "")
    assert "job default/nobody does not exist" in done.stderr


def test_a_job_that_comes_after_one_that_is_deleted_ends_with_a_cure_that_helps(up: MaarUp) -> None:
    assert maar_run(up, "--detach", "--name", "before", "sleep", "600").returncode == 0
    command = [MAAR, "run", "--cpus", "50m", "--after", "before", "--", "true"]
    with bounded(
        subprocess.Popen(
            command, env=environment(up), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
    ) as waiting:
        assert waiting.stderr is not None
        assert next(line for line in waiting.stderr if "it comes after job before, which is" in line)
        subprocess.run([MAAR, "job", "delete", "before"], check=True, env=environment(up))
        rest = waiting.stderr.read()
        assert waiting.wait() == 1
    assert "there is no such job" in rest
    assert "Name another job, or add --wait-anyway" in rest


def test_a_time_limit_and_a_priority(up: MaarUp) -> None:
    flags = ("--name", "brief", "--time", "1s", "--priority", "system-cluster-critical")
    done = maar_run(up, *flags, "sleep", "60")
    assert done.returncode != 0
    assert "DeadlineExceeded" in done.stderr or "active" in done.stderr, done.stderr
    spec = job_of(up, "brief")["spec"]
    assert isinstance(spec, dict)
    assert spec["priorityClassName"] == "system-cluster-critical"
    refused = maar_run(up, "--priority", "urgent", "true")
    assert refused.returncode == 1
    assert "there is no such priority class; the cluster has" in refused.stderr
    assert maar_run(up, "--time", "soon", "true").returncode == 2


def test_pods_have_gpus_of_their_own_and_a_job_without_sees_none(up: MaarUp) -> None:
    script = 'echo "$CUDA_VISIBLE_DEVICES"; sleep 1'
    done = maar_run(up, "--name", "pair", "--gpus", "1", "--replicas", "2", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert sorted(line.partition("] ")[2] for line in done.stdout.splitlines()) == ["0", "1"]
    assert maar_run(up, "--gpus", "2", "printenv", "CUDA_VISIBLE_DEVICES").stdout == "0,1\n"
    none = maar_run(up, "sh", "-c", 'echo "[$CUDA_VISIBLE_DEVICES]"', CUDA_VISIBLE_DEVICES="0")
    assert none.stdout == "[]\n"


def test_a_detached_job_is_named_and_goes_on(up: MaarUp, tmp_path: Path) -> None:
    note = tmp_path / "note"
    done = maar_run(up, "--detach", "--name", "away", "--after", "pair", "--", "touch", str(note))
    assert (done.returncode, done.stdout) == (0, "job.batch.volcano.sh/away created\n")
    wait_until("it has run", note.exists)
    metadata = job_of(up, "away")["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["annotations"]["maar.sh/after"] == "pair"


def test_what_makes_no_sense_is_refused(up: MaarUp) -> None:
    for arguments, sentence in (
        (("--array", "9-1", "true"), "write the smaller number first"),
        (("--array", "0-9%2", "true"), "give the queue a capability instead"),
        (("--array", "0-9", "--replicas", "2", "true"), "exclude each other"),
        (("--memory", "8G i", "true"), "is not a quantity"),
        (("--env", "1x", "true"), "is no name of a variable"),
        (("--after", "", "true"), "--after has no name"),
    ):
        done = maar_run(up, *arguments)
        assert done.returncode == 2
        assert sentence in " ".join(done.stderr.replace("│", " ").split())


def test_why_it_waits_is_said(up: MaarUp) -> None:
    command = [MAAR, "run", "--gpus", "3", "--cpus", "50m", "--", "true"]
    with bounded(
        subprocess.Popen(
            command, env=environment(up), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
    ) as running:
        assert running.stderr is not None
        said = next(line for line in running.stderr if line.startswith("waiting: "))
        assert len(said) > len("waiting: \n")
        running.send_signal(signal.SIGINT)
        assert running.wait() == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_terminal_ctrl_c_cancels_the_job(up: MaarUp, number: signal.Signals) -> None:
    name = f"stopped-{number.value}"
    command = [MAAR, "run", "--name", name, "--cpus", "50m", "--", "sh", "-c", "echo up; exec sleep 600"]
    with bounded(
        subprocess.Popen(
            command, env=environment(up), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        running.send_signal(number)
        assert running.wait() == 130
    assert job_of(up, name) == {}


@pytest.mark.parametrize(
    ("key", "code", "is_left"), [(b"c\n", 130, False), (b"d\n", 0, True), (b"\x03", 0, True)]
)
def test_in_a_terminal_ctrl_c_asks(up: MaarUp, key: bytes, code: int, is_left: bool) -> None:  # noqa: FBT001
    name = f"asked-{key[0]}"
    command = [MAAR, "run", "--name", name, "--cpus", "50m", "--", "sh", "-c", "echo up; exec sleep 600"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(MAAR, command, environment(up))  # noqa: S606
    screen = Screen(terminal)
    screen.wait_for("up\r\n")
    os.write(terminal, b"\x03")
    screen.wait_for("Cancel the job [c], leave it running and go [d], or go on watching [Enter]?")
    os.write(terminal, b"\n")
    screen.wait_for(f"watching job {name} again")
    os.write(terminal, b"\x03")
    screen.wait_for("go on watching [Enter]?")
    os.write(terminal, key)
    screen.wait_for(f"job {name} goes on" if is_left else f"job {name} is cancelled")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    os.close(terminal)
    assert bool(job_of(up, name)) == is_left


def test_a_restart_of_the_server_is_survived(tmp_path: Path) -> None:
    waits = f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done"
    script = f"echo one; echo two; {waits}; echo three; exit 6"
    command = [MAAR, "run", "--name", "lasting", "--cpus", "50m", "--", "sh", "-c", script]
    with MaarUp(tmp_path, "--local") as up:
        with bounded(
            subprocess.Popen(
                command, env=environment(up), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
            )
        ) as running:
            assert running.stdout is not None
            assert [running.stdout.readline() for _ in range(2)] == ["one\n", "two\n"]
            up.stop(signal.SIGKILL)
            up.start()
            (tmp_path / "go").touch()
            assert running.wait() == 6
            assert running.stdout.read() == "three\n"
        up.stop()


class Screen:
    """What a program has written to a terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal, self._text = terminal, ""

    def wait_for(self, text: str) -> None:
        """Read until a text has come, and forget it."""
        while text not in self._text:
            self._text += os.read(self._terminal, 4096).decode()
        self._text = self._text.partition(text)[2]
