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
from support.until import wait_until

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
    done = subprocess.run([MAAR, "up", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_pod_without_a_scheduler_name_is_told_what_to_write(tmp_path: Path) -> None:
    needs_kubernetes()
    with MaarUp(tmp_path) as up:
        forgotten = (POD % {"name": "forgotten", "script": "true"}).replace("  schedulerName: volcano\n", "")
        up.kubectl("apply", "-f", "-", stdin=forgotten)
        wait_until(
            "an event says so",
            lambda: (
                "no scheduler places this pod: its schedulerName is 'default-scheduler'"
                in up.kubectl("describe", "pod", "forgotten").stdout
            ),
        )


def test_pods_run_as_processes_of_this_machine(tmp_path: Path) -> None:
    needs_kubernetes()
    with MaarUp(tmp_path, "--local") as up:
        up.kubectl("apply", "-f", "-", stdin=POD % {"name": "speaks", "script": 'echo "hello from $WHO"'})
        up.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/speaks", "--timeout=30s")
        assert up.kubectl("logs", "speaks").stdout == "hello from maar\n"
        other = (POD % {"name": "other", "script": "id -u"}).replace(
            "spec:", "spec:\n  securityContext: {runAsUser: 0}", 1
        )
        assert (
            "Warning: [local-node-ignores] spec.securityContext.runAsUser has no effect on the local node"
            in (up.kubectl("apply", "-f", "-", stdin=other).stderr)
        )
        up.kubectl("apply", "-f", "-", stdin=POD % {"name": "fails", "script": "exit 7"})
        up.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/fails", "--timeout=30s")
        found = json.loads(up.kubectl("get", "pod", "fails", "-o", "json").stdout)["status"]
        assert found["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
        note = tmp_path / "process"
        up.kubectl(
            "apply", "-f", "-", stdin=POD % {"name": "stays", "script": f"echo $$$$ > {note}; sleep 600"}
        )
        up.kubectl("wait", "--for=condition=Ready", "pod/stays", "--timeout=30s")
        wait_until("it has said who it is", lambda: note.exists() and note.read_text() != "")
        process = int(note.read_text())
        os.kill(process, 0)
        up.kubectl("delete", "pod", "stays")
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


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
