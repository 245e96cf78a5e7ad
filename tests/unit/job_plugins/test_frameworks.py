"""The plugins of frameworks: pods as they become."""

import json
import subprocess

from support.plugin_jobs import job, objects, pod, variables


def test_pytorch_finds_its_master_and_its_ranks() -> None:
    training = job({"master": 1, "worker": 2, "board": 1}, pytorch=[])
    address = {"MASTER_ADDR": "j-master-0.j", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}
    assert variables(pod(training, "master")) == {**address, "RANK": "0"}
    assert variables(pod(training, "worker", 1)) == {**address, "RANK": "2"}
    assert variables(pod(training, "board")) == address
    (container,) = pod(training, "worker")["spec"]["containers"]
    assert container["ports"] == [{"name": "pytorchjob-port", "containerPort": 23456, "protocol": "TCP"}]
    assert objects(training) == {}


def test_pytorch_takes_other_tasks_and_another_port() -> None:
    training = job({"m": 2, "w": 1}, pytorch=["--master=m", "-worker", "w", "--port=7"])
    assert variables(pod(training, "m", 1))["RANK"] == "1"
    assert variables(pod(training, "w")) == {
        "MASTER_ADDR": "j-m-0.j",
        "MASTER_PORT": "7",
        "WORLD_SIZE": "3",
        "RANK": "2",
    }


def test_pytorch_without_a_master_adds_nothing() -> None:
    assert "env" not in pod(job({"worker": 2}, pytorch=[]), "worker")["spec"]["containers"][0]


def test_workers_of_pytorch_wait_for_their_master() -> None:
    arguments = ["--wait-master-enabled", "--wait-master-timeout=0", "--wait-master-image=b:1"]
    training = job({"master": 1, "worker": 1}, pytorch=arguments)
    assert "initContainers" not in pod(training, "master")["spec"]
    (waiting,) = pod(training, "worker")["spec"]["initContainers"]
    assert (waiting["name"], waiting["image"]) == ("wait-for-master", "b:1")
    assert [one["name"] for one in waiting["env"]] == ["MASTER_ADDR", "MASTER_PORT"]
    nowhere = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "PATH": "/bin:/usr/bin"}
    ended = subprocess.run(waiting["command"], env=nowhere, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "127.0.0.1:1 did not answer within 0 seconds" in ended.stderr


def test_a_port_that_a_container_declares_is_not_declared_twice() -> None:
    own = {"spec": {"containers": [{"name": "c", "ports": [{"name": "mine", "containerPort": 22}]}]}}
    for plugin, arguments in (("pytorch", ["--port=22"]), ("mpi", [])):
        document = pod(job({"master": 1, "worker": 1}, own, **{plugin: arguments}), "worker")
        assert document["spec"]["containers"][0]["ports"] == [{"name": "mine", "containerPort": 22}]


def test_tensorflow_finds_its_cluster() -> None:
    training = job({"ps": 1, "worker": 2, "board": 1}, tensorflow=[])
    assert variables(pod(training, "worker", 1)) == {
        "TF_CONFIG": '{"cluster":{"ps":["j-ps-0.j:2222"],"worker":["j-worker-0.j:2222","j-worker-1.j:2222"]},'
        '"task":{"type":"worker","index":1}}'
    }
    assert variables(pod(training, "board")) == {}


def test_tensorflow_takes_other_tasks_and_needs_none_for_one_pod() -> None:
    training = job({"main": 1, "judge": 1}, tensorflow=["--chief=main", "--evaluator=judge", "--port=1"])
    config = json.loads(str(variables(pod(training, "judge"))["TF_CONFIG"]))
    assert config == {
        "cluster": {"chief": ["j-main-0.j:1"], "evaluator": ["j-judge-0.j:1"]},
        "task": {"type": "evaluator", "index": 0},
    }
    assert variables(pod(job({"worker": 1}, tensorflow=[]), "worker")) == {}


def test_the_master_of_mpi_knows_its_workers() -> None:
    both = {"spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}}
    work = job({"m": 1, "w": 2}, both, mpi=["--master=m", "--worker=w", "--port=2022"])
    for kind in ("containers", "initContainers"):
        assert variables(pod(work, "m"), kind) == {"MPI_HOST": "j-w-0.j,j-w-1.j"}
        worker = pod(work, "w", 1)["spec"][kind][0]
        assert worker["ports"] == [{"name": "mpijob-port", "containerPort": 2022, "protocol": "TCP"}]
        assert "env" not in worker


def test_ray_starts_a_head_and_workers() -> None:
    template = {"spec": {"containers": [{"name": "side"}, {"name": "head"}, {"name": "worker"}]}}
    cluster = job({"head": 1, "worker": 2}, template, ray=["--dashboardPort=80"])
    side, head, _ = pod(cluster, "head")["spec"]["containers"]
    assert side == {"name": "side"}
    command = (
        "ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=80 "
        "--ray-client-server-port=10001"
    )
    assert head["command"] == ["sh", "-c", command]
    ports = {"gcs": 6379, "dashboard": 80, "client-server": 10001}
    assert {one["name"]: one["containerPort"] for one in head["ports"]} == ports
    worker = pod(cluster, "worker", 1)["spec"]["containers"][2]
    assert worker == {
        "name": "worker",
        "command": ["sh", "-c", "ray start --block --address=j-head-0.j:6379"],
    }
    assert objects(cluster) == {
        ("Service", "j-head-svc"): (
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "j-head-svc"},
                "spec": {
                    "type": "ClusterIP",
                    "selector": {
                        "volcano.sh/job-name": "j",
                        "volcano.sh/job-namespace": "n",
                        "volcano.sh/task-spec": "head",
                    },
                    "ports": [
                        {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
                        for name, port in ports.items()
                    ],
                },
            },
            None,
        )
    }


def test_hcclrank_numbers_masters_before_workers() -> None:
    work = job({"master": 2, "worker": 2, "other": 1}, hcclrank=[])
    ranks = [
        pod(work, task, index)["metadata"].get("annotations")
        for task in ("master", "worker")
        for index in (0, 1)
    ]
    assert ranks == [{"hccl/rankIndex": str(rank)} for rank in range(4)]
    assert "annotations" not in pod(work, "other")["metadata"]


def test_hcclrank_follows_the_variable_rank() -> None:
    work = job({"m": 1, "w": 2}, hcclrank=[], pytorch=["--master=m", "--worker=w"])
    assert pod(work, "w", 1)["metadata"]["annotations"] == {"hccl/rankIndex": "2"}
