"""Many writes at a time: bounded, in order for each object, and none waits for another's object."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from maar.kube.outcome import Done, Outcome
from maar.kube.writers import Writers

pytestmark = pytest.mark.anyio


class Line:
    """Carries out writes one step at a time, as the test lets it."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}

    def write(self, name: str) -> Callable[[], Awaitable[Outcome]]:
        """A write that ends when it is let."""
        self._gates[name] = asyncio.Event()
        return partial(self._write, name)

    async def finish(self, name: str) -> None:
        """Let a write end, and what comes after it start."""
        self._gates[name].set()
        for _ in range(5):
            await asyncio.sleep(0)

    async def _write(self, name: str) -> Outcome:
        self.started.append(name)
        await self._gates[name].wait()
        return Done(name.encode())


async def test_writes_to_one_object_come_in_order_and_others_do_not_wait() -> None:
    line, outcomes = Line(), list[Outcome]()
    async with Writers(8) as writers:
        for key, name in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3")):
            writers.submit(key, line.write(name), outcomes.append)
        await asyncio.sleep(0)
        assert line.started == ["a1", "b1"]
        assert writers.waiting == 4
        await line.finish("b1")
        await line.finish("a1")
        assert line.started == ["a1", "b1", "a2"]
        await line.finish("a2")
        await line.finish("a3")
        await writers.idle()
        assert outcomes == [Done(name) for name in (b"b1", b"a1", b"a2", b"a3")]
        assert writers.waiting == 0


async def test_no_more_are_under_way_than_may_be() -> None:
    line, outcomes = Line(), list[Outcome]()
    async with Writers(2) as writers:
        for name in "abcd":
            writers.submit(name, line.write(name), outcomes.append)
        await asyncio.sleep(0)
        assert line.started == ["a", "b"]
        await line.finish("b")
        assert line.started == ["a", "b", "c"]
        for name in "acd":
            await line.finish(name)
        await writers.idle()
        assert len(outcomes) == 4


async def test_an_outcome_may_ask_for_more() -> None:
    reported: list[bytes] = []

    async def write(text: bytes) -> Outcome:
        return Done(text)

    async with Writers(1) as writers:

        def again(outcome: Outcome) -> None:
            assert isinstance(outcome, Done)
            reported.append(outcome.body)
            if len(reported) < 3:
                writers.submit("a", partial(write, outcome.body + b"!"), again)

        writers.submit("a", partial(write, b"x"), again)
        await writers.idle()
    assert reported == [b"x", b"x!", b"x!!"]


async def test_a_bug_in_a_write_ends_them_all() -> None:
    async def broken() -> Outcome:
        raise ZeroDivisionError

    async def write() -> None:
        async with Writers(2) as writers:
            writers.submit("a", broken, list[Outcome]().append)
            await writers.idle()

    with pytest.raises(ExceptionGroup) as failure:
        await write()
    assert failure.group_contains(ZeroDivisionError)


async def test_leaving_early_leaves_the_rest_undone() -> None:
    line, outcomes = Line(), list[Outcome]()
    async with Writers(1) as writers:
        for name in "ab":
            writers.submit(name, line.write(name), outcomes.append)
        await asyncio.sleep(0)
    assert line.started == ["a"]
    assert outcomes == []


async def test_those_who_stand_behind_others_go_on_a_few_at_a_time() -> None:
    line, outcomes = Line(), list[Outcome]()
    async with Writers(2) as first, Writers(4, behind=first, meanwhile=1) as behind:
        first.submit("bind", line.write("bind"), outcomes.append)
        for name in "abcd":
            behind.submit(name, line.write(name), outcomes.append)
        await asyncio.sleep(0)
        assert line.started == ["bind", "a"]
        await line.finish("a")
        assert line.started == ["bind", "a", "b"], "some go on: nobody is kept from the word for ever"
        await line.finish("bind")
        assert line.started == ["bind", "a", "b", "c", "d"]
        for name in "bcd":
            await line.finish(name)
        await behind.idle()
        assert len(outcomes) == 5
        first.submit("bind", line.write("again"), outcomes.append)
        for name in "efgh":  # they had nothing to do until now
            behind.submit(name, line.write(name), outcomes.append)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(line.started) == 5 + 2, "one beside the bind, and it is no matter which"
        await line.finish("again")
        for name in "efgh":
            await line.finish(name)
        await behind.idle()
        assert len(outcomes) == 10


async def test_writes_of_one_object_never_overtake_each_other_whoever_writes_them() -> None:
    line, outcomes = Line(), list[Outcome]()
    async with Writers(2) as first, Writers(2, behind=first, meanwhile=2) as behind:
        behind.submit("p", line.write("condition"), outcomes.append)
        await asyncio.sleep(0)
        first.submit("p", line.write("bind"), outcomes.append)
        first.submit("q", line.write("another"), outcomes.append)
        await line.finish("another")
        assert line.started == ["condition", "another"]
        await line.finish("condition")
        assert line.started == ["condition", "another", "bind"]
        behind.submit("p", line.write("late"), outcomes.append)
        await asyncio.sleep(0)
        assert "late" not in line.started
        await line.finish("bind")
        await line.finish("late")
        await behind.idle()
    assert outcomes == [Done(one) for one in (b"another", b"condition", b"bind", b"late")]
