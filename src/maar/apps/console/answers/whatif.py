"""What a change would do: `maar whatif` for the page, the tree before and after, and the change itself."""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from math import isnan
from typing import Final, cast

import yaml

from maar.apps.console.answers.changes import AskedChanges, read_changes
from maar.apps.console.answers.present import read_present
from maar.apps.console.answers.work import IsWanted, in_thread
from maar.apps.console.replies import RefusedError, Reply
from maar.apps.console.viewer import Viewer
from maar.apps.plugins import find_job_plugins
from maar.apps.time_zones import names
from maar.core.admission.request import Options
from maar.core.answers.future import Present
from maar.core.answers.starts.first import first_starts
from maar.core.answers.whatif.answer import Evictions, JobChanges
from maar.core.answers.whatif.ask import what_if
from maar.core.answers.whatif.change_commands import commands, manifest
from maar.core.answers.whatif.change_writes import ChangeWrite, CreateObject, NoWrite, PatchObject, writes_of
from maar.core.answers.whatif.changes import Change
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.model.kinds import plain
from maar.core.model.node import Node
from maar.core.model.queue import ROOT, Queue
from maar.core.model.resources import Resources
from maar.core.views.console.queue_rows import ConsoleQueue, queue_row, set_aside
from maar.kube.errors import ApiError
from maar.kube.paths import resource_path_of
from maar.serving.http import HttpRequest

Json = dict[str, object]

LONGEST_S: Final = 120.0
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


async def whatif(viewer: Viewer, request: HttpRequest) -> Reply:
    """Say what a change would do, and how to make it; nothing is written."""
    asked = await read_changes(request)
    present, unknown = await read_present(viewer)
    try:
        answer, writes = await in_thread(partial(_answered, present, asked), LONGEST_S)
    except BadChangeError as error:
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, *error.sentences) from None
    text = await _yaml(viewer, writes)
    warnings = [*cast(list[str], answer["warnings"]), *_notes(present, writes), *filter(None, (unknown,))]
    return Reply({**answer, "warnings": warnings, "yaml": text, "commands": commands(writes)})


def _answered(present: Present, asked: AskedChanges, is_wanted: IsWanted) -> tuple[Json, list[ChangeWrite]]:
    changes = asked.changes([one.key for one in present.objects if isinstance(one, Node)])
    return what_if_answer(present, changes, is_wanted), writes_of(present.objects, changes)


def what_if_answer(present: Present, changes: Sequence[Change], is_wanted: IsWanted) -> Json:
    """What changes would do, as the page reads it."""
    options = Options(
        scheduler_names=(present.scheduler_name,), job_plugins=find_job_plugins(), time_zones=names()
    )
    first = first_starts(present.objects)
    answer = what_if(present, changes, options, first_starts=first.number, is_wanted=is_wanted)
    return {
        "before": queue_rows(answer.queues_before),
        "after": queue_rows(answer.queues_after),
        "jobs": _jobs(answer.jobs),
        "evictions": _evictions(answer.evictions),
        "warnings": list(answer.warnings),
    }


def queue_rows(queues: Sequence[Queue]) -> list[ConsoleQueue]:
    """Queues as rows of the tree."""
    by_name = {one.key: one for one in queues}
    total = by_name[ROOT].status.deserved if ROOT in by_name else Resources()
    aside = set_aside(by_name)
    return [queue_row(one, total, aside.get(one.key, "")) for one in queues]


def _jobs(jobs: JobChanges) -> list[Json]:
    """The jobs that the change bears on."""
    return [row for index in range(len(jobs.group)) if _is_concerned(row := _job(jobs, index))]


def _job(jobs: JobChanges, index: int) -> Json:
    return {
        "group": jobs.group[index],
        "job": jobs.job[index],
        "queue": jobs.queue[index],
        "runningBefore": int(jobs.running_before[index]),
        "runningAfter": int(jobs.running_after[index]),
        "waitingBefore": int(jobs.waiting_before[index]),
        "waitingAfter": int(jobs.waiting_after[index]),
        "evicted": int(jobs.evicted[index]),
        "startBefore": _time(float(jobs.start_before[index])),
        "startAfter": _time(float(jobs.start_after[index])),
        "reason": jobs.reason[index],
    }


def _is_concerned(row: Json) -> bool:
    return bool(row["evicted"]) or any(
        row[f"{part}Before"] != row[f"{part}After"] for part in ("running", "waiting", "start")
    )


def _evictions(evictions: Evictions) -> list[Json]:
    parts = ("pod", "group", "queue", "action", "beneficiary", "why")
    return [dict(zip(parts, row, strict=True)) for row in zip(*evictions, strict=True)]


def _time(seconds: float) -> float | None:
    return None if isnan(seconds) else seconds


def _notes(present: Present, writes: Sequence[ChangeWrite]) -> list[str]:
    """What the answer leaves out, and what the YAML cannot have."""
    found = [one.sentence for one in writes if isinstance(one, NoWrite)]
    if note := first_starts(present.objects).note:
        found.append(f"{note}; maar whatif --starts adds them")
    return found


async def _yaml(viewer: Viewer, writes: Sequence[ChangeWrite]) -> str:
    """The change as objects to apply: those that are changed whole, so that nothing of them is lost."""
    found = list[Json]()
    for one in writes:
        if isinstance(one, CreateObject):
            found.append(one.document)
        elif isinstance(one, PatchObject):
            try:
                data = await viewer.api.request("GET", resource_path_of(one.kind).one(one.key))
            except ApiError:
                continue  # the command has the change
            found.append(manifest(cast(Json, plain(data)), one.patch))
    text: str = yaml.dump_all(found, Dumper=_DUMPER, sort_keys=False, allow_unicode=True) if found else ""
    return text
