"""Host names and mount paths of a job on this machine: addresses and folders take their places."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from maar.embedded.nodes.local_pod import LocalPod, read_local_pod
from maar.embedded.nodes.pod_addresses import address_of, pod_address
from maar.embedded.nodes.substitution import substitution
from support.local_node import HERE, finished, local, log, shell
from support.node_cluster import Fields, place, seen

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")


def pod(**spec: object) -> LocalPod:
    container = {"name": "main", "volumeMounts": [{"name": "hosts", "mountPath": "/etc/volcano"}]}
    value = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sum-worker-1", "namespace": "n"},
        "spec": {"containers": [container], "hostname": "sum-worker-1", "subdomain": "sum", **spec},
    }  # fmt: skip
    return read_local_pod(json.dumps(value).encode())


@needs_linux
def test_pods_of_a_task_have_different_addresses_and_each_always_the_same() -> None:
    found = {address_of("n", f"sum-worker-{index}", "sum") for index in range(5000)}
    assert len(found) == 5000
    assert all(one.startswith("127.") and not one.startswith("127.0.") for one in found)
    assert pod_address(pod()) == address_of("n", "sum-worker-1", "sum")
    assert address_of("m", "sum-worker-1", "sum") != pod_address(pod())


@needs_linux
@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("sum-worker-0.sum,sum-ps-3.sum", "{sum-worker-0},{sum-ps-3}"),
        ("tcp://sum-worker-0.sum:2222/x", "tcp://{sum-worker-0}:2222/x"),
        ("sum-worker-0.sum.n.svc.cluster.local", "{sum-worker-0}"),
        ("sum-worker-0.sum.n.svc", "{sum-worker-0}"),
        ('{"chief": ["sum-worker-0.sum:1"]}', '{"chief": ["{sum-worker-0}:1"]}'),
        ("sum-worker-0.summer sum-worker-0.sum.py other-0.sum sum-worker-0", None),
        ("cat /etc/volcano/ps.host", "cat /here/ps.host"),
        ("ls '/etc/volcano'; ls /etc/volcano", "ls '/here'; ls /here"),
        ("/etc/volcanoes /my/etc/volcano /etc/volcano.old ~/etc/volcano", None),
    ],
)
def test_names_and_paths_in_words(word: str, meant: str | None) -> None:
    one = pod()
    here = substitution(one, one.spec.containers[0], {"hosts": "/here"})
    expected = word if meant is None else meant
    for name in ("sum-worker-0", "sum-ps-3"):
        expected = expected.replace(f"{{{name}}}", address_of("n", name, "sum"))
    assert here(word) == expected


def test_pods_without_a_job_are_left_alone() -> None:
    one = pod(subdomain="")
    assert substitution(one, one.spec.containers[0], {})("sum-worker-0.sum /etc/volcano") == (
        "sum-worker-0.sum /etc/volcano"
    )


SUM = """
import os, socket, sys
hosts, me = os.environ["VC_WORKER_HOSTS"].split(","), int(os.environ["VC_TASK_INDEX"])
with open(os.path.join(sys.argv[1], "worker.host")) as file:
    assert file.read().split() == hosts
server = socket.create_server((hosts[me], 29_500))
if me:
    while True:
        try:
            with socket.create_connection((hosts[0], 29_500), 1) as peer:
                peer.sendall(b"%d" % (me + 1))
                break
        except OSError:
            pass
else:
    total = 1
    for _ in hosts[1:]:
        peer, _ = server.accept()
        total += int(peer.recv(16))
    print("the sum is", total)
"""


@needs_linux
def test_pods_of_a_job_compute_together_over_their_host_list(tmp_path: Path) -> None:
    hosts = [f"sum-worker-{index}.sum" for index in range(3)]

    async def tell() -> None:
        async with local(tmp_path) as cluster:
            data = {"worker.host": "\n".join(hosts), "VC_WORKER_HOSTS": ",".join(hosts)}
            cluster.create("configmaps", "default", {"metadata": {"name": "sum-svc"}, "data": data})
            for index in range(3):
                key = {"configMapKeyRef": {"name": "sum-svc", "key": "VC_WORKER_HOSTS"}}
                container: Fields = {
                    "command": [sys.executable, "-c", SUM, "/etc/volcano"],
                    "env": [
                        {"name": "VC_WORKER_HOSTS", "valueFrom": key},
                        {"name": "VC_TASK_INDEX", "value": str(index)},
                    ],
                    "volumeMounts": [{"name": "sum-svc", "mountPath": "/etc/volcano"}],
                }
                name = f"sum-worker-{index}"
                names = {"hostname": name, "subdomain": "sum"}
                volumes = [{"name": "sum-svc", "configMap": {"name": "sum-svc"}}]
                place(cluster, shell(name, "", container, volumes=volumes, **names), HERE)
            for index in range(3):
                status = await finished(cluster, f"sum-worker-{index}")
                assert status["phase"] == "Succeeded", await log(cluster, tmp_path, f"sum-worker-{index}")
                assert status["podIP"] == address_of("default", f"sum-worker-{index}", "sum")
            assert await log(cluster, tmp_path, "sum-worker-0") == "the sum is 6\n"
            assert seen(cluster, "sum-worker-1")["hostIP"] == "127.0.0.1"

    asyncio.run(tell())
