"""Which changes of a pod are allowed: hardly any, once it is there."""

import difflib
import json
from collections.abc import Iterator
from typing import Final

from maar.embedded.failures import Cause
from maar.embedded.schema.messages import forbidden, invalid
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.pods import pod_spec

_CHANGEABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def updated(old: Fields, pod: Fields) -> Iterator[Cause]:
    """A pod that was there before."""
    before, after = old.get("spec") or {}, pod.get("spec") or {}
    if before != after:
        yield from pod_spec(after, "spec")
        yield from _changed(before, after)


def _changed(before: Fields, after: Fields) -> Iterator[Cause]:
    yield from _deadline(before.get("activeDeadlineSeconds"), after.get("activeDeadlineSeconds"))
    gates = [gate.get("name") for gate in before.get("schedulingGates") or ()]
    for position, gate in enumerate(after.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden(f"spec.schedulingGates[{position}].name", why)
    kept = [_but_for_seconds(one) for one in after.get("tolerations") or ()]
    if any(_but_for_seconds(one) not in kept for one in before.get("tolerations") or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", why)
    if gates:
        yield from _selector(before.get("nodeSelector") or {}, after.get("nodeSelector") or {})
    was, now = _fixed(before, gated=bool(gates)), _fixed(after, gated=bool(gates))
    if was != now:
        yield forbidden("spec", f"{_CHANGEABLE}\n{difference(was, now)}")


def _deadline(before: int | None, after: int | None) -> Iterator[Cause]:
    field = "spec.activeDeadlineSeconds"
    if before is not None and after is None:
        yield invalid(field, None, "must not update from a positive integer to nil value")
    elif before is not None and after is not None and after > before:
        yield invalid(field, after, "must be less than or equal to previous value")


def _selector(before: Fields, after: Fields) -> Iterator[Cause]:
    if any(after.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", after, why)


def _fixed(spec: Fields, *, gated: bool) -> Fields:
    """A pod's spec without what may change; a pod behind a gate may still say more about its nodes."""
    changing = {"activeDeadlineSeconds", "schedulingGates", "tolerations"}
    if gated:
        changing |= {"nodeSelector", "affinity"}
    fixed = {key: value for key, value in spec.items() if key not in changing}
    if gated:
        fixed["affinity"] = {k: v for k, v in (spec.get("affinity") or {}).items() if k != "nodeAffinity"}
    for field_name in ("containers", "initContainers"):
        if field_name in fixed:
            fixed[field_name] = [{**one, "image": ""} for one in fixed[field_name]]
    return fixed


def _but_for_seconds(toleration: Fields) -> Fields:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def difference(before: Fields, after: Fields) -> str:
    """What has changed, line by line."""
    was, now = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (before, after))
    return "\n".join([*difflib.unified_diff(was, now, lineterm="")][2:]) + "\n"
