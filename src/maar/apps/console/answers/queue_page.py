"""What the page of a queue shows beyond its row: why it deserves what it does, and its namespaces."""

import asyncio
import time
from http import HTTPStatus
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from maar.apps.console.answers.lines import page_lines
from maar.apps.console.answers.present import read_objects
from maar.apps.console.answers.work import in_thread
from maar.apps.console.replies import RefusedError, Reply
from maar.apps.console.viewer import NotAllowedError, Viewer
from maar.core.answers.tree.ask import QueueShares, queue_shares
from maar.core.answers.tree.water_level import water_levels
from maar.core.answers.tree.why import explain_queue
from maar.core.answers.tree.why_sentences import explanation_data
from maar.core.answers.tree.why_text import queue_explanation_lines
from maar.core.model.plan import NamespaceStanding, share_text
from maar.core.model.queue import Queue
from maar.serving.http import HttpRequest

Json = dict[str, object]

_LASTS_S: Final = 2.0  # at least; several panels of a page ask for the same
_LASTS_TIMES_COST: Final = 10.0


class _Kept(NamedTuple):
    shares: QueueShares
    until: float


_kept: Final[WeakKeyDictionary[Viewer, _Kept]] = WeakKeyDictionary()


async def queue_page(viewer: Viewer, request: HttpRequest) -> Reply:
    """Say why a queue deserves what it does."""
    name = request.query.get("name", "")
    if not viewer.rights.everywhere(Queue):
        raise NotAllowedError(f"{viewer.user or 'this token'} may not list queues; ask for that right")
    try:
        shared = await _shares(viewer)
    except NotAllowedError as error:
        because = f"Why it deserves what it does is not shown: {error}."
        return Reply({"why": None, "because": because, "drawings": {}, "namespaces": []})
    if why := shared.set_aside.get(name):
        because = f"queue {name} takes no part and deserves nothing: {why}"
        return Reply({"why": None, "because": because, "drawings": {}, "namespaces": []})
    if name not in shared.shares:
        raise RefusedError(
            HTTPStatus.NOT_FOUND, f"there is no queue {name!r}; the tree shows those there are"
        )
    return Reply(await asyncio.to_thread(queue_answer, shared, name))


def queue_answer(shared: QueueShares, name: str) -> Json:
    """Everything that the page shows of a queue that takes part."""
    one = explain_queue(shared.shares, name, shared.min_runtimes[name], shared.past_use)
    return {
        "why": {"lines": page_lines(queue_explanation_lines(one)), "data": explanation_data(one)},
        "because": "",
        "drawings": water_levels(one),
        "namespaces": [
            _namespace(inside, standing)
            for inside, standing in sorted(shared.namespaces.get(name, {}).items())
        ],
    }


async def _shares(viewer: Viewer) -> QueueShares:
    """The shares as they are now, or were a moment ago."""
    kept = _kept.get(viewer)
    if kept is not None and time.monotonic() < kept.until:
        return kept.shares
    objects = await read_objects(viewer)
    began = time.monotonic()
    shares = await in_thread(lambda _: queue_shares(objects, time.time()))
    lasts = max(_LASTS_S, _LASTS_TIMES_COST * (time.monotonic() - began))
    _kept[viewer] = _Kept(shares, time.monotonic() + lasts)
    return shares


def _namespace(name: str, one: NamespaceStanding) -> Json:
    return {"name": name, "weight": one.weight, "used": dict(one.used), "share": share_text(one.share)}
