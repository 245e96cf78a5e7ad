"""The real kubectl works on `maar up` without extra flags."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from maar.embedded.backups import good_backups
from support.maar_up import MaarUp
from support.processes import bounded
from support.programs import find_binaries
from support.reapplying import CONFLICT, GROWN_AND_SHRUNK, reapply, switch_to_server_side
from support.until import wait_until

TEAM = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: %(name)s}
spec: {weight: 2, guarantee: {resource: {cpu: 4}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: %(name)s}
spec: {minMember: 2, queue: %(name)s}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata:
  name: %(name)s-%(number)s
  annotations: {scheduling.k8s.io/group-name: %(name)s, maar.sh/run-for: %(run_for)s}
spec:
  schedulerName: volcano
  restartPolicy: Never
  containers: [{name: main, image: busybox, resources: {requests: {cpu: 2, memory: 1Gi}}}]
"""


def work(name: str, pods: int = 2, run_for: str = "1h") -> str:
    parts = [POD % {"name": name, "number": number, "run_for": run_for} for number in range(pods)]
    return TEAM % {"name": name} + "".join(parts)


def clear(up: MaarUp, name: str) -> None:
    """Take all work of a test away: its pods and their group, then the queue, which has to be closed."""
    pods = [one for one in up.kubectl("get", "pods", "-o", "name").stdout.split() if f"pod/{name}-" in one]
    up.kubectl("delete", "pg", name)
    if pods:
        up.kubectl("delete", "--ignore-not-found", *pods)
    up.kubectl("patch", "queue", name, "--type=merge", "-p", '{"spec":{"state":"Closed"}}')
    up.kubectl("wait", "--for=jsonpath={.status.state}=Closed", f"queue/{name}")
    up.kubectl("delete", "queue", name)


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_what_is_applied_is_scheduled_runs_and_can_be_applied_again(
    up: MaarUp, flags: tuple[str, ...]
) -> None:
    name = "applied" + "-server" * bool(flags)
    document = work(name, run_for="2s")
    first = up.kubectl("apply", *flags, "-f", "-", stdin=document)
    assert first.stderr == ""
    assert len(first.stdout.splitlines()) == 4
    up.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", f"pod/{name}-0", f"pod/{name}-1")
    up.kubectl("wait", "--for=jsonpath={.status.phase}=Completed", f"pg/{name}")
    again = up.kubectl("apply", *flags, "-f", "-", stdin=document)
    assert again.stderr == ""
    shown = up.kubectl("get", "queues,podgroups,pods").stdout
    assert "cpu=4," in shown  # what the queue deserves, as people read it
    assert f"pod/{name}-0" in shown
    clear(up, name)
    assert up.kubectl("get", "queue", name, check=False).stderr == (
        f'Error from server (NotFound): queues.scheduling.volcano.sh "{name}" not found\n'
    )


def test_client_side_apply_can_be_taken_over_by_server_side_apply(up: MaarUp) -> None:
    document = work("taken-over")
    up.kubectl("apply", "-f", "-", stdin=document)
    done = up.kubectl("apply", "--server-side", "-f", "-", stdin=document)
    assert done.stdout.count("serverside-applied") == 4
    clear(up, "taken-over")


@pytest.mark.parametrize("wait_s", [0.0, 0.2, 2.0])
def test_a_queue_is_deleted_as_clients_of_volcano_do(up: MaarUp, wait_s: float) -> None:
    up.kubectl("apply", "-f", "-", stdin=TEAM % {"name": "short"})
    up.kubectl("wait", "--for=jsonpath={.status.state}=Open", "queue/short")
    closed = '{"status":{"state":"Closed"}}'
    up.kubectl("patch", "queue", "short", "--subresource=status", "--type=merge", "-p", closed)
    time.sleep(wait_s)
    up.kubectl("delete", "queue", "short")
    up.kubectl("delete", "pg", "short")


def test_a_client_that_does_not_know_the_state_of_a_queue_leaves_it_closed(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=TEAM % {"name": "kept"})
    up.kubectl("patch", "queue", "kept", "--type=merge", "-p", '{"spec":{"state":"Closed"}}')

    def is_replaced() -> bool:  # again where a status was written since, as clients do
        stored = json.loads(up.kubectl("get", "queue", "kept", "-o", "json").stdout)
        del stored["spec"]["state"]
        return up.kubectl("replace", "-f", "-", stdin=json.dumps(stored), check=False).returncode == 0

    wait_until("it is replaced", is_replaced)
    up.kubectl("delete", "pg", "kept")
    up.kubectl("wait", "--for=jsonpath={.status.state}=Closed", "queue/kept")
    up.kubectl("delete", "queue", "kept")


def test_describe_shows_what_happened_to_a_pod(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=work("described"))
    up.kubectl("wait", "--for=condition=Ready", "pod/described-0")
    wait_until(
        "its events are there",
        lambda: "Successfully assigned" in up.kubectl("describe", "pod", "described-0").stdout,
    )
    wait_until(
        "its status is there", lambda: "Deserved" in up.kubectl("describe", "queue", "described").stdout
    )
    assert "Weight:" in up.kubectl("describe", "queue", "described").stdout
    clear(up, "described")


def test_explain_tells_what_fields_mean(up: MaarUp) -> None:
    assert "never given to other queues" in up.kubectl("explain", "queue.spec.guarantee").stdout
    containers = up.kubectl("explain", "pods.spec.containers", "--recursive").stdout
    assert "terminationMessagePolicy" in containers


def test_edit_patch_label_and_annotate_change_objects(up: MaarUp, folder: Path) -> None:
    up.kubectl("apply", "-f", "-", stdin=work("changed"))
    editor = folder / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/weight: 2/weight: 5/' \"$1\"\n")
    editor.chmod(0o700)
    binaries = find_binaries()
    assert binaries is not None
    environment = {**os.environ, "KUBECONFIG": str(up.kubeconfig), "EDITOR": str(editor)}
    subprocess.run([binaries / "kubectl", "edit", "queue", "changed"], env=environment, check=True)
    up.kubectl("patch", "queue", "changed", "--type=merge", "-p", '{"spec":{"priority":3}}')
    patch = '[{"op":"replace","path":"/spec/reclaimable","value":false}]'
    up.kubectl("patch", "queue", "changed", "--type=json", "-p", patch)
    up.kubectl("label", "pod", "changed-0", "team=red")
    up.kubectl("annotate", "pod", "changed-0", "note=kept")
    up.kubectl("patch", "pod", "changed-0", "-p", '{"metadata":{"labels":{"more":"yes"}}}')
    spec = json.loads(up.kubectl("get", "queue", "changed", "-o", "json").stdout)["spec"]
    assert (spec["weight"], spec["priority"], spec["reclaimable"]) == (5, 3, False)
    found = up.kubectl("get", "pods", "-l", "team=red,more in (yes)", "-o", "name").stdout
    assert found == "pod/changed-0\n"
    clear(up, "changed")


def test_a_watch_of_queues_follows_changes(up: MaarUp) -> None:
    binaries = find_binaries()
    assert binaries is not None
    environment = {**os.environ, "KUBECONFIG": str(up.kubeconfig)}
    with bounded(
        subprocess.Popen(
            [binaries / "kubectl", "get", "queues", "-w"], env=environment, stdout=subprocess.PIPE, text=True
        )
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("NAME")
        up.kubectl("apply", "-f", "-", stdin=TEAM % {"name": "watched"})
        while not watching.stdout.readline().startswith("watched"):
            pass
        up.kubectl("patch", "queue", "watched", "--type=merge", "-p", '{"spec":{"weight":9}}')
        while watching.stdout.readline().split()[:3] != ["watched", "root", "9"]:
            pass
        watching.kill()
    clear(up, "watched")


@pytest.mark.parametrize(
    ("document", "refusal"),
    [
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containerz": []}},
            'strict decoding error: unknown field "spec.containerz"',
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": []}},
            'The Pod "x" is invalid: spec.containers: Required value',
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "X_"}, "spec": {"containers": []}},
            "a lowercase RFC 1123 subdomain must consist of",
        ),
        (
            {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "x"},
             "spec": {"weight": 0}},
            "spec.weight: Invalid value: 0: spec.weight in body should be greater than or equal to 1",
        ),
        (
            {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "x"},
             "spec": {"guarantee": {"resource": {"cpu": "2c"}}}},
            "spec.guarantee.resource.cpu in body should match",
        ),
        ({"apiVersion": "v1", "kind": "Podd", "metadata": {"name": "x"}}, 'no matches for kind "Podd"'),
    ],
)  # fmt: skip
def test_errors_read_like_those_of_kubernetes(up: MaarUp, document: object, refusal: str) -> None:
    done = up.kubectl("apply", "-f", "-", stdin=json.dumps(document), check=False)
    assert done.returncode == 1
    assert refusal in done.stderr


def test_what_kubectl_sends_in_binary_is_understood(up: MaarUp) -> None:
    up.kubectl("create", "namespace", "binary")
    up.kubectl("create", "configmap", "c", "--from-literal=a=b", "-n", "binary")
    up.kubectl("create", "secret", "generic", "s", "--from-literal=a=b", "-n", "binary")
    up.kubectl("create", "quota", "q", "--hard=pods=1,requests.cpu=500m", "-n", "binary")
    up.kubectl("create", "priorityclass", "binary", "--value=-7")
    up.kubectl("create", "service", "clusterip", "s", "--tcp=80:8080", "-n", "binary")
    up.kubectl("create", "job", "j", "--image=busybox", "-n", "binary", "--", "sleep", "1")
    up.kubectl("create", "poddisruptionbudget", "p", "--selector=a=b", "--min-available=50%", "-n", "binary")
    assert up.kubectl("get", "secret", "s", "-n", "binary", "-o", "jsonpath={.data.a}").stdout == "Yg=="
    assert up.kubectl("get", "pc", "binary", "-o", "jsonpath={.value}").stdout == "-7"
    service = json.loads(up.kubectl("get", "svc", "s", "-n", "binary", "-o", "json").stdout)["spec"]
    assert [(one["port"], one["targetPort"]) for one in service["ports"]] == [(80, 8080)]
    job = json.loads(up.kubectl("get", "job", "j", "-n", "binary", "-o", "json").stdout)["spec"]
    assert job["template"]["spec"]["containers"][0]["command"] == ["sleep", "1"]
    budget = up.kubectl("get", "pdb", "p", "-n", "binary", "-o", "jsonpath={.spec.minAvailable}").stdout
    assert budget == "50%"
    over = up.kubectl("run", "big", "--image=busybox", "-n", "binary", check=False)
    assert "must specify requests.cpu" in over.stderr
    assert up.kubectl("auth", "can-i", "delete", "queues").stdout == "yes\n"
    assert "maar-admin" in up.kubectl("auth", "whoami").stdout
    up.kubectl("delete", "namespace", "binary")
    up.kubectl("delete", "priorityclass", "binary")


def test_completion_knows_the_queues(up: MaarUp) -> None:
    assert "default" in up.kubectl("__complete", "get", "queues", "").stdout.splitlines()


def test_logs_tell_what_a_virtual_pod_did(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=work("logged", run_for="1s"))
    up.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/logged-0")
    assert "ended with exit code 0" in up.kubectl("logs", "logged-0").stdout
    clear(up, "logged")


def test_the_next_start_goes_on_where_it_was(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=work("restarted"))
    up.kubectl("wait", "--for=condition=Ready", "pod/restarted-1")
    before = json.loads(up.kubectl("get", "pod", "restarted-1", "-o", "json").stdout)
    assert up.stop() == 0
    assert next(good_backups(up.folder / "data"))[1].objects > 0, "what was there when it stopped is kept"
    up.start()
    after = json.loads(up.kubectl("get", "pod", "restarted-1", "-o", "json").stdout)
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    assert (after["spec"]["nodeName"], after["status"]["phase"]) == (before["spec"]["nodeName"], "Running")
    up.kubectl("apply", "-f", "-", stdin=work("restarted", pods=3))
    up.kubectl("wait", "--for=condition=Ready", "pod/restarted-2")
    clear(up, "restarted")


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_work_that_is_applied_again_is_not_refused_over_what_maar_filled_in(
    up: MaarUp, flags: tuple[str, ...]
) -> None:
    name = f"again-{len(flags)}"
    assert reapply(up.kubectl, name, *flags) == GROWN_AND_SHRUNK
    up.kubectl("delete", "vcjob", name)
    clear(up, name)


def test_a_job_moves_from_client_side_to_server_side_apply(up: MaarUp) -> None:
    """Tasks are one value to API servers: what Maar filled in makes a conflict."""
    assert switch_to_server_side(up.kubectl, "switched", minAvailable=2, maxRetry=3) == ""
    assert CONFLICT in switch_to_server_side(up.kubectl, "forced")
