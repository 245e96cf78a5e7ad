"""How pods on this machine end: by grace, by deadline, by policy, with their pod and with the server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion
from support.local_node import HERE, alive, dead, exit_of, finished, local, log, reported, shell, status_with
from support.node_cluster import place, seen
from support.until import until

SERVER = """
import asyncio, sys
from pathlib import Path
from support.local_node import HERE, local, reported, shell
from support.node_cluster import place

DAEMON = "trap '' TERM HUP; echo $$$$; while :; do sleep 1; done"
STUBBORN = f"trap '' TERM HUP; (setsid sh -c \\"{DAEMON}\\" &); while :; do sleep 1; done"

async def serve(folder: Path) -> None:
    async with local(folder) as cluster:
        for name, policy in (("never", "Never"), ("always", "Always")):
            place(cluster, shell(name, STUBBORN, restartPolicy=policy), HERE)
            print(await reported(cluster, folder, name), end="", flush=True)
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(serve(Path(sys.argv[1])))
"""


def story(tell: Callable[[Path], Awaitable[None]], folder: Path) -> None:
    async def run() -> None:
        await tell(folder)

    asyncio.run(run())


def test_a_deleted_pod_gets_its_grace_and_no_more(tmp_path: Path) -> None:
    deaf = "trap '' TERM; echo $$$$; while :; do sleep 0.1; done"
    polite = "trap 'echo bye; exit 0' TERM; echo $$$$; while :; do sleep 0.1; done"

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("polite", polite, terminationGracePeriodSeconds=600), HERE)
            place(cluster, shell("deaf", deaf, terminationGracePeriodSeconds=1), HERE)
            place(cluster, shell("forced", deaf, terminationGracePeriodSeconds=600), HERE)
            pids = [int(await reported(cluster, folder, name)) for name in ("polite", "deaf", "forced")]
            for name in ("polite", "deaf", "forced"):
                cluster.delete("pods", "default", name)
            for name in ("polite", "deaf"):
                await until(f"{name} is gone", lambda: cluster.read("pods", "default", name) is None)  # noqa: B023  at once
            assert alive(pids[2])
            cluster.delete("pods", "default", "forced", Deletion(grace=0))
            for pid in pids:
                await dead(pid)

    story(tell, tmp_path)


def test_nothing_that_a_container_started_outlives_it(tmp_path: Path) -> None:
    daemon = "(setsid sh -c 'echo $$$$; trap \"\" TERM HUP; while :; do sleep 1; done' &); sleep 0.5"

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", daemon), HERE)
            assert (await finished(cluster, "a"))["phase"] == "Succeeded"
            assert not alive(int(await log(cluster, folder, "a")))

    story(tell, tmp_path)


def test_a_pod_ends_when_its_deadline_is_over(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "exec sleep 60", activeDeadlineSeconds=1), HERE)
            status = await finished(cluster, "a")
            assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
            assert exit_of(status)["exitCode"] == 128 + signal.SIGTERM

    story(tell, tmp_path)


@pytest.mark.parametrize("policy", ["OnFailure", "Always"])
def test_a_container_that_fails_is_started_again_by_policy(tmp_path: Path, policy: str) -> None:
    script = "echo try; [ -e once ] && exec sleep 60; touch once; exit 4"

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", script, restartPolicy=policy), HERE)
            status = await status_with(
                cluster,
                "a",
                lambda one: (
                    one.get("containerStatuses", [{}])[0].get("restartCount") == 1
                    and "running" in one["containerStatuses"][0]["state"]
                ),
            )
            assert status["phase"] == "Running"
            assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 4
            assert await log(cluster, folder, "a", previous="true") == "try\n"

    story(tell, tmp_path)


def test_a_container_that_keeps_failing_waits_before_it_is_started_again(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "echo no; exit 1", restartPolicy="OnFailure"), HERE)
            status = await status_with(cluster, "a", lambda one: "CrashLoopBackOff" in str(one))
            [container] = status["containerStatuses"]
            assert container["state"]["waiting"]["message"].startswith("back-off 10s restarting failed")
            assert (container["restartCount"], status["phase"]) == (1, "Running")
            assert await log(cluster, folder, "a") == "no\n"
            cluster.delete("pods", "default", "a")
            await until("it is gone", lambda: cluster.read("pods", "default", "a") is None)

    story(tell, tmp_path)


def test_a_sidecar_runs_beside_the_containers_and_ends_after_them(tmp_path: Path) -> None:
    beside = {
        "name": "beside",
        "image": "none",
        "command": ["sh", "-c", "echo up; exec sleep 60"],
        "restartPolicy": "Always",
    }

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "echo main", initContainers=[beside]), HERE)
            status = await finished(cluster, "a")
            assert status["phase"] == "Succeeded"
            assert "terminated" in status["initContainerStatuses"][0]["state"]
            assert await log(cluster, folder, "a", container="beside") == "up\n"

    story(tell, tmp_path)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_the_server_and_pods_go_on_by_policy(tmp_path: Path, how: signal.Signals) -> None:
    tests = Path(__file__).parents[2]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(tests), "PATH": "/usr/bin:/bin"},
    )
    with server:
        assert server.stdout is not None
        pids = [int(server.stdout.readline()) for _ in range(2)]
        assert server.stdout.readline() == "ready\n"
        assert all(map(alive, pids))
        server.send_signal(how)

    async def tell(folder: Path) -> None:
        for pid in pids:
            await dead(pid)
        async with local(folder) as cluster:
            status = await finished(cluster, "never")
            assert (status["phase"], exit_of(status)["exitCode"]) == ("Failed", 137)
            assert exit_of(status)["reason"] == "ServerStopped"
            await status_with(cluster, "always", lambda one: one["containerStatuses"][0]["restartCount"] == 1)
            assert seen(cluster, "always")["phase"] == "Running"

    story(tell, tmp_path)


def test_a_container_whose_supervisor_is_killed_is_killed_with_it(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            place(cluster, shell("a", "echo $$$$ $PPID; exec sleep 60"), HERE)
            pid, supervisor = map(int, (await reported(cluster, folder, "a")).split())
            os.kill(supervisor, signal.SIGKILL)
            status = await finished(cluster, "a")
            assert (status["phase"], exit_of(status)["exitCode"]) == ("Failed", 137)
            await dead(pid)

    story(tell, tmp_path)
