"""Batches of changed rows: numbered, kept up to a bound, and the same bytes for all pages."""

import asyncio
import json
from typing import Any

import pytest

from maar.apps.console import row_stream
from maar.apps.console.row_stream import RowStream
from maar.core.views.console.live_rows import TOPICS, RowChanges, Topic
from support.until import TIMEOUT_S


def change(stream: RowStream, topic: Topic, *rows: str, gone: tuple[str, ...] = ()) -> int:
    stream.publish({topic: RowChanges([json.dumps({"name": row}).encode() for row in rows], list(gone))})
    return stream.version


def read(events: bytes | None) -> list[dict[str, Any]]:
    assert events is not None
    data = [line for line in events.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in data]


def test_a_page_gets_what_came_after_what_it_has() -> None:
    stream = RowStream()
    began = stream.version
    first = change(stream, "queues", "a", "b")
    second = change(stream, "jobs", gone=("x/y",))
    assert read(stream.after(began, TOPICS)) == [
        {"version": first, "queues": {"rows": [{"name": "a"}, {"name": "b"}], "gone": []}},
        {"version": second, "jobs": {"rows": [], "gone": ["x/y"]}},
    ]
    assert [one["version"] for one in read(stream.after(first, TOPICS))] == [second]
    assert [one["version"] for one in read(stream.after(began, ("jobs",)))] == [second]
    assert stream.after(second, TOPICS) == b""


def test_pages_that_look_at_the_same_get_the_same_bytes() -> None:
    stream = RowStream()
    began = stream.version
    change(stream, "queues", "a")
    assert stream.after(began, TOPICS) is stream.after(began, TOPICS)


def test_what_is_no_longer_kept_or_never_was_has_to_be_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_stream, "MOST_BYTES", 200)
    stream = RowStream()
    began = stream.version
    versions = [change(stream, "queues", "x" * 40) for _ in range(5)]
    assert stream.after(began, TOPICS) is None
    assert stream.after(versions[0], TOPICS) is None
    assert [one["version"] for one in read(stream.after(versions[-2], TOPICS))] == versions[-1:]
    assert stream.after(versions[-1] + 1, TOPICS) is None
    assert stream.after(0, TOPICS) is None


def test_a_restart_concerns_every_page() -> None:
    stream = RowStream()
    had = change(stream, "queues", "a")
    stream.restart()
    assert stream.after(had, TOPICS) is None
    assert stream.after(stream.version, TOPICS) == b""


@pytest.mark.anyio
async def test_news_wake_whoever_waits() -> None:
    stream = RowStream()
    await stream.news(0.01)
    waiting = stream.news(30.0)
    task = asyncio.create_task(waiting)
    await asyncio.sleep(0)
    change(stream, "queues", "a")
    await asyncio.wait_for(task, TIMEOUT_S)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
