"""A viewer: one token, what it may read, and the objects and rows it sees.

How it works. `run` finds out who the token belongs to and what it may list, and watches that: a
kind that may be listed everywhere with one watch, any other with one in each namespace. Queues come
first, for the first picture. Events go into `LiveRows`; twice a second the changed rows become a
batch of `RowStream`. The rights are asked for again every minute; where they have changed,
everything is forgotten and read anew, so that nothing stays on a page that may no longer be read.

Sessions with the same token share one viewer. Every read and write goes through its `api`, with its
token.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar

from maar.apps.console.rights import WATCHED, Rights, find_rights, find_user
from maar.apps.console.row_stream import RowStream
from maar.apps.console.settings import ConsoleSettings
from maar.apps.console.shared_objects import SharedObjects
from maar.apps.scheduler.scheduler import WATCHED as DECIDED_WITH
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.views.console.live_rows import LiveRows, Topic
from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.listing import objects
from maar.kube.retry import Backoff
from maar.kube.watch import Interruption, Trouble, Watch

T = TypeVar("T", bound=Object)

BATCH_EVERY_S: Final = 0.5
GATHER_S: Final = 0.05  # what comes together goes out together
RIGHTS_EVERY_S: Final = 60.0
LOST_AFTER_S: Final = 2.5  # streams end and begin again all the time
LOOK_EVERY_S: Final = 1.0

_NEEDED: Final[Mapping[Topic, tuple[type[Object], ...]]] = {
    "queues": (Queue,),
    "jobs": (Queue, PriorityClass, PodGroup, Job, Pod),
    "nodes": (Queue, PodGroup, Pod, Node),
}


class NotAllowedError(Exception):
    """The viewer's rights do not suffice, in a sentence."""


class Viewer:
    """What one token sees."""

    def __init__(
        self,
        api: ApiServer,
        settings: ConsoleSettings,
        shared: SharedObjects,
        namespaces: Sequence[str] = (),
    ) -> None:
        self.api, self.settings, self._shared, self._named = api, settings, shared, namespaces
        self.user = ""
        self.rights = Rights()
        self.problem = ""  # why what is shown may be old; empty while it is not
        self.is_closed = False  # the console ends
        self.rejected = ""  # how the API server has rejected the token; empty while it has not
        self.stream = RowStream()
        self.known = asyncio.Event()  # the rights are known, or the token is rejected
        self._rows = LiveRows()
        self._watches: list[tuple[type[Object], Watch]] = []
        self._trouble = ""  # the last that a watch reported
        self._look = asyncio.Event()
        self._changed = asyncio.Event()

    def of(self, kind: type[T]) -> Mapping[str, T]:
        """The watched objects of a kind by key: Queue, PodGroup, Job, Pod, Node, PriorityClass."""
        return self._rows.of(kind)

    async def everything(self, *, has_jobs: bool = True) -> list[Object]:
        """All that a decision needs, and the jobs; what is watched is not read again."""
        kinds = (*DECIDED_WITH, Job) if has_jobs else DECIDED_WITH
        for kind in (one for one in WATCHED if one.namespaced or one is Node):
            if not self.rights.everywhere(kind):
                raise NotAllowedError(
                    f"this needs all {kind.plural}, and {self.user or 'this token'} may not list them "
                    "everywhere; ask an administrator for that right"
                )
        await self.synced(("jobs", "nodes"))
        try:
            async with asyncio.TaskGroup() as tasks:
                read = [
                    tasks.create_task(objects(self.api, kind, _left_out))
                    for kind in kinds
                    if kind not in WATCHED
                ]
        except* ApiError as group:
            error = group.exceptions[0]
            raise NotAllowedError(
                f"this needs more than {self.user or 'this token'} may read: {error}"
            ) from None
        found: list[Object] = [one for kind in kinds if kind in WATCHED for one in self.of(kind).values()]
        return [*found, *(one for task in read for one in task.result())]

    def set_places(self, places: Mapping[str, int]) -> None:
        """Show places of waiting pod groups in the order of their queues, by key; 1 is next."""
        self._rows.set_places(places)
        self._changed.set()

    async def synced(self, topics: Iterable[Topic]) -> None:
        """Wait until all objects that rows of these topics are made of have been read."""
        await self.known.wait()
        needed = {kind for topic in topics for kind in _NEEDED[topic]}
        for kind, watch in list(self._watches):
            if kind in needed:
                await watch.synced()

    async def snapshot(self, topics: Sequence[Topic]) -> tuple[int, dict[Topic, bytes]]:
        """All rows of some topics as JSON, and the version that they are of."""
        await self._publish()
        return self.stream.version, {topic: b"[%b]" % b",".join(self._rows.rows(topic)) for topic in topics}

    async def run(self) -> None:
        """Watch until cancelled, or until the token is rejected."""
        async with self.api:
            try:
                while not self.rejected:
                    if await self._learn_rights():
                        await self._watch_until_rights_change()
            finally:
                self.known.set()
                self.stream.wake()
                self._forget()

    async def _learn_rights(self) -> bool:
        """Ask who this is and what it may list, until there is an answer."""
        backoff = Backoff()
        while not self.rejected:
            try:
                self.user = await find_user(self.api)
                self.rights = await find_rights(self.api, self.user, self._named)
            except* (ApiError, UnansweredError) as group:
                self._note(group.exceptions[0])
                await asyncio.sleep(backoff.pause_s())
            else:
                return True
        return False

    async def _watch_until_rights_change(self) -> None:
        self._forget()
        self._watches, self.problem = [], ""
        for kind in WATCHED:
            read: Any = kind  # one of those that a watch reads
            for namespace in self.rights.scopes(kind):
                watch = Watch(self.api, read, self._feed, self._report, namespace=namespace)
                self._watches.append((kind, watch))
        self.stream.restart()
        self.known.set()
        tasks = [
            asyncio.create_task(one)
            for one in (self._watch(), self._publish_changes(), self._look_after(), self._rights_change())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _watch(self) -> None:
        """Watch queues first: they are the first picture."""
        async with asyncio.TaskGroup() as tasks:
            for kind, watch in self._watches:
                tasks.create_task(watch.run())
                if kind is Queue:
                    await watch.synced()
        await asyncio.Event().wait()  # nothing may be watched: until the rights have changed

    async def _publish_changes(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(GATHER_S)
            await self._publish()
            await asyncio.sleep(BATCH_EVERY_S - GATHER_S)

    async def _publish(self) -> None:
        """Make batches of all rows that have changed."""
        self._changed.clear()
        while self._rows.has_changes:
            if changes := self._rows.changes():
                self.stream.publish(changes)
            await asyncio.sleep(0)

    async def _look_after(self) -> None:
        """Say when changes no longer come, and when they come again; end where the token is rejected."""
        while not self.rejected:
            lag_s = max((watch.lag_s for _, watch in self._watches), default=0.0)
            if lag_s > LOST_AFTER_S and self._trouble:
                self._say(f"{_since(lag_s)}: {self._trouble}")
            elif lag_s <= LOST_AFTER_S:
                self._say("")
            await asyncio.sleep(LOOK_EVERY_S)

    async def _rights_change(self) -> None:
        """End when the API server says that other things may be listed than before."""
        while True:
            await self._sleep_until_look()
            try:
                if await find_rights(self.api, self.user, self._named) != self.rights:
                    return
            except* (ApiError, UnansweredError) as group:
                self._note(group.exceptions[0], is_shown=False)

    async def _sleep_until_look(self) -> None:
        self._look.clear()
        try:
            async with asyncio.timeout(RIGHTS_EVERY_S):
                await self._look.wait()
                await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            return

    def _feed(self, events: list[Event]) -> None:
        self._rows.feed([self._shared_event(event) for event in events])
        self._changed.set()

    def _shared_event(self, event: Event) -> Event:
        """The same with the object that other viewers have, and without a hold on the one before."""
        if isinstance(event, Deleted):
            before = self._rows.get(event.kind, event.key)
        else:
            before = self._rows.get(event.object.kind_name(), event.object.key)
            event = Upserted(object=self._shared.take(event.object))
        if before is not None:
            self._shared.leave(before)
        return event

    def _forget(self) -> None:
        """Let go of all objects."""
        for one in self._rows.all():
            self._shared.leave(one)
        self._rows = LiveRows()

    def _report(self, trouble: Trouble) -> None:
        if not isinstance(trouble, Interruption):
            return
        self._trouble = trouble.problem
        if trouble.code == HTTPStatus.UNAUTHORIZED:
            self._reject(trouble.problem)
        elif trouble.code == HTTPStatus.FORBIDDEN:
            self._look.set()

    def _note(self, error: BaseException, *, is_shown: bool = True) -> None:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ApiError) and error.code == HTTPStatus.UNAUTHORIZED:
            self._reject(str(error))
        elif is_shown:
            self._say(f"{_since(0.0)}: {error}")

    def _reject(self, why: str) -> None:
        self.rejected = self.rejected or why
        self.known.set()
        self.stream.wake()

    def _say(self, problem: str) -> None:
        """Say what is wrong, and that it no longer is; what comes of the same trouble is not said again."""
        if bool(problem) != bool(self.problem):
            self.problem = problem
            self.stream.wake()


def _since(lag_s: float) -> str:
    began = datetime.fromtimestamp(time.time() - lag_s).astimezone()
    return f"the API server has not answered since {began:%H:%M:%S}"


def _left_out(_error: BadObjectError) -> None:
    """One that cannot be read is left out; the scheduler logs it."""
