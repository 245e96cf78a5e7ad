"""Rules for Jobs."""

from collections.abc import Iterator
from typing import Final

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.policy.selectors import match_selector
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import invalid, required
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.pods import template
from maar.embedded.schema.rules.resource_lists import NOT_NEGATIVE
from maar.embedded.schema.rules.selectors import label_selector

_COUNTS: Final = ("parallelism", "completions", "backoffLimit")


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


def job_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A Job runs the same pods for ever."""
    before, after = old.get("spec") or {}, found.get("spec") or {}
    for field in ("completions", "selector", "template"):
        if before.get(field) != after.get(field):
            yield invalid(f"spec.{field}", after.get(field), "field is immutable")


def _selected(selector: Fields | None, made: Fields) -> Iterator[Cause]:
    labels = (made.get("metadata") or {}).get("labels")
    try:
        is_selected = match_selector(msgspec.convert(selector, LabelSelector | None), labels or {})
    except msgspec.ValidationError:
        is_selected = False
    if not is_selected:
        why = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, why)
