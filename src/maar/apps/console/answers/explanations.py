"""Why a job, a pod group or a pod waits or runs where it does: `maar explain`, for the page."""

import time
from functools import partial
from http import HTTPStatus
from typing import Final, TypedDict

import msgspec

from maar.apps.console.answers.lines import page_lines
from maar.apps.console.answers.present import read_present
from maar.apps.console.answers.work import IsWanted, in_thread
from maar.apps.console.replies import RefusedError, Reply
from maar.apps.console.viewer import NotAllowedError, Viewer
from maar.core.answers.explain.ask import Explainer, with_changes
from maar.core.answers.explain.subject import WORDS, Subject, SubjectKind, find_subject
from maar.core.answers.explain.text import explanation_lines, future_lines
from maar.core.answers.future import Present
from maar.core.views.drawing import WIDTH
from maar.core.views.job_summary import EventSummary
from maar.kube.errors import ApiError
from maar.kube.listing import objects
from maar.serving.http import HttpRequest

Json = dict[str, object]


class Answer(TypedDict):
    """An explanation as the page reads it."""

    data: Json
    lines: list[Json]
    note: str


WITHIN_S: Final = 20.0  # for the smallest changes


async def explanation(viewer: Viewer, request: HttpRequest) -> Reply:
    """Explain an object; with future=1 also when it starts, and what would start it now."""
    kind, key = subject_of(request)
    try:
        present, unknown = await read_present(viewer)
    except NotAllowedError as error:
        raise NotAllowedError(f"{error}; the conditions below are what the object says of itself") from None
    subject = find_subject(present.objects, kind, key, present.scheduler_name)
    if subject is None:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"there is no {WORDS[kind]} {key}; it may have been deleted")
    events = await _events(viewer, subject)
    is_future = request.query.get("future", "") == "1"
    answer = await in_thread(partial(explained, present, subject, events, is_future=is_future))
    return Reply({**answer, "note": " ".join(filter(None, (answer["note"], unknown)))})


def subject_of(request: HttpRequest) -> tuple[SubjectKind, str]:
    """What a request is about: its kind, and its key with the namespace."""
    kind, key = request.query.get("kind", ""), request.query.get("key", "")
    namespace, _, name = key.partition("/")
    if kind not in WORDS or not namespace or not name or "/" in name:
        raise RefusedError(
            HTTPStatus.BAD_REQUEST, "say what is meant: kind=job, podgroup or pod, and key=NAMESPACE/NAME"
        )
    return kind, key


def explained(
    present: Present, subject: Subject, events: list[EventSummary], is_wanted: IsWanted, *, is_future: bool
) -> Answer:
    """The answer: data, lines, and a note on what was left out."""
    explainer = Explainer(present, subject, events)
    known = explainer.explanation()
    lines = list(explanation_lines(known, WIDTH))
    note = ""
    if is_future and known.pod_group and known.state in ("waits", "makes room"):
        half, end = _now() + WITHIN_S / 2, _now() + WITHIN_S
        known = msgspec.structs.replace(known, start=explainer.start(lambda: is_wanted() and _now() < half))
        known = with_changes(known, explainer.changes(known, lambda _: is_wanted() and _now() < end))
        lines += future_lines(known, WIDTH)
        if known.changes is not None and not known.changes.is_complete:
            note = f"Looked for {WITHIN_S:g} s; maar explain --within looks for longer."
    return {"data": known.data(), "lines": page_lines(lines), "note": note}


def _now() -> float:
    return time.thread_time()  # on a busy machine the answer is the same, later


async def _events(viewer: Viewer, subject: Subject) -> list[EventSummary]:
    """The events of a group; none where they may not be read."""
    namespace, _, name = subject.group.partition("/")
    if not name:
        return []
    fields = f"involvedObject.kind=PodGroup,involvedObject.name={name}"
    try:
        return await objects(viewer.api, EventSummary, lambda _: None, namespace=namespace, fields=fields)
    except ApiError:
        return []
