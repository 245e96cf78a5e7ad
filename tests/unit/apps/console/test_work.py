"""Answers that take long: a few at a time, a sentence for whoever comes too many, an end for all."""

import asyncio
import threading
import time
from http import HTTPStatus

import pytest

from maar.apps.console.answers import work
from maar.apps.console.answers.work import AT_A_TIME, IsWanted, in_thread
from maar.apps.console.replies import RefusedError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_event_loop_goes_on_meanwhile() -> None:
    ticks = 0

    def busy(_: IsWanted) -> int:
        time.sleep(0.3)
        return 7

    answer = asyncio.create_task(in_thread(busy))
    while not answer.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert (await answer, ticks > 5) == (7, True)


async def test_no_more_than_a_few_at_a_time_and_the_others_hear_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "WAIT_S", 0.2)
    release, running, most = threading.Event(), list[int](), list[int]()

    def busy(_: IsWanted) -> None:
        running.append(1)
        most.append(len(running))
        release.wait(10)
        running.pop()

    tasks = [asyncio.create_task(in_thread(busy)) for _ in range(AT_A_TIME)]
    await asyncio.sleep(0.1)
    with pytest.raises(RefusedError, match="busy") as refused:
        await in_thread(busy)
    assert refused.value.status == HTTPStatus.SERVICE_UNAVAILABLE
    release.set()
    await asyncio.gather(*tasks)
    assert max(most) == AT_A_TIME
    await in_thread(lambda _: None)  # there is a turn again


async def test_what_takes_too_long_is_told_so_and_stops() -> None:
    ended = threading.Event()

    def endless(is_wanted: IsWanted) -> None:
        while is_wanted():
            time.sleep(0.01)
        ended.set()

    with pytest.raises(RefusedError, match="no answer within") as refused:
        await in_thread(endless, 0.1)
    assert refused.value.status == HTTPStatus.GATEWAY_TIMEOUT
    assert await asyncio.to_thread(ended.wait, 5)


async def test_an_error_reaches_whoever_asked_and_gives_the_turn_back() -> None:
    def fails(_: IsWanted) -> None:
        raise ValueError("bad")

    for _ in range(AT_A_TIME + 1):
        with pytest.raises(ValueError, match="bad"):
            await in_thread(fails)
