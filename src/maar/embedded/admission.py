"""Maar's admission inside the embedded server: the rules that webhooks apply on a cluster."""

from http import HTTPStatus
from typing import Final

from maar.core.admission.cluster import KNOWN_KINDS, KnownCluster
from maar.core.admission.patch import patched
from maar.core.admission.pod_numbers import pods_at_once
from maar.core.admission.request import Options, Request
from maar.core.admission.review import mutate, validate
from maar.core.admission.rules import RULES_BY_RESOURCE
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.kinds import KINDS, BadObjectError, from_json
from maar.core.model.metadata import Object
from maar.embedded.calls import Admission, Stage, section, text
from maar.embedded.failures import ApiError
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
        call.warnings.extend(str(one) for one in verdict.warnings)
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
