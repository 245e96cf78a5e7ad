"""`maar up` as a user meets it: this machine as a node, and what it says when something is wrong."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes
from support.until import TIMEOUT_S, wait_until

MAAR = str(Path(sys.executable).with_name("maar"))

POD = """
apiVersion: v1
kind: Pod
metadata: {name: %(name)s}
spec:
  schedulerName: volcano
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: none
    command: [sh, -c, '%(script)s']
    env: [{name: WHO, value: maar}]
    resources: {requests: {cpu: 100m, memory: 64Mi}}
"""


def refused(*arguments: str) -> str:
    done = subprocess.run(
        [MAAR, "up", *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_pod_of_a_scheduler_that_does_not_run_is_told_what_to_write(tmp_path: Path) -> None:
    needs_kubernetes()
    with MaarUp(tmp_path) as up:
        other = (POD % {"name": "other", "script": "true"}).replace(": volcano", ": another")
        up.kubectl("apply", "-f", "-", stdin=other)
        wait_until(
            "an event says so",
            lambda: (
                "no scheduler places this pod: its schedulerName is 'another'"
                in up.kubectl("describe", "pod", "other").stdout
            ),
        )


def test_a_pod_without_a_scheduler_name_is_placed_and_can_be_applied_again(tmp_path: Path) -> None:
    needs_kubernetes()
    with MaarUp(tmp_path) as up:
        unnamed = (POD % {"name": "unnamed", "script": "true"}).replace("  schedulerName: volcano\n", "")
        named = unnamed.replace("spec:", "spec:\n  schedulerName: default-scheduler", 1)
        for document in (unnamed, unnamed, named):
            up.kubectl("apply", "-f", "-", stdin=document)
        up.kubectl("wait", "--for=condition=Ready", "pod/unnamed")


def test_pods_run_as_processes_of_this_machine(tmp_path: Path) -> None:
    needs_kubernetes()
    with MaarUp(tmp_path, "--local") as up:
        up.kubectl("apply", "-f", "-", stdin=POD % {"name": "speaks", "script": 'echo "hello from $WHO"'})
        up.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/speaks")
        assert up.kubectl("logs", "speaks").stdout == "hello from maar\n"
        other = (POD % {"name": "other", "script": "id -u"}).replace(
            "spec:", "spec:\n  securityContext: {runAsUser: 0}", 1
        )
        assert (
            "Warning: [local-node-ignores] spec.securityContext.runAsUser has no effect on the local node"
            in (up.kubectl("apply", "-f", "-", stdin=other).stderr)
        )
        up.kubectl("apply", "-f", "-", stdin=POD % {"name": "fails", "script": "exit 7"})
        up.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/fails")
        found = json.loads(up.kubectl("get", "pod", "fails", "-o", "json").stdout)["status"]
        assert found["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
        note = tmp_path / "process"
        up.kubectl(
            "apply", "-f", "-", stdin=POD % {"name": "stays", "script": f"echo $$$$ > {note}; sleep 600"}
        )
        up.kubectl("wait", "--for=condition=Ready", "pod/stays")
        wait_until("it has said who it is", lambda: note.exists() and note.read_text() != "")
        process = int(note.read_text())
        os.kill(process, 0)
        up.kubectl("delete", "pod", "stays")
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_killed_maar_up_finds_its_processes_again(tmp_path: Path) -> None:
    needs_kubernetes()
    script = (
        f"echo $$$$ > {tmp_path}/process; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; echo done; exit 3"
    )
    with MaarUp(tmp_path, "--local") as up:
        up.kubectl("apply", "-f", "-", stdin=POD % {"name": "long", "script": script})
        up.kubectl("wait", "--for=condition=Ready", "pod/long")
        process = tmp_path / "process"
        wait_until("it has said who it is", lambda: process.exists() and process.read_text() != "")
        up.stop(signal.SIGKILL)
        os.kill(int(process.read_text()), 0)
        up.start()
        wait_until(
            "it is found", lambda: "found main running" in up.kubectl("describe", "pod", "long").stdout
        )
        (tmp_path / "go").touch()
        up.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/long")
        found = json.loads(up.kubectl("get", "pod", "long", "-o", "json").stdout)["status"]
        assert found["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
        assert found["containerStatuses"][0]["restartCount"] == 0
        assert up.kubectl("logs", "long").stdout == "done\n"
        up.kubectl("delete", "pod", "long")
        path = "/api/v1/namespaces/default/pods/long/log"
        wait_until(
            "its output is kept", lambda: up.kubectl("get", "--raw", path, check=False).stdout == "done\n"
        )


def test_processes_are_left_running_where_that_is_asked_for(tmp_path: Path) -> None:
    needs_kubernetes()
    with MaarUp(tmp_path, "--local", "--keep-running", "--local-gpus", "1") as up:
        assert "1 GPU available to pods: 0." in up.reported
        script = f"echo $$$$ > {tmp_path}/process; exec sleep 600"
        up.kubectl("apply", "-f", "-", stdin=POD % {"name": "long", "script": script})
        process = tmp_path / "process"
        wait_until("it has said who it is", lambda: process.exists() and process.read_text() != "")
        assert up.stop(signal.SIGTERM) == 0
        number = int(process.read_text())
        os.kill(number, 0)
    with MaarUp(tmp_path, "--nodes", "none"):  # without the node that they belong to
        wait_until("it has ended", lambda: not Path(f"/proc/{number}").exists())


def test_cgroups_limit_containers_where_they_can_be_made(tmp_path: Path) -> None:
    needs_kubernetes()
    with MaarUp(tmp_path, "--local") as up:
        if "No cgroup limits" in up.reported:
            pytest.skip(
                next(line for line in up.reported.splitlines() if line.startswith("No cgroup limits"))
            )
        script = "cat /proc/self/cgroup; exec tail -c 512M /dev/zero"
        pod = (POD % {"name": "large", "script": script}).replace("requests", "limits")
        up.kubectl("apply", "-f", "-", stdin=pod)
        up.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/large")
        found = json.loads(up.kubectl("get", "pod", "large", "-o", "json").stdout)["status"]
        assert found["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"
        assert "-main-0" in up.kubectl("logs", "large").stdout


def test_options_of_this_machine_need_it(tmp_path: Path) -> None:
    for option in (["--local-gpus", "1"], ["--keep-running"]):
        command = [MAAR, "up", "--data", str(tmp_path), *option]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 2
        assert "add --local" in done.stderr


def test_the_kubeconfig_is_the_owners_alone(tmp_path: Path) -> None:
    with MaarUp(tmp_path, "--nodes", "none") as up:
        assert stat.S_IMODE(up.kubeconfig.stat().st_mode) == 0o600
        assert "127.0.0.1" in up.url
        assert str(up.kubeconfig) in up.reported
        assert "--data" in refused("--data", str(tmp_path / "data"), "--port", "0")
        assert up.stop(signal.SIGTERM) == 0


def test_options_of_admission_hold_in_maar_up(tmp_path: Path) -> None:
    needs_kubernetes()
    flags = ("--max-queue-depth=2", "--child-capability=max", "--guarantee-over-total=warn")
    with MaarUp(tmp_path, "--nodes", "1x4cpu,8Gi", *flags) as up:
        queue = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s}, spec: %s}"
        large = "{guarantee: {resource: {cpu: 9}}, capability: {cpu: 9}}"
        made = up.kubectl("apply", "-f", "-", stdin=queue % ("large", large))
        assert "Warning: [queue-guarantee-too-large]" in made.stderr
        for name in ("one", "two"):  # together above the 9 of their parent, each within it
            up.kubectl("apply", "-f", "-", stdin=queue % (name, "{parent: large, capability: {cpu: 6}}"))
        deep = up.kubectl("apply", "-f", "-", stdin=queue % ("deep", "{parent: one}"), check=False)
        assert "--max-queue-depth is 2" in deep.stderr


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in refused("--data", str(tmp_path), "--port", str(port))


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ("4x32Gi", "it does not say how much cpu"),
        ("0x8cpu,32Gi", "between 1 and"),
        ("2x8cpu,32Gi,zone=a b", "cannot be the value of a label"),
        ("missing.yaml", "nor a file that exists"),
    ],
)
def test_nodes_that_make_no_sense_are_explained(tmp_path: Path, nodes: str, sentence: str) -> None:
    reported = refused("--data", str(tmp_path), "--port", "0", "--nodes", nodes)
    assert sentence in reported
    assert "4x8cpu,32Gi" in reported
