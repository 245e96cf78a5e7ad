"""Rules for Jobs."""

from collections.abc import Iterator
from typing import Final

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.policy.selectors import match_selector
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import invalid, required, unsupported
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.pods import template
from maar.embedded.schema.rules.resource_lists import NOT_NEGATIVE
from maar.embedded.schema.rules.selectors import label_selector

_COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_MODES: Final = ("Indexed", "NonIndexed")
_MOST_INDEXED: Final = 100_000  # pods of an Indexed job at a time
_FIXED: Final = (
    "selector", "template", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy",
    "successPolicy",
)  # fmt: skip


def job(found: Fields) -> Iterator[Cause]:
    """A Job, new or changed."""
    spec = found.get("spec") or {}
    made, selector = spec.get("template") or {}, spec.get("selector")
    for key in _COUNTS:
        if (spec.get(key) or 0) < 0:
            yield invalid(f"spec.{key}", spec[key], NOT_NEGATIVE)
    if spec.get("manualSelector") and selector is None:
        yield required("spec.selector")
    if spec.get("manualSelector") or selector is not None:
        yield from label_selector(selector, "spec.selector")
        yield from _selected(selector, made)
    yield from template(made, "spec.template")
    if (made.get("spec") or {}).get("restartPolicy") not in ("OnFailure", "Never"):
        yield required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    yield from _indexed(spec)
    yield from _failure_policy(spec)


def job_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A Job runs the same pods for ever."""
    before, after = old.get("spec") or {}, found.get("spec") or {}
    if before.get("completions") != after.get("completions"):
        is_elastic = after.get("completionMode") == "Indexed" and "completions" in after
        if not is_elastic:
            yield invalid("spec.completions", after.get("completions"), "field is immutable")
        elif after["completions"] != after.get("parallelism"):
            why = "can only be modified in tandem with spec.parallelism"
            yield invalid("spec.completions", after["completions"], why)
    for field in _FIXED:
        if before.get(field) != after.get(field):
            yield invalid(f"spec.{field}", after.get(field), "field is immutable")


def _indexed(spec: Fields) -> Iterator[Cause]:
    mode, parallel = spec.get("completionMode"), spec.get("parallelism") or 0
    if mode not in _MODES:
        yield unsupported("spec.completionMode", mode, _MODES)
    if mode == "Indexed":
        if spec.get("completions") is None:
            yield required("spec.completions", "when completion mode is Indexed")
        if parallel > _MOST_INDEXED:
            why = f"must be less than or equal to {_MOST_INDEXED} when completion mode is Indexed"
            yield invalid("spec.parallelism", parallel, why)
    elif (limit := spec.get("backoffLimitPerIndex")) is not None:
        yield invalid("spec.backoffLimitPerIndex", limit, "requires indexed completion mode")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")


def _failure_policy(spec: Fields) -> Iterator[Cause]:
    made = (spec.get("template") or {}).get("spec") or {}
    for field in ("podFailurePolicy", "backoffLimitPerIndex"):
        if spec.get(field) is not None and made.get("restartPolicy") == "OnFailure":
            why = f'only "Never" is supported when {field} is specified'
            yield invalid("spec.template.spec.restartPolicy", "OnFailure", why)
    for position, rule in enumerate((spec.get("podFailurePolicy") or {}).get("rules") or ()):
        field = f"spec.podFailurePolicy.rules[{position}]"
        if rule.get("action") not in _ACTIONS:
            yield unsupported(f"{field}.action", rule.get("action"), _ACTIONS)
        if rule.get("action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{field}.action", "FailIndex", "requires the backoffLimitPerIndex to be set")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes and conditions:
            yield invalid(field, rule, "specifying both OnExitCodes and OnPodConditions is not supported")
        elif not codes and not conditions:
            yield invalid(field, rule, "specifying one of OnExitCodes and OnPodConditions is required")


def _selected(selector: Fields | None, made: Fields) -> Iterator[Cause]:
    labels = (made.get("metadata") or {}).get("labels")
    try:
        is_selected = match_selector(msgspec.convert(selector, LabelSelector | None), labels or {})
    except msgspec.ValidationError:
        is_selected = False
    if not is_selected:
        why = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, why)
