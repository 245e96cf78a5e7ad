"""Rules for ReplicaSets, StatefulSets and Jobs, which the embedded server only keeps."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.policy.selectors import match_selector
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import forbidden, invalid, required, unsupported
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.pods import template
from maar.embedded.schema.rules.resource_lists import NOT_NEGATIVE
from maar.embedded.schema.rules.selectors import label_selector

_COUNTS: Final = ("parallelism", "completions", "backoffLimit")
_SET_CHANGES: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def replica_set(found: Fields) -> Iterator[Cause]:
    """A ReplicaSet, new or changed."""
    yield from _replicated(found.get("spec") or {}, "deployment")


def stateful_set(found: Fields) -> Iterator[Cause]:
    """A StatefulSet, new or changed."""
    yield from _replicated(found.get("spec") or {}, "statefulset")


def replica_set_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A ReplicaSet selects the same pods for ever."""
    before, after = ((one.get("spec") or {}).get("selector") for one in (old, found))
    if before != after:
        yield invalid("spec.selector", after, "field is immutable")


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
    made, selector = spec.get("template") or {}, spec.get("selector")
    yield from _counts(spec, _COUNTS)
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
    for field in ("completions", "selector", "template"):
        if before.get(field) != after.get(field):
            yield invalid(f"spec.{field}", after.get(field), "field is immutable")


def _counts(spec: Fields, keys: Sequence[str]) -> Iterator[Cause]:
    for key in keys:
        if (spec.get(key) or 0) < 0:
            yield invalid(f"spec.{key}", spec[key], NOT_NEGATIVE)


def _replicated(spec: Fields, called: str) -> Iterator[Cause]:
    selector, made = spec.get("selector"), spec.get("template") or {}
    yield from _counts(spec, ("replicas",))
    if selector is None:
        yield required("spec.selector")
    elif not (selector.get("matchLabels") or selector.get("matchExpressions")):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {called}")
    else:
        yield from label_selector(selector, "spec.selector")
    if selector != {}:
        yield from _selected(selector, made)
    yield from template(made, "spec.template")
    policy = (made.get("spec") or {}).get("restartPolicy", "Always")
    if policy != "Always":
        yield unsupported("spec.template.spec.restartPolicy", policy, ("Always",))


def _selected(selector: Fields | None, made: Fields) -> Iterator[Cause]:
    labels = (made.get("metadata") or {}).get("labels")
    try:
        is_selected = match_selector(msgspec.convert(selector, LabelSelector | None), labels or {})
    except msgspec.ValidationError:
        is_selected = False
    if not is_selected:
        why = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, why)
