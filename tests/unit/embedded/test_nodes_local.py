"""This machine as a node: real processes, their environment, exit codes, logs and ends."""

import asyncio
import base64
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion
from maar.embedded.cluster import Cluster
from maar.embedded.nodes.local import LocalNode
from maar.embedded.nodes.machine import this_machine
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.nodes.registration import register
from support.node_cluster import Fields, embedded, place, seen

HERE = "here"
PATIENCE = 20.0  # seconds: the machine may be busy


@asynccontextmanager
async def local(folder: Path) -> AsyncIterator[Cluster]:
    """A cluster whose only node is this machine."""
    with embedded(folder) as cluster:
        register(cluster, [this_machine(HERE)])
        kubelet = asyncio.create_task(LocalNode(cluster, folder, HERE).run())
        try:
            yield cluster
        finally:
            kubelet.cancel()
            with suppress(asyncio.CancelledError):
                await kubelet


def shell(name: str, script: str, container: Fields | None = None, **spec: object) -> Fields:
    """A pod that runs a shell script."""
    one = {"name": "main", "image": "none", "command": ["sh", "-c", script], **(container or {})}
    return {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [one], **spec}}


async def until(cluster: Cluster, name: str, holds: Callable[[Fields], bool]) -> Fields:
    """Wait for the status of a pod."""
    with cluster.history.watch("pods", cluster.store.revision) as news:
        async with asyncio.timeout(PATIENCE):
            while not holds(status := seen(cluster, name)):
                await news.next(PATIENCE)
    return status


async def finished(cluster: Cluster, name: str) -> Fields:
    return await until(cluster, name, lambda status: status["phase"] in ("Succeeded", "Failed"))


async def running(cluster: Cluster, name: str) -> Fields:
    return await until(cluster, name, lambda status: status["phase"] == "Running")


async def gone(cluster: Cluster, name: str) -> None:
    with cluster.history.watch("pods", cluster.store.revision) as news:
        async with asyncio.timeout(PATIENCE):
            while cluster.read("pods", "default", name) is not None:
                await news.next(PATIENCE)


async def log(cluster: Cluster, folder: Path, name: str, **query: str) -> str:
    """What `kubectl logs` shows."""
    chunks = await PodLogs(cluster, folder).read("default", name, query)
    return b"".join([chunk async for chunk in chunks]).decode()


def exit_of(status: Fields) -> Fields:
    state: Fields = status["containerStatuses"][0]["state"]["terminated"]
    return state


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def dead(pid: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while alive(pid):
            await asyncio.sleep(0.01)  # nobody tells of the end of a process that is not ours


def story(tell: Callable[[Path], Awaitable[None]], folder: Path) -> None:
    async def told() -> None:
        await tell(folder)

    asyncio.run(told())


def test_a_command_runs_with_its_words_exit_code_and_log(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("good", "echo out; echo err >&2; printf end"), HERE)
            place(cluster, shell("bad", "exit 7"), HERE)
            assert (await finished(cluster, "good"))["phase"] == "Succeeded"
            assert await log(cluster, folder, "good") == "out\nerr\nend"
            status = await finished(cluster, "bad")
            assert (status["phase"], exit_of(status)["exitCode"]) == ("Failed", 7)
            assert exit_of(status)["reason"] == "Error"

    story(tell, tmp_path)


def test_the_environment_is_what_the_pod_says_and_nothing_of_the_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAAR_TOKEN", "the server's secret")
    container: Fields = {
        "command": ["env"],
        "args": ["PLAIN=$(GREETING)", "KEPT=$$(GREETING)", "UNKNOWN=$(NOPE)", "sh", "-c", "env; pwd"],
        "workingDir": "/usr",
        "envFrom": [{"prefix": "ALL_", "configMapRef": {"name": "settings"}}],
        "env": [
            {"name": "GREETING", "value": "hello"},
            {"name": "BOTH", "value": "$(GREETING) $(ALL_colour)"},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "word"}}},
            {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "no", "key": "no", "optional": True}}},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['team']"}}},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
    }

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            cluster.create(
                "configmaps", "default", {"metadata": {"name": "settings"}, "data": {"colour": "red"}}
            )
            word = base64.b64encode(b"sesame").decode()
            cluster.create("secrets", "default", {"metadata": {"name": "hidden"}, "data": {"word": word}})
            value = shell("a", "", container)
            value["metadata"]["labels"] = {"team": "blue"}
            place(cluster, value, HERE)
            assert (await finished(cluster, "a"))["phase"] == "Succeeded"
            *lines, where = (await log(cluster, folder, "a")).splitlines()
            assert where == "/usr"
            found = dict(line.split("=", 1) for line in lines)
            assert found["PLAIN"] == "hello"
            assert found["KEPT"] == "$(GREETING)"
            assert found["UNKNOWN"] == "$(NOPE)"
            assert found["BOTH"] == "hello red"
            assert found["ALL_colour"] == "red"
            assert found["SECRET"] == "sesame"  # noqa: S105  a word of this test
            assert (found["POD"], found["TEAM"], found["NODE"]) == ("a", "blue", HERE)
            assert found["IP"] == seen(cluster, "a")["podIP"]
            ours = {
                "PLAIN",
                "KEPT",
                "UNKNOWN",
                "GREETING",
                "BOTH",
                "ALL_colour",
                "SECRET",
                "POD",
                "TEAM",
                "NODE",
                "IP",
            }
            assert (
                found.keys() - ours - {"PATH", "HOME", "LANG", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "_"}
                == set()
            )

    story(tell, tmp_path)


def test_what_is_missing_is_waited_for(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            source = {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "x"}}}
            place(cluster, shell("a", "echo $X", {"env": [source]}), HERE)
            status = await until(cluster, "a", lambda one: "CreateContainerConfigError" in str(one))
            assert (
                status["containerStatuses"][0]["state"]["waiting"]["message"] == 'configmap "late" not found'
            )
            assert status["phase"] == "Pending"
            cluster.create("configmaps", "default", {"metadata": {"name": "late"}, "data": {"x": "here"}})
            await finished(cluster, "a")
            assert await log(cluster, folder, "a") == "here\n"

    story(tell, tmp_path)


def test_init_containers_come_first_and_in_order_and_share_volumes(tmp_path: Path) -> None:
    mount = [{"name": "my-data", "mountPath": "/data"}, {"name": "keys", "mountPath": "/keys"}]
    init: list[Fields] = [
        {
            "name": name,
            "image": "none",
            "command": ["sh", "-c", f"echo {name} >> $MAAR_VOLUME_MY_DATA/order"],
            "volumeMounts": mount,
        }
        for name in ("one", "two")
    ]
    volumes = [{"name": "my-data", "emptyDir": {}}, {"name": "keys", "secret": {"secretName": "s"}}]

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            cluster.create("secrets", "default", {"metadata": {"name": "s"}, "data": {"k": "djE="}})
            container: Fields = {
                "command": ["cat", "$(MAAR_VOLUME_MY_DATA)/order", "$(MAAR_VOLUME_KEYS)/k"],
                "volumeMounts": mount,
            }
            place(cluster, shell("a", "", container, initContainers=init, volumes=volumes), HERE)
            status = await finished(cluster, "a")
            assert status["phase"] == "Succeeded", status
            assert await log(cluster, folder, "a") == "one\ntwo\nv1"
            assert [one["state"]["terminated"]["exitCode"] for one in status["initContainerStatuses"]] == [
                0,
                0,
            ]
            told = [one["message"] for one in cluster.all("events") if one["reason"] == "VolumesOffered"]
            assert "/data is in $MAAR_VOLUME_MY_DATA" in str(told)
            cluster.delete("pods", "default", "a")
            async with asyncio.timeout(PATIENCE):
                while list(folder.glob("*/*_a_*")):
                    await asyncio.sleep(0.01)  # files are removed by a thread

    story(tell, tmp_path)


def test_a_failing_init_container_fails_the_pod_and_nothing_else_runs(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            init = [{"name": "first", "image": "none", "command": ["false"]}]
            place(cluster, shell("a", f"touch {folder}/ran", initContainers=init), HERE)
            status = await finished(cluster, "a")
            assert status["phase"] == "Failed"
            assert "waiting" in status["containerStatuses"][0]["state"]
            assert not (folder / "ran").exists()

    story(tell, tmp_path)


@pytest.mark.parametrize("policy", ["OnFailure", "Always"])
def test_a_container_that_fails_is_started_again_by_policy(tmp_path: Path, policy: str) -> None:
    script = 'echo try; [ -e "$PWD/once" ] && exec sleep 60; touch once; exit 4'

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", script, restartPolicy=policy), HERE)
            status = await until(
                cluster,
                "a",
                lambda one: "running" in str(one) and one["containerStatuses"][0]["restartCount"] == 1,
            )
            assert status["phase"] == "Running"
            assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 4
            assert await log(cluster, folder, "a", previous="true") == "try\n"

    story(tell, tmp_path)


def test_a_deleted_pod_gets_its_grace_and_no_more(tmp_path: Path) -> None:
    deaf = "trap '' TERM; echo $$; while :; do sleep 0.1; done"
    polite = "trap 'echo bye; exit 0' TERM; echo $$; while :; do sleep 0.1; done"

    async def pid_of(cluster: Cluster, folder: Path, name: str) -> int:
        await running(cluster, name)
        async with asyncio.timeout(PATIENCE):
            while not (said := await log(cluster, folder, name)):
                await asyncio.sleep(0.01)  # a shell takes a moment to say something
        return int(said)

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("polite", polite, terminationGracePeriodSeconds=60), HERE)
            place(cluster, shell("deaf", deaf, terminationGracePeriodSeconds=1), HERE)
            place(cluster, shell("forced", deaf, terminationGracePeriodSeconds=600), HERE)
            pids = [await pid_of(cluster, folder, name) for name in ("polite", "deaf", "forced")]
            for name in ("polite", "deaf"):
                cluster.delete("pods", "default", name)
            await gone(cluster, "polite")
            await gone(cluster, "deaf")
            cluster.delete("pods", "default", "forced")
            assert alive(pids[2])
            cluster.delete("pods", "default", "forced", Deletion(grace=0))
            for pid in pids:
                await dead(pid)

    story(tell, tmp_path)


def test_nothing_that_a_container_started_outlives_it(tmp_path: Path) -> None:
    script = "(setsid sh -c 'echo $$; trap \"\" TERM HUP; while :; do sleep 1; done' &); sleep 0.3"

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", script), HERE)
            assert (await finished(cluster, "a"))["phase"] == "Succeeded"
            await dead(int(await log(cluster, folder, "a")))

    story(tell, tmp_path)


def test_a_pod_ends_when_its_deadline_is_over(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "exec sleep 60", activeDeadlineSeconds=1), HERE)
            status = await finished(cluster, "a")
            assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
            assert exit_of(status)["exitCode"] == 128 + signal.SIGTERM

    story(tell, tmp_path)


def test_memory_beyond_the_limit_kills_the_container(tmp_path: Path) -> None:
    grow = "a = b'x' * (300 << 20); import time; time.sleep(60)"
    container: Fields = {
        "command": [sys.executable, "-c", grow],
        "resources": {"limits": {"memory": "64Mi"}},
    }

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "", container), HERE)
            status = await finished(cluster, "a")
            assert (exit_of(status)["reason"], exit_of(status)["exitCode"]) == ("OOMKilled", 137)

    story(tell, tmp_path)


def test_a_processor_limit_is_the_number_of_processors_and_the_server_comes_first(tmp_path: Path) -> None:
    usable = len(os.sched_getaffinity(0))
    if usable < 2:
        pytest.skip("a machine with one processor has nothing to limit")
    ask = "import os; print(len(os.sched_getaffinity(0)), os.nice(0) > 0)"

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            for name, limit in (("half", "500m"), ("all", "64")):
                container: Fields = {
                    "command": [sys.executable, "-c", ask],
                    "resources": {"limits": {"cpu": limit}, "requests": {"cpu": "1m"}},
                }
                place(cluster, shell(name, "", container), HERE)
                await finished(cluster, name)
            assert await log(cluster, folder, "half") == "1 True\n"
            assert await log(cluster, folder, "all") == f"{usable} True\n"

    story(tell, tmp_path)


@pytest.mark.parametrize(
    ("container", "reason", "message"),
    [
        ({"resources": {"requests": {"cpu": "5k"}}}, "OutOfcpu", "Pod was rejected: Node didn't have enough"),
        (
            {"command": []},
            "CannotRunLocally",
            'container "main" has no command: the local node runs commands',
        ),
    ],
)
def test_what_cannot_run_here_is_refused(
    tmp_path: Path, container: Fields, reason: str, message: str
) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "true", container), HERE)
            status = await finished(cluster, "a")
            assert (status["phase"], status["reason"]) == ("Failed", reason)
            assert status["message"].startswith(message)

    story(tell, tmp_path)


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"command": ["no-such-program"]}, 'exec: "no-such-program": executable file not found in $PATH'),
        ({"workingDir": "/no/such/folder"}, "[Errno 2] No such file or directory: '/no/such/folder'"),
    ],
)
def test_a_command_that_cannot_start_says_why(tmp_path: Path, container: Fields, message: str) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "true", container), HERE)
            state = exit_of(await finished(cluster, "a"))
            assert (state["exitCode"], state["reason"], state["message"]) == (128, "StartError", message)

    story(tell, tmp_path)
