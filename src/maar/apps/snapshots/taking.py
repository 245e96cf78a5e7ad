"""Snapshots of a running scheduler: what it sees, with its own assumptions, and what it decides on that.

A snapshot that is asked for is taken at the next decision, in the thread that decides: right after
it and before the plan's own writes are assumed, so that the rows are those which the plan was made
from.
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from maar.apps.snapshots.configuration import as_document
from maar.apps.snapshots.files import Snapshot, write
from maar.apps.version import __version__
from maar.core.answers.plan.ask import plan_data, whole
from maar.core.engine import Engine
from maar.core.model.plan import Plan
from maar.core.policy.configuration import Configuration
from maar.core.views.objects import Seen

_LOG: Final = logging.getLogger(__name__)

TIMEOUT_S: Final = 60.0  # a scheduler that leads decides every few seconds


@dataclass(frozen=True)
class Taken:
    """What a decision was made from, by what, and the decision."""

    seen: Seen
    configuration: Configuration
    now: float
    plan: Plan

    def write(self, folder: Path) -> Path:
        """Write the file; it takes seconds where there are a hundred thousand pods."""
        time = datetime.fromtimestamp(self.now, UTC)
        file = folder / f"maar-snapshot-{time:%Y%m%dT%H%M%S.%fZ}.json.gz"
        write(file, self._snapshot(time), self.seen.objects())
        return file

    def _snapshot(self, time: datetime) -> Snapshot:
        return Snapshot(
            time=time,
            scheduler_name=self.seen.scheduler_name,
            configuration=as_document(self.configuration),
            resources=self.seen.resources,
            plan=plan_data(self.plan),
            version=__version__,
        )


class Snapshots:
    """Writes snapshots into a folder when asked, as from a signal handler."""

    def __init__(self, folder: Path, timeout_s: float = TIMEOUT_S) -> None:
        self._folder, self._timeout_s = folder, timeout_s
        self._waiting: deque[asyncio.Future[Taken]] = deque()  # filled in the loop, emptied where is decided
        self._taking: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """Have one taken, and say in the log where it is; asked again meanwhile, it is the same one."""
        if self._taking is None or self._taking.done():
            self._taking = asyncio.create_task(self._take_and_tell())

    async def take(self) -> Path:
        """Wait for the next decision, and write it down with everything that it was made from."""
        loop = asyncio.get_running_loop()
        taken = loop.create_future()
        self._waiting.append(taken)
        async with asyncio.timeout(self._timeout_s):
            await taken
        return await asyncio.to_thread(taken.result().write, self._folder)

    def decided(self, engine: Engine, now: float, plan: Plan) -> None:
        """Keep what was just decided on where a snapshot is requested; called by the engine."""
        if not self._waiting:
            return
        complete = whole(plan, engine.tables.groups.values())
        taken = Taken(Seen.of(engine.tables), engine.configuration, now, complete)
        while self._waiting:
            one = self._waiting.popleft()
            one.get_loop().call_soon_threadsafe(_answer, one, taken)

    async def _take_and_tell(self) -> None:
        try:
            _LOG.info("snapshot written to %s", await self.take())
        except TimeoutError:
            why = f"nothing was decided for {self._timeout_s:g} s; if another process leads, signal that one"
            _LOG.warning("no snapshot: %s", why)
        except OSError as error:
            _LOG.warning("no snapshot: it cannot be written into %s: %s", self._folder, error)


def _answer(waiting: asyncio.Future[Taken], taken: Taken) -> None:
    if not waiting.done():
        waiting.set_result(taken)
