"""What an API server checks in code: names of all objects, and the rules of the built-in kinds.

Of the rules that Kubernetes has, those are here that protect Maar and its nodes, and those that
catch what people mistype. ReplicaSets and StatefulSets have none: nothing here creates their pods,
and a pod is checked when it is created.
"""

from collections.abc import Callable, Iterator
from typing import Final, cast

from maar.embedded.failures import Cause, Json
from maar.embedded.resources import Resource
from maar.embedded.schema.rules import contents, jobs, metadata, pod_changes, pods, policies, storage
from maar.embedded.schema.rules.fields import Fields

_Rule = Callable[[Fields], Iterator[Cause]]
_Change = Callable[[Fields, Fields], Iterator[Cause]]

_RULES: Final[dict[str, _Rule]] = {
    "configmaps": contents.config_map,
    "jobs.batch": jobs.job,
    "nodes": policies.node,
    "persistentvolumeclaims": storage.claim,
    "persistentvolumes": storage.volume,
    "poddisruptionbudgets.policy": policies.budget,
    "pods": pods.created,
    "priorityclasses.scheduling.k8s.io": policies.priority_class,
    "resourcequotas": policies.quota,
    "secrets": contents.secret,
    "storageclasses.storage.k8s.io": storage.storage_class,
}
_CHANGES: Final[dict[str, _Change]] = {
    "configmaps": contents.updated,
    "jobs.batch": jobs.job_updated,
    "persistentvolumeclaims": storage.claim_updated,
    "pods": pod_changes.updated,
    "priorityclasses.scheduling.k8s.io": policies.priority_class_updated,
    "resourcequotas": policies.quota_updated,
    "secrets": contents.secret_updated,
}


def created(resource: Resource, value: Json) -> list[Cause]:
    """What is wrong with a new object that has been read and has its defaults."""
    fields = cast(Fields, value)
    causes = list(metadata.created(resource, fields.get("metadata") or {}))
    if rule := _RULES.get(resource.qualified):
        causes.extend(rule(fields))
    return causes


def updated(resource: Resource, old: Json, value: Json) -> list[Cause]:
    """What is wrong with an object that takes the place of another; what has not changed is not looked at."""
    before, after = cast(Fields, old), cast(Fields, value)
    causes = list(metadata.updated(before.get("metadata") or {}, after.get("metadata") or {}))
    rule, change = _RULES.get(resource.qualified), _CHANGES.get(resource.qualified)
    if rule and resource.qualified != "pods" and _but_for_metadata(before) != _but_for_metadata(after):
        causes.extend(rule(after))
    if change:
        causes.extend(change(before, after))
    return causes


def _but_for_metadata(value: Fields) -> Fields:
    return {key: below for key, below in value.items() if key != "metadata"}
