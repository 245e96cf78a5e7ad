"""Whatever is sent to the embedded server, there is a Status, soon, and in bounded memory."""

import asyncio
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from properties.hostile_requests import TARGETS, HostileRequests
from properties.how_many import cases
from properties.large_bodies import LARGE, LARGE_PATCHES, large_requests
from support.cost import Cost, Measured
from support.hostile_text import LONG_YAML
from support.in_process_server import Answer, InProcessServer, Sent, sent

pytestmark = pytest.mark.usefixtures("others_frozen")

HOW_MANY = int(os.environ.get("MAAR_FUZZ", cases(3000)))  # make fuzz sends 100000, which takes some minutes
FRESH_AFTER = 1_000  # requests: what was accepted makes the cluster stranger from one to the next
MOST_FOR_A_BYTE = 5  # times what a byte of a good object costs
SPARE = 40_000  # bytes more, as which any one request may cost
SPARE_AT_THE_MEAN = 1_000
MOST_FOR_ONE = 100 << 20  # bytes, while a request is served
MOST_GROWTH = 400 << 20  # bytes; the history of changes may take 128 MiB of them
MOST_FOR_LARGE = 250 << 20  # bytes, on the way to the answer to one body of up to 3 MiB
LARGEST_ANSWER = 8 << 20
KEPT = "kept"  # a namespace that no request names
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


class World(InProcessServer):
    """A server with good objects, of which some must stay as they are."""

    async def prepare(self) -> Cost:
        """Put good objects there for requests to spoil, and give what a byte of them costs."""
        size = 0
        with Measured() as measured:
            for request in self._good():
                size += len(request.body)
                await self.send(request)
        self.settle()
        return measured.cost * (1 / size)

    def _good(self) -> Iterator[Sent]:
        for target in TARGETS:
            if target.namespaced:
                yield sent("DELETE", target.path(), query="gracePeriodSeconds=0")
        for name in ("q1", "q2", "q3"):
            yield sent("POST", QUEUES, {"metadata": {"name": name}})
        for target in TARGETS:
            for name in ("t0", "t1", "t2"):
                yield sent("POST", target.path(), {**target.good, "metadata": {"name": name}})

    async def keep(self) -> None:
        """Create what must stay as it is."""
        await self.send(sent("POST", "/api/v1/namespaces", {"metadata": {"name": KEPT}}))
        for target in TARGETS:
            if target.namespaced and target.plural not in ("bindings", "events"):
                body = {**target.good, "metadata": {"name": "k"}}
                answer = await self.send(sent("POST", target.path(namespace=KEPT), body))
                assert answer.code == 201, answer.body

    def settle(self) -> None:
        """Let the controllers do all that there is to do now."""
        while self.rounds.turn() == 0.0:
            pass

    def kept(self) -> dict[str, list[tuple[str, bytes]]]:
        """What is in the namespace that must stay as it is, byte by byte."""
        return {
            plural: [(name, body) for _, name, body in self.store.page(plural, KEPT)]
            for plural, served in self.cluster.served.items()
            if served.resource.namespaced
        }


def test_whatever_is_sent_there_is_a_status(
    seed: int,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    record_property("seed", seed)
    world, requests, trial_counts = World(tmp_path), HostileRequests(seed), Counter[int]()
    total, size = Cost(), 0

    async def fuzz() -> None:
        nonlocal total, size
        byte = await world.prepare()
        await world.keep()
        world.settle()
        before, memory, most = world.kept(), 0, 0
        for number in range(HOW_MANY):
            if number % FRESH_AFTER == 0:
                byte = max(byte, await world.prepare())
            if number == min(FRESH_AFTER, HOW_MANY // 3):
                memory = forget_peak()
            request = requests.next()  # making it may take more memory than the server ever does
            resident = forget_peak()
            with Measured() as measured:
                answer = await world.send(request)
            most = max(most, peak() - resident)
            total, size = total + measured.cost, size + length(request)
            check(request, answer)
            is_soon(measured.cost, byte, length(request) + SPARE, request)
            trial_counts[answer.code] += 1
        is_soon(total, byte, size + HOW_MANY * SPARE_AT_THE_MEAN, request)
        assert most < MOST_FOR_ONE, f"{most >> 20} MiB for one request"
        assert forget_peak() - memory < MOST_GROWTH
        assert world.kept() == before

    try:
        with caplog.at_level(logging.WARNING):
            asyncio.run(fuzz())
    finally:
        world.close()
    assert [one.getMessage() for one in caplog.records if one.exc_info] == []
    done = sum(count for code, count in trial_counts.items() if code < 300)
    record_property(
        "counts",
        f"{HOW_MANY} requests, {done} carried out, {HOW_MANY - done} refused with {len(trial_counts)} codes",
    )
    assert done > HOW_MANY // 10
    assert HOW_MANY - done > HOW_MANY // 10


@pytest.mark.parametrize("case", [*LARGE, *LARGE_PATCHES, *LONG_YAML])
def test_a_large_body_is_answered_soon_and_shortly(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)

    async def run() -> None:
        byte = await world.prepare()
        for request in large_requests(case):
            memory = forget_peak()
            with Measured() as measured:
                answer = await world.send(request)
            is_soon(measured.cost, byte, length(request) + SPARE, request)
            assert peak() - memory < MOST_FOR_LARGE, f"{request.form}: {(peak() - memory) >> 20} MiB"
            check(request, answer)

    try:
        with caplog.at_level(logging.WARNING):
            asyncio.run(run())
    finally:
        world.close()
    assert [one.getMessage() for one in caplog.records if one.exc_info] == []


def is_soon(cost: Cost, byte: Cost, size: int, request: Sent) -> None:
    """So many bytes cost about what they do in good objects."""
    beside = cost.times(byte * size)
    asked = f"{request.form} {request.method} {request.path[:100]} {request.body[:200]!r}"
    assert beside < MOST_FOR_A_BYTE, f"{asked} costs {beside:.0f} times as much as good objects"


def length(request: Sent) -> int:
    """All that somebody sent."""
    return len(request.path) + len(request.query) + len(request.body)


def check(request: Sent, answer: Answer) -> None:
    """A refusal is a Status that says what is wrong; no answer is much larger than what was asked."""
    asked = f"{request.method} {request.path[:100]}?{request.query[:100]} {request.body[:300]!r}"
    reported = f"{asked}: {answer.body[:300]!r}"
    assert len(answer.headers) < 10_000, reported
    assert len(answer.body) < LARGEST_ANSWER, reported
    if answer.code < 300:
        return
    status = json.loads(answer.body)
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.code), reported
    assert status["message"], reported
    # Kubernetes answers some bad patches with 500 and no reason, and so do we: see refusals.unexpected.
    assert answer.code < 500 or (answer.code == 500 and "reason" not in status), reported


def forget_peak() -> int:
    """Let the most memory of this process be what it has now, which is given, in bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak()


def peak() -> int:
    """The most memory that this process has had since, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) << 10
