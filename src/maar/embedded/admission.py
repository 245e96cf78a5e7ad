"""Admission in `maar up`: Maar's own rules, the one scheduler that runs, and warnings of what does not."""

from collections.abc import Iterator
from copy import deepcopy
from http import HTTPStatus
from typing import Any, Final, cast, get_args, get_origin

import msgspec

from maar.core.admission.cluster import KNOWN_KINDS, KnownCluster
from maar.core.admission.patch import patched
from maar.core.admission.pod_numbers import pods_at_once
from maar.core.admission.request import Options, Request
from maar.core.admission.review import mutate, validate
from maar.core.admission.rules import RULES_BY_RESOURCE
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.kinds import KINDS, BadObjectError, from_json
from maar.core.model.metadata import Object
from maar.embedded.batch_jobs.model import JOBS
from maar.embedded.calls import Admission, Stage, section, text
from maar.embedded.failures import ApiError
from maar.embedded.kinds.parts import part
from maar.embedded.nodes.local_pod import LocalSpec
from maar.embedded.nodes.script import RUN_FOR
from maar.embedded.schema import defaults
from maar.embedded.store import Change, Key, Store


def _qualified(kind: type[Object]) -> str:
    """The name of a kind in the store: pods, or queues.scheduling.volcano.sh."""
    group, slash, _ = kind.api_version.partition("/")
    return f"{kind.plural}.{group}" if slash else kind.plural


_JUDGED: Final = {_qualified(kind): kind.plural for kind in KINDS if kind.plural in RULES_BY_RESOURCE}
_BATCH_JOBS: Final = "jobs.batch"
_BATCH_JOB_RULE: Final = "job-pods"
_KNOWN: Final = {_qualified(kind): kind for kind in KNOWN_KINDS}


class InProcessAdmission:
    """Fills in, warns and refuses as `maar webhooks` does, with the objects of the store."""

    def __init__(self, store: Store, options: Options | None = None) -> None:
        self._options = options or Options()
        self._known = KnownCluster(self._options.scheduler_names)
        for resource in _KNOWN:
            for namespace, name, body in store.page(resource, None):
                self._learn(Key(resource, namespace, name), body)
        store.listen(self._on_change)

    def __call__(self, stage: Stage, admission: Admission) -> None:
        """Fill in what a write leaves out, or validate it."""
        if admission.resource.qualified == _BATCH_JOBS and stage == "judge":
            self._check_batch_job(admission)
        resource = _JUDGED.get(admission.resource.qualified)
        if resource is None or admission.subresource or not self._is_ours(resource, admission):
            return
        call = admission.call
        request = Request(
            operation=admission.operation,
            resource=resource,
            namespace=admission.namespace,
            name=admission.name,
            old=admission.old,
            new=admission.new,
            user=call.caller.name,
            groups=call.caller.groups,
            dry_run=call.dry_run,
        )
        if stage == "fill in":
            patch = mutate(request, self._known, self._options)
            if patch and admission.new is not None:
                filled = patched(admission.new, patch)
                admission.new.clear()
                admission.new.update(filled)
            return
        verdict = validate(request, self._known, self._options)
        call.warnings.extend(str(warning) for warning in verdict.warnings)
        if not verdict.allowed:
            raise _denied(verdict.message)

    def _check_batch_job(self, admission: Admission) -> None:
        if problem := pods_at_once(admission.new, admission.old, self._options):
            raise _denied(f"[{_BATCH_JOB_RULE}] spec.parallelism {problem}")

    def _is_ours(self, resource: str, admission: Admission) -> bool:
        """Whether it is a pod of Maar's scheduler; others are not reviewed."""
        if resource != "pods" or admission.new is None:
            return True
        return text(section(admission.new, "spec"), "schedulerName") in self._options.scheduler_names

    def _on_change(self, change: Change) -> None:
        if change.key.resource in _KNOWN:
            self._learn(change.key, None if change.type == "DELETED" else change.body)

    def _learn(self, key: Key, body: bytes | None) -> None:
        kind = _KNOWN[key.resource]
        try:
            event: Event = (
                Deleted(kind=kind.__name__, key=f"{key.namespace}/{key.name}" if key.namespace else key.name)
                if body is None
                else Upserted(object=from_json(kind, body))
            )
        except BadObjectError:
            return  # it was let in, and nothing follows from it
        self._known.feed((event,))


def _denied(why: str) -> ApiError:
    return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", f"admission by Maar denied the request: {why}")


_FILLED_IN: Final = "default-scheduler"  # where a pod names none, as in Kubernetes
_FIELD: Final = "schedulerName"


def choose_scheduler(stage: Stage, admission: Admission, name: str) -> None:
    """Give a pod that names Kubernetes' own scheduler, which does not run here, the one that does.

    A manifest that leaves the name out is the same after an update, so what was chosen stays.
    """
    if stage != "fill in" or admission.resource.qualified != "pods" or admission.subresource:
        return
    if admission.new is None or text(section(admission.new, "spec"), _FIELD) != _FILLED_IN:
        return
    before = name if admission.old is None else text(part(admission.old, "spec"), _FIELD)
    section(admission.new, "spec")[_FIELD] = before


_UNRUN: Final = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps")


def warn_of_unrun(stage: Stage, admission: Admission) -> None:
    """Warn the creator of a workload that no controller creates its pods."""
    resource = admission.resource
    if _is_created(stage, admission) and resource.qualified in _UNRUN:
        admission.call.warnings.append(
            f"[no-controller] {resource.kind} of {resource.api_version} is stored, and nothing in maar up "
            "makes pods of it yet; create the pods themselves and a PodGroup, or use a cluster of Kubernetes"
        )


def warn_of_endless(stage: Stage, admission: Admission) -> None:
    """Warn the creator of a Job that its pods do not end; only where all nodes are virtual."""
    if not _is_created(stage, admission) or admission.resource.qualified != JOBS or admission.new is None:
        return
    if RUN_FOR not in part(admission.new, "spec", "template", "metadata", "annotations"):
        admission.call.warnings.append(
            "[virtual-nodes] the pods of this Job run until they are deleted: virtual nodes run no commands; "
            f"write how long they run in spec.template.metadata.annotations, {RUN_FOR}: 10s, or run commands "
            "with maar up --local"
        )


def _is_created(stage: Stage, admission: Admission) -> bool:
    return stage == "judge" and admission.operation == "CREATE" and not admission.subresource


_Fields = dict[str, Any]

_PODS: Final = "pods"
_SPEC: Final = "spec"
_RUN: Final = ("containers", "initContainers", "volumes")  # the rest of what is read is the scheduler's
_UNSET: Final[tuple[object, ...]] = (None, "", [], {})
_ALIASES: Final = ("serviceAccount",)  # of fields that are read, and filled in with them
_INFORMATIVE: Final = {"ports": ("containerPort", "name")}  # kubelets ignore them too: they inform people
_DETAILED: Final = "securityContext"
_MOST: Final = 24  # more than people write by hand


def warn_of_ignored(stage: Stage, admission: Admission) -> None:
    """Warn the creator of a pod about fields that have no effect on the local node."""
    is_new_pod = (admission.resource.qualified, admission.operation) == (_PODS, "CREATE")
    if stage != "judge" or not is_new_pod or admission.subresource or admission.new is None:
        return
    spec = cast(_Fields, admission.new["spec"])
    usual: _Fields = {"metadata": {}, "spec": deepcopy(_read_part(spec, LocalSpec))}
    defaults.default(admission.resource, usual)
    if found := list(_ignored(spec, usual["spec"], LocalSpec, _SPEC)):
        has, it = ("has", "it") if len(found) == 1 else ("have", "them")
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        admission.call.warnings.append(
            f"[local-node-ignores] {', '.join(found[:_MOST])}{more} {has} no effect on the local node, which "
            f"runs commands as you and without a container; remove {it}, or use a cluster of Kubernetes"
        )


def _ignored(spec: _Fields, usual: _Fields, kind: type[msgspec.Struct], path: str) -> Iterator[str]:
    known = _fields(kind)
    for name, value in spec.items():
        here, other = f"{path}.{name}", usual.get(name)
        if name in known:
            below = None if path == _SPEC and name not in _RUN else known[name]
            if below is not None and isinstance(value, list):
                for position, (one, same) in enumerate(zip(value, other or [], strict=False)):
                    yield from _ignored(one, same, below, f"{here}[{position}]")
            elif below is not None and isinstance(value, dict):
                yield from _ignored(value, other or {}, below, here)
        elif value is False or value in _UNSET or value == other or _is_exempt(path, name):
            continue
        elif name == _DETAILED:
            yield from (f"{here}.{key}" for key in value)
        else:
            yield here


def _is_exempt(path: str, name: str) -> bool:
    owner = path.rpartition(".")[2].partition("[")[0]
    return name in _ALIASES or name in _INFORMATIVE.get(owner, ())


def _read_part(spec: _Fields, kind: type[msgspec.Struct]) -> _Fields:
    """What is read of a spec."""
    known, part = _fields(kind), _Fields()
    for name, value in spec.items():
        below = known.get(name)
        if below is not None and isinstance(value, list):
            part[name] = [_read_part(one, below) for one in value]
        elif below is not None and isinstance(value, dict):
            part[name] = _read_part(value, below)
        elif name in known:
            part[name] = value
    return part


def _fields(kind: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct] | None]:
    """The fields of a type as they are written, each with the type of what is in it, if that has fields."""
    return {one.encode_name: _struct(one.type) for one in msgspec.structs.fields(kind)}


def _struct(kind: object) -> type[msgspec.Struct] | None:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    if get_origin(kind) is dict:
        return None
    return next((found for one in get_args(kind) if (found := _struct(one)) is not None), None)
