"""Samples of the history, once a minute, with the console's own credentials."""

import asyncio
import logging
import sqlite3
import time
from typing import Final

from maar.apps.console.answers.history_file import HistoryFile
from maar.core.model.kinds import BadObjectError
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.views.console.history import EvictionCounts, take_sample
from maar.core.views.job_summary import EventSummary
from maar.kube.api_server import ApiServer
from maar.kube.credentials import Credentials
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.listing import objects

_LOG: Final = logging.getLogger(__name__)

EVERY_S: Final = 60.0
_CONNECTIONS: Final = 4


class Sampler:
    """Takes samples until cancelled; what goes wrong is said once, and told to whoever asks."""

    def __init__(self, own: Credentials, file: HistoryFile, every_s: float = EVERY_S) -> None:
        self._own, self._file, self._every_s = own, file, every_s
        self._evictions = EvictionCounts()
        self.problem = ""

    async def run(self) -> None:
        """Take a sample, and wait."""
        async with ApiServer(self._own, connections=_CONNECTIONS) as api:
            while True:
                await self._attempt(api)
                await asyncio.sleep(self._every_s - time.time() % self._every_s)

    async def _attempt(self, api: ApiServer) -> None:
        problem = ""
        try:
            problem = await self._take(api)
        except (ApiError, UnansweredError) as error:
            problem = f"no sample was taken: {error}"
        except sqlite3.Error as error:
            problem = f"a sample cannot be written to {self._file.path}: {error}"
        except Exception as error:  # noqa: BLE001  a bug here must not stop the console
            _LOG.warning("a sample of the history failed", exc_info=error)
            problem = f"no sample was taken: {error}"
        if problem and problem != self.problem:
            _LOG.warning("history: %s", problem)
        self.problem = problem

    async def _take(self, api: ApiServer) -> str:
        """Take a sample; gives what is missing in it."""
        queues = {one.key: one for one in await objects(api, Queue, _left_out)}
        groups = await objects(api, PodGroup, _left_out)
        problem, events = "", list[EventSummary]()
        try:
            fields = "involvedObject.kind=PodGroup,reason=Evict"
            events = await objects(api, EventSummary, _left_out, fields=fields)
        except ApiError as error:
            problem = f"evictions are not counted: {error}"
        sample = take_sample(queues, groups, self._evictions.new(events), time.time())
        await asyncio.to_thread(self._file.add, sample)
        return problem


def _left_out(_error: BadObjectError) -> None:
    """One that cannot be read is left out; the scheduler logs it."""
