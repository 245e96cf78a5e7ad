"""What `kubectl logs` gets: of virtual pods a short made-up log, of local ones what they said."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError
from maar.embedded.nodes.container_supervisor import Log
from maar.embedded.nodes.log_files import read_log
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.nodes.virtual import VirtualNodes
from support.local_node import HERE, local, log, reported, shell
from support.node_cluster import Clock, Fields, embedded, pass_time, place, pod, settle

RUN_FOR, EXIT_CODE = "maar.sh/run-for", "maar.sh/exit-code"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(tmp_path: Path, clock: Clock) -> Iterator[Cluster]:
    with embedded(tmp_path, "1x8cpu,32Gi", clock=clock) as made:
        yield made


def read(cluster: Cluster, name: str, query: Mapping[str, str] | None = None) -> str:
    async def all_of_it() -> bytes:
        chunks = await PodLogs(cluster, Path("nowhere")).read("default", name, query or {})
        return b"".join([chunk async for chunk in chunks])

    return asyncio.run(all_of_it()).decode()


def refusal(cluster: Cluster, name: str, query: Mapping[str, str] | None = None) -> tuple[int, str]:
    with pytest.raises(ApiError) as caught:
        read(cluster, name, query)
    return caught.value.code, caught.value.message


def test_a_virtual_pod_says_when_it_starts_and_ends(cluster: Cluster, clock: Clock) -> None:
    nodes = VirtualNodes(cluster, clock)
    place(cluster, pod("a", {RUN_FOR: "30s", EXIT_CODE: "2"}))
    pass_time(clock, nodes, 10)
    assert read(cluster, "a") == "started on virtual node node-1, runs for 30s\n"
    pass_time(clock, nodes, 20)
    started, ended = "2027-01-15T08:00:00.000000000Z", "2027-01-15T08:00:30.000000000Z"
    whole = f"{started} started on virtual node node-1, runs for 30s\n{ended} ended with exit code 2\n"
    assert read(cluster, "a", {"timestamps": "true"}) == whole
    assert read(cluster, "a", {"tailLines": "1"}) == "ended with exit code 2\n"
    assert read(cluster, "a", {"tailLines": "0"}) == ""
    assert read(cluster, "a", {"sinceTime": "2027-01-15T09:00:10+01:00"}) == "ended with exit code 2\n"
    assert read(cluster, "a", {"sinceSeconds": "1"}) == "ended with exit code 2\n"
    assert read(cluster, "a", {"limitBytes": "7", "follow": "true"}) == "started"


def test_the_log_before_the_last_restart_can_be_had(cluster: Cluster, clock: Clock) -> None:
    nodes = VirtualNodes(cluster, clock)
    place(cluster, pod("a", {RUN_FOR: "5s", EXIT_CODE: "1"}, restartPolicy="OnFailure"))
    settle(nodes)
    message = 'previous terminated container "main" in pod "a" not found'
    assert refusal(cluster, "a", {"previous": "true"}) == (400, message)
    pass_time(clock, nodes, 6)
    assert read(cluster, "a", {"previous": "true"}).endswith("\nended with exit code 1\n")
    assert read(cluster, "a") == "started on virtual node node-1, runs for 5s\n"
    pass_time(clock, nodes, 6)  # it waits for its second restart
    assert read(cluster, "a").endswith("\nended with exit code 1\n")


def test_errors_are_kubernetes(cluster: Cluster, clock: Clock) -> None:
    two = [{"name": name, "image": "x"} for name in ("one", "two")]
    early, nodes = [{"name": "early", "image": "x"}], VirtualNodes(cluster, clock)
    assert refusal(cluster, "none") == (404, 'pods "none" not found')
    cluster.create("pods", "default", pod("unbound"))
    assert read(cluster, "unbound") == ""
    place(cluster, pod("pair", containers=two, initContainers=early))
    place(cluster, pod("big", cpu="64"))
    message = 'container "two" in pod "pair" is waiting to start: ContainerCreating'
    assert refusal(cluster, "pair", {"container": "two"}) == (400, message)
    settle(nodes)
    assert refusal(cluster, "pair") == (
        400,
        (
            "a container name must be specified for pod pair, choose one of: [one two]"
            " or one of the init containers: [early]"
        ),
    )
    assert refusal(cluster, "pair", {"container": "x"}) == (400, "container x is not valid for pod pair")
    assert read(cluster, "pair", {"container": "early"}).endswith("ended with exit code 0\n")
    assert refusal(cluster, "big") == (400, 'container "main" in pod "big" is not available')


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ({"tailLines": "-1"}, 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, 422, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "1", "sinceTime": "2027-01-15T08:00:00Z"}, 422, "at most one of"),
        ({"tailLines": "many"}, 400, "tailLines: 'many' is not a whole number"),
        ({"sinceTime": "yesterday"}, 400, "sinceTime: 'yesterday' is not a time"),
        ({"follow": "perhaps"}, 400, "follow: 'perhaps' is not a truth value"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    cluster: Cluster, query: dict[str, str], code: int, message: str
) -> None:
    place(cluster, pod("a"))
    refused = refusal(cluster, "a", query)
    assert refused[0] == code
    assert message in refused[1]


def test_following_a_log_ends_with_the_container(tmp_path: Path) -> None:
    script = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two"

    async def tell() -> None:
        async with local(tmp_path) as cluster:
            value: Fields = shell("a", script, {"workingDir": str(tmp_path)})
            place(cluster, value, HERE)
            await reported(cluster, tmp_path, "a")
            chunks = await PodLogs(cluster, tmp_path).read("default", "a", {"follow": "true"})
            assert await anext(chunks) == b"one\n"
            (tmp_path / "go").touch()
            assert [chunk async for chunk in chunks] == [b"two\n"]
            assert await log(cluster, tmp_path, "a", tailLines="1") == "two\n"

    asyncio.run(tell())


LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" ")), max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=LINES, rest=st.binary(max_size=5), cuts=st.lists(st.integers(1, 30)), tail=st.integers(0, 50))
def test_a_log_says_what_was_said_byte_by_byte(
    tmp_path: Path, lines: list[bytes], rest: bytes, cuts: list[int], tail: int
) -> None:
    reported_ = b"".join(line + b"\n" for line in lines) + rest.replace(b"\n", b" ")
    path = tmp_path / "0.log"
    for old in tmp_path.glob("0.log*"):
        old.unlink()
    writer, left = Log(path, 1 << 20), reported_
    for cut in cuts:
        writer.write(left[:cut])
        left = left[cut:]
    writer.write(left)
    writer.close()

    async def text(last: int | None) -> bytes:
        chunks = [chunk async for chunk in read_log(path, last, lambda: True)]
        found = b"".join(chunks).split(b"\n")[:-1]
        return b"".join(line[33:] + (b"\n" if line[31:32] == b"F" else b"") for line in found)

    assert asyncio.run(text(None)) == reported_
    *ended, unended = reported_.split(b"\n")
    whole = [line + b"\n" for line in ended] + ([unended] if unended else [])
    assert asyncio.run(text(tail)) == b"".join(whole[max(0, len(whole) - tail) :])


def test_a_log_is_bounded_and_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    writer = Log(path, 50_000)
    for number in range(2000):
        writer.write(b"line %d\n" % number)
    writer.write(b"x" * 40_000)
    writer.close()
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) < 2 * 50_000 + 45_000

    async def tail(lines: int) -> list[bytes]:
        chunks = [chunk async for chunk in read_log(path, lines, lambda: True)]
        return b"".join(chunks).split(b"\n")[:-1]

    assert [len(line) - 33 for line in asyncio.run(tail(3))] == [16384, 16384, 7232]
    assert asyncio.run(tail(4))[0].endswith(b" F line 1999")
