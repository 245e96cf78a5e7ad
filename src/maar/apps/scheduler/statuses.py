"""Status writes: one at a time for each object, differences only; no decision waits for them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from maar.core.model.kinds import from_json
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.writes import SetStatus
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Outcome
from maar.kube.paths import resource_path_of
from maar.kube.write import patch
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers

Difference = Callable[[], SetStatus | None]  # between what is and what should be, when it is asked

# Statuses that change all the time are written in rounds so far apart. In a round all queues that changed are
# written, so that their shares are of one moment: written one by one, a child would often seem to deserve
# more than its parent.
ROUNDS_APART_S: Final = {"Queue": 1.0, "PodGroup": 0.0}
_KINDS: Final[dict[str, type[Queue] | type[PodGroup]]] = {"Queue": Queue, "PodGroup": PodGroup}


@dataclass(eq=False)
class Statuses:
    """Writes what is different, once the write before has been answered and the next round begins."""

    server: ApiServer
    writers: Writers
    written: Callable[[Queue | PodGroup], None]  # hears of objects as the server has them after a write
    missed: Callable[[str, str], None]  # hears of the kind and key of what could not be written
    failures: WriteFailures
    at_rest: asyncio.Event  # set while nobody decides: differences are read from tables that are settled
    _wanted: dict[tuple[str, str], Difference] = field(default_factory=dict)
    _busy: set[tuple[str, str]] = field(default_factory=set)
    _rounds: dict[str, float] = field(default_factory=dict)  # when the next may begin, by kind
    _announced: set[str] = field(default_factory=set)  # kinds whose next round is set

    def want(self, kind: str, key: str, difference: Difference) -> None:
        """Have a status written as `difference` says when its turn comes; what was wanted before is off."""
        self._wanted[kind, key] = difference
        if (kind, key) in self._busy or kind in self._announced:
            return
        if not ROUNDS_APART_S[kind]:
            self._begin((kind, key))
            return
        self._announced.add(kind)
        asyncio.get_running_loop().call_at(self._rounds.get(kind, 0.0), self._round, kind)

    def _round(self, kind: str) -> None:
        self._announced.discard(kind)
        self._rounds[kind] = asyncio.get_running_loop().time() + ROUNDS_APART_S[kind]
        for place in [one for one in self._wanted if one[0] == kind and one not in self._busy]:
            self._begin(place)

    def _begin(self, place: tuple[str, str]) -> None:
        self._busy.add(place)
        self.writers.submit(place, partial(self._write, place), partial(self._done, place))

    async def _write(self, place: tuple[str, str]) -> Outcome | None:
        """Write what is different by now: while others were written it may have become more, or nothing."""
        await self.at_rest.wait()
        write = self._wanted.pop(place)()
        if write is None:
            return None
        kind = _KINDS[write.kind]
        document: dict[str, object] = {"status": write.status} if write.status else {}
        if write.annotations:
            document["metadata"] = {"annotations": write.annotations}
        if kind is PodGroup:  # as in Volcano, their status is no part of its own
            return await patch(self.server, resource_path_of(kind), write.key, document)
        return await patch(self.server, resource_path_of(kind), write.key, document, subresource="status")

    def _done(self, place: tuple[str, str], outcome: Outcome | None) -> None:
        if outcome is None:
            self._free(place)
            return
        self.failures.answered("SetStatus", *place, outcome)
        if isinstance(outcome, Done):
            self.written(from_json(_KINDS[place[0]], outcome.body))
        else:
            self.missed(*place)
        asyncio.get_running_loop().call_soon(self._free, place)

    def _free(self, place: tuple[str, str]) -> None:
        self._busy.discard(place)
        if place in self._wanted:
            self.want(*place, self._wanted[place])
