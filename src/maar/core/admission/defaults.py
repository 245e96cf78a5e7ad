"""The mutating half: fields that are left out are filled in, each default a rule of its own.

Whether a client set a field, or Maar filled it in, follows from field managers: kubectl's
client-side apply keeps what it sent in an annotation, and API servers keep in managedFields which
fields each client sent, before webhooks fill in others.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from maar.core.admission.case import Case
from maar.core.admission.patch import patched, setting
from maar.core.admission.plain import at, list_at, map_at, text_at
from maar.core.admission.request import CREATE, UPDATE, Json
from maar.core.model.queue import DEFAULT, ROOT

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def is_left_to_maar(document: object, *path: str) -> bool:
    """Whether what is on record of an object shows that no client set the field."""
    applied = _last_applied(document)
    entries = list_at(document, "metadata", "managedFields")
    if applied is None and not entries:
        return False  # nothing is on record
    owned = any(at(one, "fieldsV1", *(f"f:{key}" for key in path)) is not None for one in entries)
    return not owned and at(applied, *path) is None


def applied_tasks(document: object) -> list[object]:
    """The tasks as client-side apply sent them; empty where that is not on record."""
    return list_at(_last_applied(document), "spec", "tasks")


def is_sent_by_apply(document: object, *path: str) -> bool:
    """Whether server-side apply sent a field as it is now: another kind of write changes its manager."""
    return any(
        text_at(one, "operation") == "Apply"
        and at(one, "fieldsV1", *(f"f:{key}" for key in path)) is not None
        for one in list_at(document, "metadata", "managedFields")
    )


def _last_applied(document: object) -> object:
    try:
        return msgspec.json.decode(text_at(document, "metadata", "annotations", _LAST_APPLIED) or "null")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


Default = Callable[[Case], Iterator[Json]]

MOST_TASKS: Final = 256  # what the definition of jobs allows; more are refused, not filled in
MAX_RETRY: Final = 3
_MOST_PODS: Final = 2**31 - 1
_UNSET: Final = (None, "")
_PLUGINS_OF_PLUGINS: Final = {"svc": ("mpi", "pytorch", "ray", "tensorflow"), "ssh": ("mpi",)}


def queue_fields(case: Case) -> Iterator[Json]:
    """A queue without them gets state Open (or keeps its own), weight 1, reclaimable true and parent root."""
    wanted = {"weight": 1, "reclaimable": True}
    for field, value in wanted.items():
        if at(case.new, "spec", field) is None:
            yield setting(value, "spec", field)
    if at(case.new, "spec", "state") in _UNSET:
        # Typed clients that do not know the field leave it out of every update: only Open opens a queue.
        yield setting(text_at(case.old, "spec", "state") or "Open", "spec", "state")
    if at(case.new, "spec", "parent") in _UNSET and case.name != ROOT:
        yield setting(ROOT, "spec", "parent")


def work_queue(case: Case) -> Iterator[Json]:
    """A job or pod group in no queue or in `default` gets its namespace's queue, and keeps it in updates."""
    asked = at(case.new, "spec", "queue")
    if asked not in (*_UNSET, DEFAULT):
        return
    own = case.known.queue_of(case.namespace) or DEFAULT
    if case.request.operation == UPDATE:
        stored = text_at(case.old, "spec", "queue") or DEFAULT
        if case.request.resource == "jobs" or stored == DEFAULT:
            own = stored  # a job keeps its queue, also when its namespace gets another
    elif case.owning_job() is not None:
        return
    if own != asked:
        yield setting(own, "spec", "queue")


def job_fields(case: Case) -> Iterator[Json]:
    """A job without them (0 is none) gets our scheduler's name, 3 retries, and its tasks' minima together."""
    if at(case.new, "spec", "schedulerName") in _UNSET:
        stored = text_at(case.old, "spec", "schedulerName")  # --scheduler-name may have changed since
        yield setting(stored or case.options.scheduler_names[0], "spec", "schedulerName")
    if _is_unset(at(case.new, "spec", "maxRetry")):
        yield setting(MAX_RETRY, "spec", "maxRetry")
    least = sum(
        _default_minimum(task) if _has_no_minimum(case, number, task) else _number(task, "minAvailable")
        for number, task in _tasks(case)
    )
    asked = at(case.new, "spec", "minAvailable")
    is_left_out = _is_unset(asked) if case.request.operation == CREATE else asked is None
    if is_left_out or (asked != least and _was_filled_in(case, asked)):
        yield setting(least, "spec", "minAvailable")


def task_fields(case: Case) -> Iterator[Json]:
    """A task gets the name default<number>, its replicas (or minimum of partitions) as minimum, 3 retries."""
    for number, task in _tasks(case):
        if at(task, "name") in _UNSET:
            yield setting(f"default{number}", "spec", "tasks", number, "name")
        if _has_no_minimum(case, number, task):
            yield setting(_default_minimum(task), "spec", "tasks", number, "minAvailable")
        if at(task, "maxRetry") is None:
            yield setting(MAX_RETRY, "spec", "tasks", number, "maxRetry")


def host_network(case: Case) -> Iterator[Json]:
    """A task on the host's network still resolves the cluster's names, unless it says otherwise."""
    for number, task in _tasks(case):
        spec = map_at(task, "template", "spec")
        if spec.get("hostNetwork") is True and spec.get("dnsPolicy") in _UNSET:
            here = ("spec", "tasks", number, "template", "spec", "dnsPolicy")
            yield setting("ClusterFirstWithHostNet", *here)


def plugin_fields(case: Case) -> Iterator[Json]:
    """A new job with mpi, pytorch, ray or tensorflow gets svc, with mpi ssh too; updates keep those."""
    plugins, stored = map_at(case.new, "spec", "plugins"), map_at(case.old, "spec", "plugins")
    for name, arguments in plugins.items():
        if arguments is None:
            yield setting([], "spec", "plugins", str(name))
    for name, users in _PLUGINS_OF_PLUGINS.items():
        if case.options.job_plugins.get(name) is None:
            continue
        if name not in plugins and not plugins.keys().isdisjoint(users):
            if case.request.operation == CREATE:
                yield setting([], "spec", "plugins", name)
            elif name in stored:
                yield setting(stored[name], "spec", "plugins", name)


DEFAULTS: Final[Mapping[str, Mapping[str, Default]]] = {
    "queues": {"queue-defaults": queue_fields},
    "podgroups": {"podgroup-queue-default": work_queue},
    "jobs": {
        "job-queue-default": work_queue,
        "job-defaults": job_fields,
        "job-task-defaults": task_fields,
        "job-host-network": host_network,
        "job-plugin-defaults": plugin_fields,
    },
}
_OF_JOBS: Final = (job_fields, task_fields, host_network)


def with_defaults(case: Case, document: object) -> object:
    """A stored job with the defaults that a new one would get; the queue that it has is its own."""
    if not isinstance(document, dict) or not isinstance(document.get("spec"), dict):
        return document
    made = replace(case, request=replace(case.request, operation=CREATE, new=document, old=None))
    queue = setting(text_at(document, "spec", "queue") or DEFAULT, "spec", "queue")
    return patched(document, [queue, *(one for rule in _OF_JOBS for one in rule(made))])


def defaults(case: Case) -> tuple[Json, ...]:
    """The operations that fill in what was left out; an object that cannot be read stays as it is."""
    request, spec = case.request, at(case.new, "spec")
    if request.subresource or request.operation not in (CREATE, UPDATE) or not case.has_new_spec:
        return ()
    if not isinstance(request.new, dict) or not (spec is None or isinstance(spec, dict)):
        return ()
    settings = [one for rule in DEFAULTS.get(request.resource, {}).values() for one in rule(case)]
    return (setting({}, "spec"), *settings) if spec is None and settings else tuple(settings)


def _was_filled_in(case: Case, asked: object) -> bool:
    """Whether a job's minimum is the one that Maar filled in, which follows its tasks."""
    is_kept = asked == at(case.old, "spec", "minAvailable")
    return is_kept and case.request.operation == UPDATE and is_left_to_maar(case.new, "spec", "minAvailable")


def _has_no_minimum(case: Case, number: int, task: dict[str, object]) -> bool:
    """Whether no client set a task's minimum: it is left out, or the one that Maar filled in before.

    Patches and edits leave that one where it is. Where nothing tells it from one that a person set, it gives
    way only when the task gets smaller: as it stands, the task could not be stored.
    """
    asked, replicas = task.get("minAvailable"), task.get("replicas")
    name = at(task, "name") or f"default{number}"
    old = _task(list_at(case.old, "spec", "tasks"), name)
    if asked is None or case.request.operation != UPDATE or asked != at(old, "minAvailable"):
        return asked is None
    if asked != at(old, "replicas") or asked == replicas:
        return False
    if (applied := _task(applied_tasks(case.new), name)) is not None:
        return at(applied, "minAvailable") is None
    is_smaller = type(replicas) is int and type(asked) is int and replicas < asked
    return is_smaller and not is_sent_by_apply(case.new, "spec", "tasks")


def _task(tasks: list[object], name: object) -> object:
    return next(
        (one for place, one in enumerate(tasks) if name == (at(one, "name") or f"default{place}")), None
    )


def _tasks(case: Case) -> list[tuple[int, dict[str, object]]]:
    tasks = list_at(case.new, "spec", "tasks")
    if len(tasks) > MOST_TASKS:
        return []
    return [(number, task) for number, task in enumerate(tasks) if isinstance(task, dict)]


def _is_unset(number: object) -> bool:
    """Whether a number is left out; clients of Volcano write 0 for that."""
    return number is None or (type(number) is int and number == 0)


def _default_minimum(task: dict[str, object]) -> int:
    """The minimum of a task that has none: its replicas, or the pods of its minimum of partitions."""
    policy = at(task, "partitionPolicy")
    least, size = (
        _number(policy, field) if isinstance(policy, dict) else 0
        for field in ("minPartitions", "partitionSize")
    )
    return least * size or _number(task, "replicas")


def _number(task: dict[str, object], *fields: str) -> int:
    """The first of the fields that is set; what cannot be a number of pods counts as none."""
    found = next((task[field] for field in fields if task.get(field) is not None), 0)
    return found if type(found) is int and 0 <= found <= _MOST_PODS else 0
