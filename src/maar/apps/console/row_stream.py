"""Row changes as numbered batches: encoded once, sent to all pages of one viewer.

How it works. `publish` gives the changed rows of a moment the next number and keeps them, up to a
bound of bytes. A page that has all up to a number asks for what came after it; where that is no
longer kept, it has to read all rows again. No page has a queue of its own here: one that reads
slowly finds its place lost, and costs no memory. Numbers begin at the time of the clock, so that
those of an earlier process are known as old.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from maar.core.views.console.live_rows import RowChanges, Topic

MOST_BYTES: Final = 4 << 20


class Batch(NamedTuple):
    """The changes of one moment, as JSON by topic."""

    version: int
    topics: Mapping[Topic, bytes]
    size: int


class RowStream:
    """The last batches, and waiting for the next."""

    def __init__(self) -> None:
        self.version = int(time.time() * 1000)
        self._oldest = self.version  # whoever has this version can go on
        self._batches = deque[Batch]()
        self._bytes = 0
        self._encoded: dict[tuple[int, tuple[Topic, ...]], bytes] = {}
        self._news = asyncio.Event()
        self.wanted: dict[Topic, float] = {}  # when a page last asked for news of a topic

    def publish(self, changes: Mapping[Topic, RowChanges]) -> None:
        """Number the changes, and wake all pages."""
        self.version += 1
        topics = {
            topic: b'{"rows":[%b],"gone":%b}' % (b",".join(one.rows), msgspec.json.encode(one.gone))
            for topic, one in changes.items()
        }
        self._batches.append(Batch(self.version, topics, sum(map(len, topics.values()))))
        self._bytes += self._batches[-1].size
        while self._bytes > MOST_BYTES:
            gone = self._batches.popleft()
            self._bytes -= gone.size
            self._oldest = gone.version
        self._encoded.clear()
        self.wake()

    def restart(self) -> None:
        """Have all pages read all rows again."""
        self.version += 1
        self._oldest = self.version
        self._batches.clear()
        self._bytes = 0
        self.wake()

    def wake(self) -> None:
        """Have all pages look again."""
        self._news.set()
        self._news = asyncio.Event()

    async def news(self, longest_s: float) -> None:
        """Wait until there may be something new, or so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await self._news.wait()

    def after(self, version: int, topics: Sequence[Topic]) -> bytes | None:
        """Events with what came after a version; None where not all of that is kept."""
        self.wanted.update(dict.fromkeys(topics, time.monotonic()))
        if not self._oldest <= version <= self.version:
            return None
        key = (version, tuple(topics))
        if key not in self._encoded:  # pages that look at the same get the same bytes
            new = [batch for batch in self._batches if batch.version > version]
            self._encoded[key] = b"".join(_event(batch, topics) for batch in new)
        return self._encoded[key]


def _event(batch: Batch, topics: Sequence[Topic]) -> bytes:
    parts = [b'"%b":%b' % (topic.encode(), batch.topics[topic]) for topic in topics if topic in batch.topics]
    if not parts:
        return b""
    data = b",".join([b'"version":%d' % batch.version, *parts])
    return b"id: %d\nevent: rows\ndata: {%b}\n\n" % (batch.version, data)
