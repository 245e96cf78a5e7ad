"""Rules for ReplicaSets, StatefulSets and Jobs."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.pods import template
from maar.embedded.schema.rules.resource_lists import NOT_NEGATIVE
from maar.embedded.schema.rules.selectors import label_selector, matches
from maar.embedded.schema.words import forbidden, invalid, judged, required, unsupported

_COUNTS: Final = ("replicas", "minReadySeconds")
_JOB_COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
)  # fmt: skip
_NEEDS_INDEX: Final = ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")
_SET_CHANGES: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_IMMUTABLE: Final = "field is immutable"


def replica_set(found: Fields) -> Iterator[Cause]:
    """A ReplicaSet, new or changed."""
    spec = found.get("spec") or {}
    yield from _counts(spec, _COUNTS)
    yield from _replicated(spec, "deployment", "ReplicaSet")


def replica_set_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A ReplicaSet minds the same pods for ever."""
    before, after = ((one.get("spec") or {}).get("selector") for one in (old, found))
    if before != after:
        yield invalid("spec.selector", after, _IMMUTABLE)


def stateful_set(found: Fields) -> Iterator[Cause]:
    """A StatefulSet, new or changed."""
    spec = found.get("spec") or {}
    policy = spec.get("podManagementPolicy", "OrderedReady")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") not in ("RollingUpdate", "OnDelete"):
        yield invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'")
    if (partition := (strategy.get("rollingUpdate") or {}).get("partition", 0)) < 0:
        yield invalid("spec.updateStrategy.rollingUpdate.partition", partition, NOT_NEGATIVE)
    for when, chosen in (spec.get("persistentVolumeClaimRetentionPolicy") or {}).items():
        if chosen not in ("Retain", "Delete"):
            field = f"spec.persistentVolumeClaimRetentionPolicy.{when}"
            yield unsupported(field, chosen, ("Retain", "Delete"))
    if (start := (spec.get("ordinals") or {}).get("start", 0)) < 0:
        yield invalid("spec.ordinals.start", start, NOT_NEGATIVE)
    if name := spec.get("serviceName"):
        yield from judged("spec.serviceName", name, names.label(name))
    yield from _counts(spec, _COUNTS)
    yield from _replicated(spec, "statefulset", "StatefulSet")


def stateful_set_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """Of a StatefulSet only some things change."""
    before, after = old.get("spec") or {}, found.get("spec") or {}
    if any(before.get(key) != after.get(key) for key in {*before, *after} - set(_SET_CHANGES)):
        some, last = ", ".join(f"'{key}'" for key in _SET_CHANGES[:-1]), _SET_CHANGES[-1]
        yield forbidden(
            "spec", f"updates to statefulset spec for fields other than {some} and '{last}' are forbidden"
        )


def job(found: Fields) -> Iterator[Cause]:
    """A Job, new or changed."""
    spec = found.get("spec") or {}
    made = spec.get("template") or {}
    yield from _counts(spec, _JOB_COUNTS)
    for key, choices in (
        ("completionMode", ("NonIndexed", "Indexed")),
        ("podReplacementPolicy", ("Failed", "TerminatingOrFailed")),
    ):
        if (chosen := spec.get(key)) and chosen not in choices:
            yield unsupported(f"spec.{key}", chosen, choices)
    if spec.get("completionMode") != "Indexed":
        for key in _NEEDS_INDEX:
            if spec.get(key) is not None:
                yield invalid(f"spec.{key}", spec[key], "requires indexed completion mode")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    selector = spec.get("selector")
    if spec.get("manualSelector") and selector is None:
        yield required("spec.selector")
    if spec.get("manualSelector") or selector is not None:
        yield from label_selector(selector, "spec.selector")
        yield from _selected(selector, made)
    yield from template(made, "spec.template")
    if (made.get("spec") or {}).get("restartPolicy") not in ("OnFailure", "Never"):
        yield required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


def job_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A Job runs the same pods for ever."""
    before, after = old.get("spec") or {}, found.get("spec") or {}
    for field in ("completions", "selector", "template", "completionMode", "podFailurePolicy"):
        if before.get(field) != after.get(field):
            yield invalid(f"spec.{field}", after.get(field), _IMMUTABLE)


def _counts(spec: Fields, keys: Sequence[str]) -> Iterator[Cause]:
    for key in keys:
        if (spec.get(key) or 0) < 0:
            yield invalid(f"spec.{key}", spec[key], NOT_NEGATIVE)


def _replicated(spec: Fields, called: str, kind: str) -> Iterator[Cause]:
    selector, made = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        yield required("spec.selector")
    elif not (selector.get("matchLabels") or selector.get("matchExpressions")):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {called}")
    else:
        yield from label_selector(selector, "spec.selector")
    if selector != {}:
        yield from _selected(selector, made)
    yield from template(made, "spec.template")
    pod = made.get("spec") or {}
    if pod.get("restartPolicy", "Always") != "Always":
        yield unsupported("spec.template.spec.restartPolicy", pod["restartPolicy"], ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", why)


def _selected(selector: Fields | None, made: Fields) -> Iterator[Cause]:
    labels = (made.get("metadata") or {}).get("labels")
    if selector is None or not matches(selector, labels):
        why = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, why)
