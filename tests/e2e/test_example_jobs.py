"""The jobs in examples/ as people have them: admitted, run, and with all objects that they rely on."""

import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import MAAR, ROOT, Document, Story, cluster
from support.story_vcjobs import VCJOB, numbers, phase_of, pods_of_job, status, until_none
from support.story_workloads import UNTIL_ENDED, end_pod

FOLDER = ROOT / "examples" / "jobs"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("examples"), UNTIL_ENDED) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.kubectl("delete", VCJOB, "--all")
    running.clear()


def start(story: Story, file: str, job: str, *pods: str) -> dict[str, Document]:
    """Apply an example, wait until it runs, and give its pods by name without the job's."""
    story.kubectl("apply", "-f", str(FOLDER / file))
    expected = {f"{job}-{pod}": "Running" for pod in pods}
    story.until(f"pods of {job} run", lambda: pods_of_job(story, job), expected)
    story.until(f"{job} runs", lambda: numbers(status(story, job), "running"), [len(pods)])
    assert phase_of(story.get(VCJOB, job)) == "Running"
    return {pod: story.get("pod", f"{job}-{pod}") for pod in pods}


def complete(story: Story, job: str, *pods: str) -> None:
    """Let the pods succeed whose task completes a job, and wait until what it needed is gone."""
    for pod in pods:
        end_pod(story, f"{job}-{pod}", "Succeeded")
    story.until("it is complete", lambda: phase_of(story.get(VCJOB, job)), "Completed")
    story.until("the rest is gone", lambda: set(pods_of_job(story, job)), {f"{job}-{pod}" for pod in pods})
    for kind, name in (("service", job), ("configmap", f"{job}-svc"), ("networkpolicy", job)):
        until_none(story, f"so is its {kind}", partial(story.get, kind, name))


def environment(pod: Document, number: int = 0) -> dict[str, Any]:
    """The variables of a container; those of a ConfigMap by its name and key."""
    found = pod["spec"]["containers"][number].get("env", [])
    return {one["name"]: one.get("value", _reference(one)) for one in found}


def _reference(variable: Document) -> tuple[str, str] | None:
    reference = variable.get("valueFrom", {}).get("configMapKeyRef")
    return (reference["name"], reference["key"]) if reference else None


def mounts(pod: Document) -> dict[str, str]:
    """Where the volumes of plugins are."""
    found = pod["spec"]["containers"][0]["volumeMounts"]
    return {one["name"]: one["mountPath"] for one in found if not one["name"].startswith("kube-api-access")}


def group(story: Story, job: str) -> Document:
    uid = story.get(VCJOB, job)["metadata"]["uid"]
    return dict(story.get("podgroup", f"{job}-{uid}")["spec"])


def hosts(job: str, task: str, count: int) -> list[str]:
    return [f"{job}-{task}-{number}.{job}" for number in range(count)]


def has_its_network(story: Story, job: str, **tasks: int) -> None:
    """The objects of the svc plugin are as tasks of these sizes need them."""
    names = {"volcano.sh/job-name": job, "volcano.sh/job-namespace": "default"}
    service = story.get("service", job)["spec"]
    assert service["clusterIP"] == "None"
    assert service["selector"] == names
    policy = story.get("networkpolicy", job)["spec"]
    assert policy["podSelector"]["matchLabels"] == names
    assert policy["ingress"] == [{"from": [{"podSelector": {"matchLabels": names}}]}]
    data = story.get("configmap", f"{job}-svc")["data"]
    for task, count in tasks.items():
        key = task.replace("-", "_").upper()
        assert data[f"{task.replace('-', '_')}.host"].split() == hosts(job, task, count)
        assert data[f"VC_{key}_HOSTS"].split(",") == hosts(job, task, count)
        assert data[f"VC_{key}_NUM"] == str(count)


def test_admission_takes_every_example() -> None:
    command = [MAAR, "validate", "-f", str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(FOLDER.glob("*.yaml"))) >= 6


def test_the_plain_job(story: Story) -> None:
    pods = start(story, "plain.yaml", "test-job", *(f"default-nginx-{number}" for number in range(6)))
    has_its_network(story, "test-job", **{"default-nginx": 6})
    wanted = group(story, "test-job")
    assert (wanted["minMember"], wanted["queue"]) == (3, "default")
    assert wanted["minResources"]["cpu"] == "3"
    secret = story.get("secret", "test-job-ssh")["data"]
    assert set(secret) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
    pod = pods["default-nginx-4"]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("test-job-default-nginx-4", "test-job")
    assert pod["spec"]["restartPolicy"] == "OnFailure"
    assert mounts(pod) == {"test-job-svc": "/etc/volcano", "test-job-ssh": "/root/.ssh"}
    assert environment(pod) == {
        "VK_TASK_INDEX": "4",
        "VC_TASK_INDEX": "4",
        "VC_DEFAULT_NGINX_HOSTS": ("test-job-svc", "VC_DEFAULT_NGINX_HOSTS"),
        "VC_DEFAULT_NGINX_NUM": ("test-job-svc", "VC_DEFAULT_NGINX_NUM"),
    }
    resources = status(story, "test-job")["controlledResources"]
    assert resources == {f"plugin-{name}": name for name in ("env", "ssh", "svc")}
    assert pod["metadata"]["labels"].items() >= {
        "volcano.sh/job-name": "test-job",
        "volcano.sh/task-spec": "default-nginx",
        "volcano.sh/task-index": "4",
        "volcano.sh/queue-name": "default",
    }.items()  # fmt: skip


def test_mpi_by_ssh(story: Story) -> None:
    pods = start(story, "mpi.yaml", "mpi-job", "mpimaster-0", "mpiworker-0", "mpiworker-1")
    has_its_network(story, "mpi-job", mpimaster=1, mpiworker=2)
    assert group(story, "mpi-job")["minTaskMember"] == {"mpimaster": 1, "mpiworker": 2}
    assert mounts(pods["mpimaster-0"]) == {"mpi-job-svc": "/etc/volcano", "mpi-job-ssh": "/root/.ssh"}
    complete(story, "mpi-job", "mpimaster-0")


def test_mpi_by_its_plugin_with_a_master_that_comes_last(story: Story) -> None:
    job = "mpi-plugin-job"
    pods = start(story, "mpi-plugin.yaml", job, "mpimaster-0", "mpiworker-0", "mpiworker-1")
    has_its_network(story, job, mpimaster=1, mpiworker=2)
    assert environment(pods["mpimaster-0"])["MPI_HOST"] == ",".join(hosts(job, "mpiworker", 2))
    assert all(pod["spec"]["containers"][0]["ports"][0]["name"] == "mpijob-port" for pod in pods.values())
    assert story.get("secret", f"{job}-ssh")
    made = {name: pod["metadata"]["creationTimestamp"] for name, pod in pods.items()}
    assert made["mpimaster-0"] == max(made.values())
    complete(story, job, "mpimaster-0")


def test_tensorflow_with_parameter_servers(story: Story) -> None:
    pods = start(story, "tensorflow.yaml", "tensorflow-job", "ps-0", "worker-0", "worker-1")
    has_its_network(story, "tensorflow-job", ps=1, worker=2)
    assert environment(pods["worker-1"])["VK_TASK_INDEX"] == "1"
    assert mounts(pods["worker-1"]) == {"tensorflow-job-svc": "/etc/volcano"}
    complete(story, "tensorflow-job", "worker-0", "worker-1")


def test_pytorch(story: Story) -> None:
    pods = start(story, "pytorch.yaml", "pytorch-job", "master-0", "worker-0", "worker-1")
    has_its_network(story, "pytorch-job", master=1, worker=2)
    common = {"MASTER_ADDR": "pytorch-job-master-0.pytorch-job", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}
    for number, name in enumerate(("master-0", "worker-0", "worker-1")):
        assert environment(pods[name]).items() >= {**common, "RANK": str(number)}.items()
    assert group(story, "pytorch-job")["minMember"] == 1
    complete(story, "pytorch-job", "master-0")


def test_ray(story: Story) -> None:
    pods = start(story, "ray.yaml", "ray-job", "head-0", "worker-0", "worker-1")
    has_its_network(story, "ray-job", head=1, worker=2)
    head = pods["head-0"]["spec"]["containers"][0]
    assert head["command"][:2] == ["sh", "-c"]
    assert head["command"][2].startswith("ray start --head --block --dashboard-host=0.0.0.0 --port=6379")
    assert {one["name"]: one["containerPort"] for one in head["ports"]} == {
        "gcs": 6379, "dashboard": 8265, "client-server": 10001,
    }  # fmt: skip
    worker = pods["worker-1"]["spec"]["containers"][0]
    assert worker["command"] == ["sh", "-c", "ray start --block --address=ray-job-head-0.ray-job:6379"]
    service = story.get("service", "ray-job-head-svc")["spec"]
    assert sorted(one["port"] for one in service["ports"]) == [6379, 8265, 10001]
    assert service["selector"]["volcano.sh/task-spec"] == "head"
