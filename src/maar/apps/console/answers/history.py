"""The last hours of a queue: from the console's own file, or from a Prometheus."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

from maar.apps.console.answers.history_file import HistoryFile, HistoryFileError
from maar.apps.console.answers.present import reading
from maar.apps.console.answers.prometheus import Prometheus, PrometheusError
from maar.apps.console.answers.sampling import Sampler
from maar.apps.console.answers.work import in_thread
from maar.apps.console.replies import RefusedError, Reply
from maar.apps.console.viewer import NotAllowedError, Viewer
from maar.apps.console.viewers import Viewers
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import ROOT, Queue
from maar.core.views.console.history import Histories, histories
from maar.core.views.console.history_plots import (
    MOST_BELOW,
    HistoryFigure,
    Window,
    share_figures,
    work_figures,
)
from maar.serving.http import HttpRequest

_LOG: Final = logging.getLogger(__name__)

_MOST_HOURS: Final = 24.0
_HOUR_S: Final = 3600.0


class _Running(NamedTuple):
    file: HistoryFile | None
    sampler: Sampler | None
    problem: str = ""


_running: Final[dict[Path, _Running]] = {}  # by the file of a console of this process


class _Asked(NamedTuple):
    queue: str
    below: Sequence[str]  # the children that are drawn
    window: Window


async def run_history(viewers: Viewers) -> None:
    """Take samples until cancelled, where a file is to be kept and no Prometheus has them."""
    path = viewers.settings.history
    if path is None or viewers.settings.prometheus:
        return
    try:
        file = await asyncio.to_thread(HistoryFile.open, path)
    except HistoryFileError as error:
        _LOG.warning("%s", error)
        _running[path] = _Running(None, None, str(error))
        return
    if file.note:
        _LOG.warning("%s", file.note)
    sampler = Sampler(viewers.own, file)
    _running[path] = _Running(file, sampler)
    try:
        await sampler.run()
    finally:
        _running.pop(path, None)
        file.close()


async def history(viewer: Viewer, request: HttpRequest) -> Reply:
    """Draw the last hours of a queue and of those below it."""
    sees_queues, sees_groups = viewer.rights.everywhere(Queue), viewer.rights.everywhere(PodGroup)
    if not sees_queues:
        who = viewer.user or "this token"
        raise NotAllowedError(f"the history needs the right to list queues, which {who} does not have")
    async with reading(viewer):
        await viewer.synced(("queues",))
    asked = _asked(viewer, request)
    note = "" if sees_groups else "Waits and evictions need the right to list pod groups everywhere."
    if viewer.settings.prometheus:
        source, known, window, problem = "prometheus", *await _from_prometheus(viewer, asked)
    else:
        source, known, window, problem = "file", *await _from_file(viewer, asked)
    asked = asked._replace(window=window)
    drawn = await in_thread(lambda _: _figures(known, asked, works=sees_groups))
    return Reply(
        {
            "figures": [one._asdict() for one in drawn],
            "since": float(known.times[0]) if len(known.times) else None,
            "source": source,
            "note": " ".join(filter(None, (note, problem))),
        }
    )


def _asked(viewer: Viewer, request: HttpRequest) -> _Asked:
    queue = request.query.get("queue", "") or ROOT
    queues = viewer.of(Queue)
    if queue not in queues and queue != ROOT:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"there is no queue {queue!r}; choose one of the tree")
    try:
        hours = float(request.query.get("hours", "6"))
    except ValueError:
        hours = 0.0
    if not 0.0 < hours <= _MOST_HOURS:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"hours is a number up to {_MOST_HOURS:g}; write hours=6")
    below = [one for one in queues.values() if one.parent == queue and one.key != ROOT]
    largest = sorted(below, key=lambda one: (-_part(one, queues.get(ROOT)), one.key))[:MOST_BELOW]
    now = time.time()
    return _Asked(queue, sorted(one.key for one in largest), Window(now - hours * _HOUR_S, now))


def _part(one: Queue, root: Queue | None) -> float:
    """The part of the cluster that a queue deserves or uses, on the resource where that is largest."""
    total = root.status.deserved if root is not None else {}
    amounts = one.status.deserved.larger(one.status.used)
    return max((units / total[name] for name, units in amounts.items() if total.get(name)), default=0.0)


async def _from_file(viewer: Viewer, asked: _Asked) -> tuple[Histories, Window, str]:
    path = viewer.settings.history
    running = _running.get(path) if path is not None else None
    if running is None or running.file is None:
        why = (
            running.problem
            if running is not None
            else "this console keeps none; start it with --history FILE"
        )
        raise RefusedError(HTTPStatus.NOT_FOUND, f"there is no history: {why}")
    names = [asked.queue, *asked.below]
    file, begin = running.file, asked.window.begin
    known, bad = await in_thread(lambda _: histories(file.since(begin), names))
    notes = [f"{bad} damaged samples are left out."] if bad else []
    notes += [f"{one[0].upper()}{one[1:]}." for one in (running.file.note, _problem(running)) if one]
    return known, asked.window, " ".join(notes)


def _problem(running: _Running) -> str:
    return running.sampler.problem if running.sampler is not None else ""


async def _from_prometheus(viewer: Viewer, asked: _Asked) -> tuple[Histories, Window, str]:
    names = [asked.queue, *asked.below]
    queues = viewer.of(Queue)
    leaves = {name: _leaves(queues, name) for name in names}
    source = Prometheus(viewer.settings.prometheus)
    try:
        known, step_s = await source.histories(names, leaves, asked.window.begin, asked.window.end)
    except PrometheusError as error:
        raise RefusedError(HTTPStatus.BAD_GATEWAY, str(error)) from None
    window = asked.window._replace(holds_s=1.5 * step_s)
    problem = "" if known.queues[asked.queue].deserved else "Prometheus knows nothing of this queue yet."
    return known, window, problem


def _leaves(queues: Mapping[str, Queue], name: str) -> list[str]:
    """A queue, where it is a leaf, and the leaves below it."""
    children: dict[str, list[str]] = {}
    for one in queues.values():
        if one.key != ROOT:
            children.setdefault(one.parent, []).append(one.key)
    found, waiting, seen = list[str](), [name], {name}
    while waiting:
        parent = waiting.pop()
        inside = [child for child in children.get(parent, ()) if child not in seen]
        seen.update(inside)
        waiting += inside
        if not inside:
            found.append(parent)
    return sorted(found)


def _figures(known: Histories, asked: _Asked, *, works: bool) -> list[HistoryFigure]:
    found = [*share_figures(known, asked.queue, asked.below, asked.window)]
    return [*found, *work_figures(known, asked.queue, asked.window)] if works else found
