"""Output of pods that are gone: kept within bounds, listed and readable."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from maar.embedded.failures import ApiError
from maar.embedded.nodes.kept_output import KeptOutput
from support.local_node import HERE, finished, local, log, shell
from support.node_cluster import place
from support.until import until

NOW = 1_800_000_000.0
DAY = 86_400.0


def written(folder: Path, pod: str, size: int, age: float) -> Path:
    file = folder / f"default_{pod}_uid" / "main" / "0.log"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x" * size)
    os.utime(file, (NOW - age, NOW - age))
    return file


def listed(folder: Path) -> list[str]:
    lines = (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["pod"] for line in lines]


def test_what_is_too_much_goes_the_oldest_first(tmp_path: Path) -> None:
    for number in range(4):
        written(tmp_path, f"pod-{number}", 400, age=number * 60)
    KeptOutput(tmp_path, most_bytes=1000).prune((), NOW)
    assert listed(tmp_path) == ["pod-0", "pod-1"]
    assert sorted(one.name for one in tmp_path.glob("*_*_*")) == ["default_pod-0_uid", "default_pod-1_uid"]


def test_what_is_too_old_goes_and_what_is_alive_stays(tmp_path: Path) -> None:
    alive = written(tmp_path, "alive", 10, age=30 * DAY)
    recent, old = written(tmp_path, "recent", 10, age=6 * DAY), written(tmp_path, "old", 10, age=8 * DAY)
    KeptOutput(tmp_path, most_days=7).prune({"default_alive_uid"}, NOW)
    assert (alive.exists(), recent.exists(), old.exists()) == (True, True, False)
    assert listed(tmp_path) == ["recent"]


def test_output_is_there_after_the_pod_and_after_a_restart(tmp_path: Path) -> None:
    async def tell() -> None:
        async with local(tmp_path) as cluster:
            place(cluster, shell("a", "echo last words"), HERE)
            await finished(cluster, "a")
            cluster.delete("pods", "default", "a")
            index = tmp_path / "logs" / "index.jsonl"
            await until("it is listed", lambda: index.exists() and listed(tmp_path / "logs") == ["a"])
            [file] = json.loads(index.read_text())["files"]
            assert (tmp_path / "logs" / file).read_text().endswith(" F last words\n")
        async with local(tmp_path) as cluster:
            assert await log(cluster, tmp_path, "a") == "last words\n"
            with pytest.raises(ApiError, match='pods "b" not found'):
                await log(cluster, tmp_path, "b")
            with pytest.raises(ApiError, match="left no output of container x"):
                await log(cluster, tmp_path, "a", container="x")

    asyncio.run(tell())
