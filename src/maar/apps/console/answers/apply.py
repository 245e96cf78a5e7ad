"""Changes made for real, where the console was started with --allow-writes: with the viewer's own rights.

All are tried with server-side dry runs first; only where the server takes every one of them are
they made. What comes after a queue that is made by the same change may need it, and cannot be tried
before.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, NamedTuple, assert_never

from maar.apps.console.answers.changes import read_changes
from maar.apps.console.answers.present import reading
from maar.apps.console.replies import RefusedError, Reply
from maar.apps.console.viewer import Viewer
from maar.core.answers.whatif.change_commands import kind_word
from maar.core.answers.whatif.change_writes import (
    ChangeWrite,
    CordonNode,
    CreateObject,
    NoWrite,
    PatchObject,
    RemoveObject,
    cordon,
    writes_of,
)
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.outcome import Conflict, Done, Outcome
from maar.kube.paths import resource_path_of
from maar.kube.write import create, delete, patch
from maar.serving.http import HttpRequest

_LONGEST_VALUE: Final = 60


async def apply(viewer: Viewer, request: HttpRequest) -> Reply:
    """Make a change; where the server refuses a part of it, nothing is done."""
    if not viewer.settings.allows_writes:
        raise RefusedError(
            HTTPStatus.FORBIDDEN,
            "this console changes nothing; use the commands or the YAML, or start it with --allow-writes",
        )
    asked = await read_changes(request)
    async with reading(viewer):
        await viewer.synced(("queues", "jobs", "nodes"))
    known = _known(viewer)
    try:
        writes = writes_of(known, asked.changes(list(viewer.of(Node))))
    except BadChangeError as error:
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, *error.sentences) from None
    await _try(viewer, writes)
    done, not_done = list[str](), list[str]()
    for number, one in enumerate(writes):
        if isinstance(one, NoWrite):
            not_done.append(one.sentence)
            continue
        outcome = await _write(viewer, one, dry_run=False)
        if not isinstance(outcome, Done):
            not_done.append(f"{_words(one).title} was refused: {_why(one, outcome)}")
            not_done += [f"{_words(each).title} was not tried after that" for each in writes[number + 1 :]]
            break
        done.append(_words(one).done)
        if isinstance(one, CordonNode):
            not_done.append(f"the pods of node {one.name} stay; kubectl drain {one.name} evicts them")
    return Reply({"done": done, "notDone": not_done})


def _known(viewer: Viewer) -> list[Object]:
    """The objects that a change may name, as far as the viewer sees them."""
    return [known for kind in (Queue, PodGroup, Job, Pod, Node) for known in viewer.of(kind).values()]


async def _try(viewer: Viewer, writes: Sequence[ChangeWrite]) -> None:
    """Ask the server about every write, as far as that can be asked before any is made."""
    sentences = list[str]()
    for one in writes:
        if isinstance(one, NoWrite):
            continue
        outcome = await _write(viewer, one, dry_run=True)
        if not isinstance(outcome, Done):
            sentences.append(f"{_words(one).title} would be refused: {_why(one, outcome)}")
        if isinstance(one, CreateObject) and one.kind is Queue:
            break
    if sentences:
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, *sentences, "nothing was changed")


async def _write(viewer: Viewer, one: ChangeWrite, *, dry_run: bool) -> Outcome:
    match one:
        case PatchObject(kind=kind, key=key, patch=changed):
            return await patch(viewer.api, resource_path_of(kind), key, changed, dry_run=dry_run)
        case CreateObject(kind=kind, key=key, document=document):
            return await create(viewer.api, resource_path_of(kind), key, document, dry_run=dry_run)
        case RemoveObject(kind=kind, key=key):
            return await delete(viewer.api, resource_path_of(kind), key, dry_run=dry_run)
        case CordonNode(name=name):
            return await _write(viewer, cordon(name), dry_run=dry_run)
        case NoWrite():
            return Done(b"")
    assert_never(one)


class _Words(NamedTuple):
    """What a write is called, and what is said of it once it is done."""

    title: str
    done: str


def _words(one: ChangeWrite) -> _Words:
    match one:
        case PatchObject(kind=kind, key=key, patch=changed):
            name = f"{kind_word(kind)} {key}"
            return _Words(f"the change of {name}", f"changed {name}: {', '.join(_fields(changed))}")
        case CreateObject(kind=kind, key=key):
            return _Words(f"{kind_word(kind)} {key}", f"created {kind_word(kind)} {key}")
        case RemoveObject(kind=kind, key=key):
            return _Words(f"the deletion of {kind_word(kind)} {key}", f"deleted {kind_word(kind)} {key}")
        case CordonNode(name=name):
            return _Words(f"the cordon of node {name}", f"cordoned node {name}")
        case NoWrite(sentence=sentence):
            return _Words(sentence, sentence)
    assert_never(one)


def _fields(changed: object, path: str = "") -> list[str]:
    """The fields of a patch with their new values."""
    if isinstance(changed, dict) and changed:
        return [
            text
            for name, value in changed.items()
            for text in _fields(value, f"{path}.{name}" if path else str(name))
        ]
    value = "removed" if changed is None else str(changed)
    return [f"{path}={value if len(value) <= _LONGEST_VALUE else f'{value[:_LONGEST_VALUE]}…'}"]


def _why(one: ChangeWrite, outcome: Outcome) -> str:
    if isinstance(outcome, Conflict) and isinstance(one, CreateObject):
        return "it exists already; give it another name, or delete the other first"
    return str(getattr(outcome, "message", outcome))
