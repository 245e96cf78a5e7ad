"""Planned starts in the status of pod groups: worked out now and then, in a process of its own.

No decision waits for it. Between two decisions the rows of the tables are noted, which takes
milliseconds: a row is replaced when its object changes, so that the rest can be done later. A
thread writes them as a snapshot, with the jobs whose pods are not made yet, which no decision
reads. Another process simulates what follows from it, with a lower priority, and is ended where it
takes too long. Of what it finds only that is written which has moved
(`core/answers/starts/published.py`). Where nothing has changed since the last time, no process is
started.
"""

import asyncio
import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from maar.apps.scheduler.scheduler import Scheduler
from maar.apps.snapshots.configuration import as_document
from maar.apps.snapshots.files import Snapshot, write
from maar.apps.version import __version__
from maar.core.answers.starts.published import has_moved, published_starts
from maar.core.engine import Engine
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError
from maar.core.model.pod_group import PlannedStartStatus, PodGroup
from maar.core.tables.groups import is_finished
from maar.core.tables.rows import GroupRow
from maar.core.views.objects import Seen
from maar.core.views.reduced_objects import reduced_jobs
from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.listing import objects
from maar.kube.outcome import Done, Gone
from maar.kube.paths import resource_path_of
from maar.kube.write import patch

_LOG: Final = logging.getLogger(__name__)

_LONGEST_S: Final = 300.0

Starts = dict[str, PlannedStartStatus]


class PlannedStarts:
    """Writes planned starts every so many seconds, while this process leads."""

    def __init__(self, server: ApiServer, engine: Engine, scheduler: Scheduler, interval_s: float) -> None:
        self._server, self._engine, self._scheduler = server, engine, scheduler
        self._interval_s = interval_s
        self._written: Starts | None = None  # as the API server has them
        self._seen: tuple[datetime, Seen] | None = None  # when they were last worked out, and from what

    async def run(self) -> None:
        """Work until cancelled."""
        await self._scheduler.first_decision.wait()
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self._write_all()
            except (ApiError, UnansweredError, OSError, msgspec.DecodeError, _FailedError) as error:
                _LOG.warning("planned starts are not written this time: %s", error)

    async def _write_all(self) -> None:
        """Work the planned starts out and write those that have changed."""
        if self._written is None:  # another process may have written some
            found = await objects(self._server, PodGroup, _ignore)
            self._written = published_starts(found)
        await self._scheduler.at_rest.wait()
        tables, now = self._engine.tables, datetime.now(UTC)
        starts: Starts = {}
        if tables.waiting or tables.not_enqueued:
            seen = Seen.of(tables)
            if self._is_known(seen, now):
                return
            starts = await self._worked_out(seen, await self._jobs(seen), now)
            self._seen = now, seen
        for key, start in changes(self._written, starts, now).items():
            document = {"status": {"plannedStart": None if start is None else _plain(start)}}
            outcome = await patch(self._server, resource_path_of(PodGroup), key, document)
            if isinstance(outcome, Gone) or (isinstance(outcome, Done) and start is None):
                self._written.pop(key, None)
            elif isinstance(outcome, Done) and start is not None:
                self._written[key] = start

    def _is_known(self, seen: Seen, now: datetime) -> bool:
        """Whether nothing has changed since the last time, and no start has passed."""
        if self._seen is None or (now - self._seen[0]).total_seconds() > _LONGEST_S:
            return False
        times = [one.time for one in (self._written or {}).values() if one.time is not None]
        return (not times or now < min(times)) and seen.is_same(self._seen[1])

    async def _jobs(self, seen: Seen) -> list[Job]:
        """The jobs, where pods of some group are not made yet: `maar explain` knows them too."""
        if not any(_may_lack_pods(row) for row in seen.groups):
            return []
        try:
            return await objects(self._server, Job, _ignore)
        except ApiError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return []  # a cluster without Volcano's jobs

    async def _worked_out(self, seen: Seen, jobs: list[Job], now: datetime) -> Starts:
        snapshot = Snapshot(
            time=now,
            scheduler_name=seen.scheduler_name,
            configuration=as_document(self._engine.configuration),
            resources=seen.resources,
            version=__version__,
        )
        with TemporaryDirectory() as folder:
            file = Path(folder) / "snapshot.json"
            await asyncio.to_thread(write, file, snapshot, chain(seen.objects(), reduced_jobs(jobs)))
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "maar.apps.daemons.starts_process",
                str(file),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                async with asyncio.timeout(_LONGEST_S):
                    out, err = await process.communicate()
            except TimeoutError:
                raise _FailedError(f"they take longer than {_LONGEST_S:g} s") from None
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
        if process.returncode:
            raise _FailedError(err.decode(errors="replace").strip().rpartition("\n")[2])
        return _STARTS.decode(out)


class _FailedError(Exception):
    """The process has ended with an error."""


def changes(
    written: Mapping[str, PlannedStartStatus], starts: Mapping[str, PlannedStartStatus], now: datetime
) -> dict[str, PlannedStartStatus | None]:
    """What is to be written: starts that are new or quite different, None where one is not known any more."""
    wanted: dict[str, PlannedStartStatus | None] = {key: None for key in written if key not in starts}
    for key, start in starts.items():
        before = written.get(key)
        time = None if start.time is None else start.time.timestamp()
        if before is None or has_moved(before, time, start.certainty, now.timestamp()):
            wanted[key] = start
    return wanted


def _may_lack_pods(group: GroupRow) -> bool:
    """Whether pods of a group may be made once it is admitted."""
    is_outside = group.stored_phase == "Pending" or not group.pods
    return is_outside and bool(group.owner) and not is_finished(group)


def _plain(start: PlannedStartStatus) -> dict[str, object]:
    return {
        "time": None if start.time is None else start.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "certainty": start.certainty,
        "because": start.because,
    }


def _ignore(error: BadObjectError) -> None:
    """The scheduler itself reports objects that it cannot read."""


_STARTS: Final = msgspec.json.Decoder(Starts)
