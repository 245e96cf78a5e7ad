"""A watch that runs beside a test, and what it has told so far."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.kube.api_server import ApiServer
from maar.kube.watch import Trouble, Watch
from support.until import TIMEOUT_S


@dataclass
class Follower:
    """The objects as the events tell them, every event, and every trouble."""

    objects: dict[str, AnyObject] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    watch: Watch = field(init=False)

    def feed(self, events: list[Event]) -> None:
        """Learn what has happened."""
        assert events, "nothing to say is not said"
        self.events += events
        for event in events:
            if isinstance(event, Upserted):
                self.objects[event.object.key] = event.object
            else:
                del self.objects[event.key]

    async def synced(self) -> None:
        """Wait until all that was there has been told."""
        async with asyncio.timeout(TIMEOUT_S):
            await self.watch.synced()

    def names(self) -> list[str]:
        """The names of all objects, in order."""
        return sorted(one.metadata.name for one in self.objects.values())

    def story(self, key: str) -> list[str]:
        """What happened to an object: a resource version for each time it appeared, or that it vanished."""
        return [
            "vanished" if isinstance(event, Deleted) else event.object.metadata.resource_version
            for event in self.events
            if key == (event.key if isinstance(event, Deleted) else event.object.key)
        ]


@asynccontextmanager
async def following(
    server: ApiServer, kind: type[AnyObject], *, namespace: str = "", labels: str = "", fields: str = ""
) -> AsyncIterator[Follower]:
    """Run a watch until the test is done with it."""
    follower = Follower()
    follower.watch = Watch(
        server,
        kind,
        follower.feed,
        follower.troubles.append,
        namespace=namespace,
        labels=labels,
        fields=fields,
    )
    running = asyncio.create_task(follower.watch.run())
    try:
        yield follower
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
