"""A condition that waits for its turn is not written once its pod is being bound."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maar.apps.scheduler.pod_conditions import PodConditions
from maar.core.model.plan import GroupOutcome
from maar.core.model.reasons import Reason, Refusal
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done, Outcome
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers
from support.kubeconfigs import written
from support.rows import Rows

pytestmark = pytest.mark.anyio

FULL = GroupOutcome(phase="Inqueue", refusal=Refusal(reason=Reason.NOT_ENOUGH_RESOURCES), message="full")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_condition_in_the_queue_is_left_out_when_its_pod_is_bound(tmp_path: Path) -> None:
    pod, missed, released = Rows().pod(), list[str](), asyncio.Event()

    async def busy() -> Outcome:
        await released.wait()
        return Done(b"")

    unreachable = await load(written(tmp_path / "one", "https://127.0.0.1:1"))
    async with ApiServer(unreachable) as server, Writers(1) as writers:
        failures = WriteFailures()
        conditions = PodConditions(server, writers, failures, lambda *place: missed.append(place[1]))
        writers.submit("something else", busy, lambda _: None)
        assert conditions.write_for_pod(pod, FULL, datetime.now(UTC))
        conditions.forget([pod.key])
        released.set()
        await writers.idle()
    assert missed == []
    assert failures.standing() == {}, "no request was made"
