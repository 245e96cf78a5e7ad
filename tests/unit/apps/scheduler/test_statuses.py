"""Statuses are worked out when they are written, from tables that nobody is deciding with."""

import asyncio
from pathlib import Path

import pytest

from maar.apps.scheduler.statuses import ROUNDS_APART_S, Statuses
from maar.core.model.writes import SetStatus
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers
from support.kubeconfigs import written

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_nothing_is_worked_out_while_a_decision_is_made_and_then_what_was_wanted_last(
    tmp_path: Path,
) -> None:
    at_rest, worked_out = asyncio.Event(), list[str]()

    def difference(name: str) -> SetStatus | None:
        worked_out.append(name)
        return None  # nothing is different: nobody has to be asked

    unreachable = await load(written(tmp_path / "one", "https://127.0.0.1:1"))
    async with ApiServer(unreachable) as server, Writers(4) as writers:
        statuses = Statuses(server, writers, lambda _: None, lambda *_: None, WriteFailures(), at_rest)
        statuses.want("PodGroup", "a/g", lambda: difference("old"))
        statuses.want("PodGroup", "a/h", lambda: difference("other"))
        await asyncio.sleep(0.05)
        assert worked_out == []
        statuses.want("PodGroup", "a/g", lambda: difference("new"))
        at_rest.set()
        await writers.idle()
        assert worked_out == ["new", "other"]
        statuses.want("PodGroup", "a/g", lambda: difference("again"))
        await writers.idle()
        assert worked_out == ["new", "other", "again"]


async def test_queues_are_written_in_rounds_so_that_their_shares_are_of_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ROUNDS_APART_S, "Queue", 0.3)
    at_rest, worked_out = asyncio.Event(), list[list[str]]()
    at_rest.set()

    def want(name: str) -> None:
        statuses.want("Queue", name, lambda: worked_out[-1].append(name))

    unreachable = await load(written(tmp_path / "one", "https://127.0.0.1:1"))
    async with ApiServer(unreachable) as server, Writers(4) as writers:
        statuses = Statuses(server, writers, lambda _: None, lambda *_: None, WriteFailures(), at_rest)
        for names in (["root", "parent"], ["child"], ["child", "parent"]):
            worked_out.append([])
            for name in names:
                want(name)
            await asyncio.sleep(0.05)
        assert worked_out == [["root", "parent"], [], []]  # the first at once, the others together
        await asyncio.sleep(0.4)
        assert worked_out == [["root", "parent"], [], ["child", "parent"]]
