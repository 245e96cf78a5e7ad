"""Virtual nodes over restarts, with many pods, and on a real clock."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.durations import BadDurationError, seconds
from maar.core.model.resources import Resources
from maar.embedded.nodes.node_capacity import NodeCapacity
from maar.embedded.nodes.virtual import VirtualNodes
from maar.embedded.store import Change
from support.node_cluster import Clock, embedded, pass_time, place, pod, seen, settle
from support.until import TIMEOUT_S

RUN_FOR, EXIT_CODE = "maar.sh/run-for", "maar.sh/exit-code"
CROWD = 1000


def woken(clock: Clock, nodes: VirtualNodes) -> VirtualNodes:
    for _ in nodes.read_pods():
        pass
    pass_time(clock, nodes, 0)
    return nodes


def test_pods_go_on_where_they_were_when_the_server_was_killed(tmp_path: Path) -> None:
    clock = Clock()
    with embedded(tmp_path, "1x8cpu,32Gi", clock=clock) as cluster:
        nodes = woken(clock, VirtualNodes(cluster, clock))
        place(cluster, pod("short", {RUN_FOR: "60s"}))
        place(cluster, pod("long", {RUN_FOR: "120s"}))
        place(cluster, pod("failing", {RUN_FOR: "10s", EXIT_CODE: "1"}, restartPolicy="OnFailure"))
        pass_time(clock, nodes, 25)  # the one that fails waits since 20 s, until 30 s
        place(cluster, pod("unseen", cpu="6"))  # nobody looks at it before the end
    clock.now += 4
    with embedded(tmp_path, clock=clock) as cluster:
        nodes = woken(clock, VirtualNodes(cluster, clock))
        assert seen(cluster, "unseen")["reason"] == "OutOfcpu"
        assert seen(cluster, "failing")["containerStatuses"][0]["restartCount"] == 1
        pass_time(clock, nodes, 1)
        assert seen(cluster, "failing")["containerStatuses"][0]["restartCount"] == 2
        pass_time(clock, nodes, 29)
        assert seen(cluster, "short")["phase"] == "Running"
        pass_time(clock, nodes, 1)
        assert seen(cluster, "short")["phase"] == "Succeeded"
    clock.now += 3600
    with embedded(tmp_path, clock=clock) as cluster:
        woken(clock, VirtualNodes(cluster, clock))
        assert seen(cluster, "long")["phase"] == "Succeeded"


def test_a_crowd_of_pods_ends_each_at_its_time(tmp_path: Path) -> None:
    clock, rng = Clock(), random.Random(1)
    lengths = {f"p{number}": rng.randint(0, 100_000) for number in range(CROWD)}
    ends: dict[str, float] = {}
    with embedded(tmp_path, f"{CROWD // 100}x100cpu,1Ti", clock=clock) as cluster:
        nodes = woken(clock, VirtualNodes(cluster, clock))
        with cluster.store.transaction():
            for number, (name, length) in enumerate(lengths.items()):
                place(cluster, pod(name, {RUN_FOR: f"{length}s"}), f"node-{number % (CROWD // 100) + 1}")
        started = clock.now

        def note(change: Change) -> None:
            if b'"phase":"Succeeded"' in change.body:
                ends[change.key.name] = clock.now - started

        cluster.store.listen(note)
        pass_time(clock, nodes, 100_000)
    assert ends == lengths


def test_no_turn_keeps_others_waiting(tmp_path: Path) -> None:
    with embedded(tmp_path, "10x1000cpu,1Ti,1000pods") as cluster:
        nodes = woken(Clock(), VirtualNodes(cluster))
        with cluster.store.transaction():
            for number in range(500):
                place(cluster, pod(f"p{number}"), f"node-{number % 10 + 1}")
        turns = 0
        while not nodes.step():
            turns += 1
        assert {one["status"]["phase"] for one in cluster.all("pods")} == {"Running"}  # type: ignore[index]  # JSON
        assert turns > 3  # a pod takes far more than a hundredth of a millisecond


def test_it_all_happens_by_itself_on_a_real_clock(tmp_path: Path) -> None:
    async def story() -> list[object]:
        with embedded(tmp_path, "1x8cpu,32Gi") as cluster:
            kubelet = asyncio.create_task(VirtualNodes(cluster).run())
            await asyncio.sleep(0)
            place(cluster, pod("a", {RUN_FOR: "300ms"}))
            phases = [seen(cluster, "a")["phase"]]
            with cluster.history.watch("pods", cluster.store.revision) as news:
                while phases[-1] != "Succeeded":
                    assert await news.next(TIMEOUT_S), phases
                    phases += [now for now in [seen(cluster, "a")["phase"]] if now != phases[-1]]
            kubelet.cancel()
            with suppress(asyncio.CancelledError):
                await kubelet
            return phases

    assert asyncio.run(story())[-2:] == ["Running", "Succeeded"]


def test_a_node_that_somebody_creates_with_our_label_becomes_ready(tmp_path: Path) -> None:
    clock = Clock()
    with embedded(tmp_path, clock=clock) as cluster:
        nodes = woken(clock, VirtualNodes(cluster, clock))
        amounts = {"cpu": "4", "memory": "8Gi"}
        labels = {"maar.sh/node": "virtual", "disk": "fast"}
        cluster.create(
            "nodes", "", {"metadata": {"name": "mine", "labels": labels}, "status": {"allocatable": amounts}}
        )
        cluster.create("nodes", "", {"metadata": {"name": "theirs"}, "status": {"allocatable": amounts}})
        place(cluster, pod("a"), "mine")
        place(cluster, pod("b"), "theirs")
        settle(nodes)
        made = cluster.read("nodes", "", "mine")
        assert made is not None
        ready = {one["type"]: one["status"] for one in made["status"]["conditions"]}  # type: ignore[index]  # JSON
        assert ready["Ready"] == "True"
        assert made["metadata"]["labels"]["disk"] == "fast"  # type: ignore[index]  # JSON
        assert made["metadata"]["labels"]["kubernetes.io/hostname"] == "mine"  # type: ignore[index]  # JSON
        assert seen(cluster, "a")["phase"] == "Running"
        assert seen(cluster, "b")["phase"] == "Pending"  # no kubelet of ours


AMOUNTS = st.dictionaries(st.sampled_from(["pods", "cpu", "memory", "example.com/x"]), st.integers(0, 20))


@given(st.lists(st.tuples(st.integers(0, 5), AMOUNTS), max_size=30))
def test_the_running_total_is_the_sum_of_what_is_there(steps: list[tuple[int, dict[str, int]]]) -> None:
    allocatable = Resources({"pods": 3, "cpu": 20, "memory": 30})
    capacity, there = NodeCapacity(allocatable), dict[str, dict[str, int]]()
    for number, amounts in steps:
        uid = str(number)
        if uid in there:
            capacity.give_back(uid)
            del there[uid]
            continue
        short = {
            name
            for name, units in amounts.items()
            if units and units + sum(one.get(name, 0) for one in there.values()) > allocatable.get(name, 0)
        }
        shortage = capacity.shortage(Resources(amounts))
        assert (shortage.resource in short) if shortage else not short
        if shortage is None:
            capacity.take(uid, Resources(amounts))
            there[uid] = amounts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0.0),
        ("30s", 30.0),
        ("1h2m3s", 3723.0),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("2us", 2e-6),
    ],
)
def test_durations_are_gos(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "s", "1d", "-1s", "1s ", "1e3s", "1h 2m", "9" * 63 + "h", "٣s"])
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(BadDurationError):
        seconds(text)
