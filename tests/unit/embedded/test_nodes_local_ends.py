"""How pods on this machine end: by grace, by deadline, by policy, with their pod and with the server."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion
from maar.embedded.cluster import Cluster
from support.local_node import HERE, alive, dead, exit_of, finished, local, log, reported, shell, status_with
from support.node_cluster import embedded, place, seen
from support.processes import bounded
from support.until import until, wait_until

SERVER = """
import asyncio, sys
from pathlib import Path
from support.local_node import HERE, local, reported, shell
from support.node_cluster import place

DAEMON = "trap '' TERM HUP; echo $$$$; while :; do sleep 1; done"
STUBBORN = f"trap '' TERM HUP; (setsid sh -c \\"{DAEMON}\\" &); while :; do sleep 1; done"

async def serve(folder: Path, never: str) -> None:
    async with local(folder) as cluster:
        for name, policy in (("never", "Never"), ("always", "Always")):
            script = never if never and name == "never" else STUBBORN
            place(cluster, shell(name, script, restartPolicy=policy), HERE)
            print(await reported(cluster, folder, name), end="", flush=True)
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(serve(Path(sys.argv[1]), sys.argv[2]))
"""


def server_with_pods(folder: Path, end_by: signal.Signals, never: str = "") -> list[int]:
    """Start a server with two pods that run, and end it; gives a process of each."""
    tests = Path(__file__).parents[2]
    paths = os.pathsep.join(filter(None, (str(tests), os.environ.get("PYTHONPATH"))))
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder), never],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": paths, "PATH": "/usr/bin:/bin"},
    )
    with bounded(server):
        assert server.stdout is not None
        lines = [server.stdout.readline().strip() for _ in range(2)]
        assert server.stdout.readline() == "ready\n"
        server.send_signal(end_by)
    return [int(line) for line in lines if line.isdigit()]


def events_of(cluster: Cluster, name: str) -> str:
    events = [one for one in cluster.all("events") if one["involvedObject"]["name"] == name]  # type: ignore[index]
    return "\n".join(str(one["message"]) for one in events)


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


def test_a_stopped_server_ends_its_processes_and_pods_go_on_by_policy(tmp_path: Path) -> None:
    pids = server_with_pods(tmp_path, signal.SIGINT)

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


def test_processes_of_a_killed_server_run_on_and_are_found_again(tmp_path: Path) -> None:
    pids = server_with_pods(tmp_path, signal.SIGKILL)

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            for name in ("never", "always"):
                await until(f"{name} is found", lambda: "found main running" in events_of(cluster, name))  # noqa: B023  at once
                status = seen(cluster, name)
                assert (status["phase"], status["containerStatuses"][0]["restartCount"]) == ("Running", 0)
                assert "running" in status["containerStatuses"][0]["state"]
            assert all(map(alive, pids))
            for name in ("never", "always"):
                cluster.delete("pods", "default", name, Deletion(grace=0))
            for pid in pids:
                await dead(pid)

    story(tell, tmp_path)


def test_what_ended_while_no_server_ran_is_reported_with_its_exit_code_and_output(tmp_path: Path) -> None:
    script = f"echo before; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo after; exit 5"
    server_with_pods(tmp_path, signal.SIGKILL, never=script)
    (tmp_path / "go").touch()
    [record] = (tmp_path / "pods").glob("*_never_*/runs/main/0.json")
    wait_until("the supervisor has reported the end", lambda: '"exit_code": 5' in record.read_text())

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            status = await finished(cluster, "never")
            assert (status["phase"], exit_of(status)["exitCode"]) == ("Failed", 5)
            assert exit_of(status)["reason"] == "Error"
            assert await log(cluster, folder, "never") == "before\nafter\n"

    story(tell, tmp_path)


def test_a_pod_that_was_being_deleted_when_the_server_was_killed_ends_within_its_grace(
    tmp_path: Path,
) -> None:
    script = f"trap 'echo bye >> {tmp_path}/note; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    server_with_pods(tmp_path, signal.SIGKILL, never=script)
    with embedded(tmp_path) as cluster:  # the API alone: a deletion that no node has carried out
        cluster.delete("pods", "default", "never")
        assert cluster.read("pods", "default", "never") is not None

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            await until("it is gone", lambda: cluster.read("pods", "default", "never") is None)
            assert (folder / "note").read_text() == "bye\n"

    story(tell, tmp_path)


def test_what_was_lost_is_said(tmp_path: Path) -> None:
    server_with_pods(tmp_path, signal.SIGKILL)
    [record] = (tmp_path / "pods").glob("*_never_*/runs/main/0.json")
    supervisor = json.loads(record.read_text().splitlines()[0])["supervisor"]
    os.kill(supervisor, signal.SIGKILL)
    wait_until("the supervisor has ended", lambda: not alive(supervisor))

    async def tell(folder: Path) -> None:
        async with local(folder) as cluster:
            state = exit_of(await finished(cluster, "never"))
            assert (state["exitCode"], state["reason"]) == (137, "Lost")
            assert "was killed while maar up was away" in state["message"]
            assert "its exit code is not known" in state["message"]

    story(tell, tmp_path)


def test_a_process_with_the_number_of_a_lost_one_is_left_alone(tmp_path: Path) -> None:
    server_with_pods(tmp_path, signal.SIGKILL)
    stranger = subprocess.Popen(["sleep", "60"])
    with stranger:
        [record] = (tmp_path / "pods").glob("*_never_*/runs/main/0.json")
        first, *rest = record.read_text().splitlines()
        facts = json.loads(first)
        record.write_text("\n".join([json.dumps({**facts, "supervisor": stranger.pid}), *rest, ""]))

        async def tell(folder: Path) -> None:
            async with local(folder) as cluster:
                assert exit_of(await finished(cluster, "never"))["reason"] == "Lost"
                cluster.delete("pods", "default", "never", Deletion(grace=0))
                await until("its files are gone", lambda: not record.exists())
                await dead(facts["supervisor"])  # which sees that its record is gone
                assert stranger.poll() is None

        story(tell, tmp_path)
        stranger.kill()


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
