"""GPUs of this machine: which are found, and that each is one pod's alone."""

import asyncio
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from maar.core.model.node_sizes import BadNodesError
from maar.embedded.calls import Deletion
from maar.embedded.nodes.gpus import Devices, find_devices
from maar.embedded.nodes.local import LocalNodeSettings
from support.local_node import HERE, finished, local, log, reported, shell
from support.node_cluster import Fields, place
from support.until import until

TWO = LocalNodeSettings(Devices(("0", "1"), "PCI_BUS_ID"))
SHOW = 'echo "[$$CUDA_VISIBLE_DEVICES]"'


def story(tell: Callable[[Path], Awaitable[None]], folder: Path) -> None:
    async def run() -> None:
        await tell(folder)

    asyncio.run(run())


def gpus(number: int) -> Fields:
    return {"resources": {"limits": {"nvidia.com/gpu": str(number)}}}


def nvidia_smi(folder: Path, *lines: str) -> dict[str, str]:
    """An environment whose nvidia-smi lists these."""
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines), encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": str(folder)}


@pytest.mark.parametrize(
    ("visible", "asked", "found"),
    [
        (None, None, ("0", "1", "2")),
        (None, 5, ("0", "1", "2", "3", "4")),
        (None, 0, ()),
        ("2,0", None, ("2", "0")),
        ("2,0", 1, ("2",)),
        ("GPU-5f3a, GPU-77", None, ("GPU-5f3a", "GPU-77")),
        ("1,-1,2", None, ("1",)),
        ("", None, ()),
        ("NoDevFiles", None, ()),
        ("0,1,2,3,4,5", None, ("0", "1", "2")),
    ],
)
def test_gpus_are_found_within_what_this_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, asked: int | None, found: tuple[str]
) -> None:
    if Path("/proc/driver/nvidia/gpus").is_dir():
        pytest.skip("this machine has GPUs of its own")
    path = nvidia_smi(tmp_path, *(f"GPU {one}: Test (UUID: GPU-{one})" for one in range(3)))["PATH"]
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert find_devices(asked, environment).names == found


@pytest.mark.parametrize(
    ("visible", "sentence"),
    [
        (None, "2 GPUs available to pods: 0, 1 (NVIDIA H200)."),
        ("1", "1 GPU available to pods: 1 (NVIDIA H200)."),
        ("", ""),
    ],
)
def test_the_start_says_how_many_gpus_there_are_and_of_which_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, sentence: str
) -> None:
    if Path("/proc/driver/nvidia/gpus").is_dir():
        pytest.skip("this machine has GPUs of its own")
    path = nvidia_smi(tmp_path, *(f"GPU {one}: NVIDIA H200 (UUID: GPU-{one})" for one in range(2)))["PATH"]
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert find_devices(None, environment).sentence == sentence


def test_more_gpus_than_this_process_may_use_are_refused() -> None:
    with pytest.raises(BadNodesError, match="--local-gpus 3: CUDA_VISIBLE_DEVICES is '4,5' and lets"):
        find_devices(3, {"CUDA_VISIBLE_DEVICES": "4,5"})


def test_no_gpu_is_shared_and_one_that_asks_for_none_sees_none(tmp_path: Path) -> None:
    async def tell(folder: Path) -> None:
        async with local(folder, TWO) as cluster:
            for name in ("a", "b"):
                place(cluster, shell(name, f"{SHOW}; exec sleep 600", gpus(1)), HERE)
            shown = {name: await reported(cluster, folder, name) for name in ("a", "b")}
            assert sorted(shown.values()) == ["[0]\n", "[1]\n"]
            noted = cluster.get("pods", "default", "a")
            assert f'"maar.sh/gpus":"{shown["a"][1]}"'.encode() in noted
            place(cluster, shell("c", "true", gpus(1)), HERE)
            status = await finished(cluster, "c")
            assert status["reason"] == "OutOfnvidia.com/gpu"
            env = {"env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]}
            place(cluster, shell("none", SHOW, env), HERE)
            await finished(cluster, "none")
            assert await log(cluster, folder, "none") == "[]\n"
            cluster.delete("pods", "default", "a", Deletion(grace=0))
            await until("a is gone", lambda: not any((folder / "pods").glob("*_a_*")))
            place(cluster, shell("d", SHOW, gpus(1)), HERE)
            await finished(cluster, "d")
            assert await log(cluster, folder, "d") == shown["a"]

    story(tell, tmp_path)


def test_containers_of_a_pod_have_different_gpus(tmp_path: Path) -> None:
    command = ["sh", "-c", SHOW]
    init = [{"name": "first", "image": "none", "command": command, **gpus(2)}]
    both = [{"name": name, "image": "none", "command": command, **gpus(1)} for name in ("one", "two")]

    async def tell(folder: Path) -> None:
        async with local(folder, TWO) as cluster:
            place(cluster, shell("a", "", containers=both, initContainers=init), HERE)
            assert (await finished(cluster, "a"))["phase"] == "Succeeded"
            shown = [await log(cluster, folder, "a", container=name) for name in ("first", "one", "two")]
            assert shown == ["[0,1]\n", "[0]\n", "[1]\n"]

    story(tell, tmp_path)


def test_a_restart_knows_who_has_which_gpu(tmp_path: Path) -> None:
    keeping = TWO._replace(keeps_running=True)

    async def tell(folder: Path) -> None:
        async with local(folder, keeping) as cluster:
            for name in ("a", "b"):
                place(cluster, shell(name, f"{SHOW}; exec sleep 600", gpus(1)), HERE)
                await reported(cluster, folder, name)
            cluster.delete("pods", "default", "a", Deletion(grace=0))
            await until("a is gone", lambda: not any((folder / "pods").glob("*_a_*")))
        async with local(folder, keeping) as cluster:
            place(cluster, shell("c", SHOW, gpus(1)), HERE)
            await finished(cluster, "c")
            assert await log(cluster, folder, "c") == "[0]\n"
            assert await log(cluster, folder, "b") == "[1]\n"
        async with local(folder, LocalNodeSettings(Devices(("0",)))) as cluster:
            status = await finished(cluster, "b")
            assert (status["phase"], status["reason"]) == ("Failed", "GPULost")
            assert "GPU 1, which the pod had, is not on this node any more" in status["message"]

    story(tell, tmp_path)
