"""This machine as a node: real processes, their environment, exit codes, logs and ends."""

import asyncio
import base64
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.local_node import HERE, exit_of, finished, local, log, shell, status_with
from support.node_cluster import Fields, place, seen
from support.until import until


def story(tell: Callable[[Path], Awaitable[None]], folder: Path) -> None:
    async def run() -> None:
        await tell(folder)

    asyncio.run(run())


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
            status = await status_with(cluster, "a", lambda one: "CreateContainerConfigError" in str(one))
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
            found = [one["message"] for one in cluster.all("events") if one["reason"] == "VolumesOffered"]
            assert "/data is in $MAAR_VOLUME_MY_DATA" in str(found)
            cluster.delete("pods", "default", "a")
            await until("its files are gone", lambda: not any(folder.glob("pods/*_a_*")))

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
