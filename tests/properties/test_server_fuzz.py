"""Whatever is sent to the embedded server, there is a Status, soon, and in bounded memory."""

import asyncio
import json
import logging
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from properties.hostile_requests import TARGETS, HostileRequests
from properties.large_bodies import LARGE, LARGE_PATCHES, large_requests
from support.hostile_text import LONG_YAML
from support.in_process_server import Answer, InProcessServer, Sent, sent

pytestmark = pytest.mark.usefixtures("others_frozen")

HOW_MANY = int(os.environ.get("MAAR_FUZZ", "3000"))  # make fuzz sends 100000, which takes some minutes
FRESH_AFTER = 1_000  # requests: what was accepted makes the cluster stranger from one to the next
LONGEST_SECONDS = 2.0  # of the processor, for one request
LONGEST_FOR_LARGE_SECONDS = 6.0
LONGEST_MEAN_SECONDS = 0.02
MOST_FOR_ONE = 100 << 20  # bytes, while a request is served
MOST_GROWTH = 400 << 20  # bytes; the history of changes may take 128 MiB of them
MOST_FOR_LARGE = 250 << 20  # bytes, on the way to the answer to one body of up to 3 MiB
LARGEST_ANSWER = 8 << 20
KEPT = "kept"  # a namespace that no request names
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


class World(InProcessServer):
    """A server with good objects, of which some must stay as they are."""

    async def prepare(self) -> None:
        """Put good objects there for requests to spoil, instead of what is left of those before."""
        for target in TARGETS:
            if target.namespaced:
                await self.send(sent("DELETE", target.path(), query="gracePeriodSeconds=0"))
        for name in ("q1", "q2", "q3"):
            await self.send(sent("POST", QUEUES, {"metadata": {"name": name}}))
        for target in TARGETS:
            for name in ("t0", "t1", "t2"):
                await self.send(sent("POST", target.path(), {**target.good, "metadata": {"name": name}}))
        self.settle()

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
    slowest = total = 0.0

    async def fuzz() -> None:
        nonlocal slowest, total
        await world.prepare()
        await world.keep()
        world.settle()
        before, memory, most = world.kept(), 0, 0
        for number in range(HOW_MANY):
            if number % FRESH_AFTER == 0:
                await world.prepare()
            if number == min(FRESH_AFTER, HOW_MANY // 3):
                memory = forget_peak()
            request = requests.next()  # making it may take more memory than the server ever does
            resident, begin = forget_peak(), process_time()
            answer = await world.send(request)
            seconds, most = process_time() - begin, max(most, peak() - resident)
            slowest, total = max(slowest, seconds), total + seconds
            check(request, answer)
            assert seconds < LONGEST_SECONDS, f"{request.method} {request.path[:100]} {request.body[:200]!r}"
            trial_counts[answer.code] += 1
        assert most < MOST_FOR_ONE, f"{most >> 20} MiB for one request"
        assert forget_peak() - memory < MOST_GROWTH
        assert world.kept() == before

    try:
        with caplog.at_level(logging.WARNING):
            asyncio.run(fuzz())
    finally:
        world.close()
    assert [one.getMessage() for one in caplog.records if one.exc_info] == []
    assert total / HOW_MANY < LONGEST_MEAN_SECONDS
    done = sum(count for code, count in trial_counts.items() if code < 300)
    record_property(
        "counts",
        f"{HOW_MANY} requests, {done} carried out, {HOW_MANY - done} refused with {len(trial_counts)} codes,"
        f" the slowest in {slowest * 1000:.0f} ms",
    )
    assert done > HOW_MANY // 10
    assert HOW_MANY - done > HOW_MANY // 10


@pytest.mark.parametrize("case", [*LARGE, *LARGE_PATCHES, *LONG_YAML])
def test_a_large_body_is_answered_soon_and_shortly(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)

    async def run() -> None:
        await world.prepare()
        for request in large_requests(case):
            memory, begin = forget_peak(), process_time()
            answer = await world.send(request)
            assert process_time() - begin < LONGEST_FOR_LARGE_SECONDS, request.form
            assert peak() - memory < MOST_FOR_LARGE, f"{request.form}: {(peak() - memory) >> 20} MiB"
            check(request, answer)

    try:
        with caplog.at_level(logging.WARNING):
            asyncio.run(run())
    finally:
        world.close()
    assert [one.getMessage() for one in caplog.records if one.exc_info] == []


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
