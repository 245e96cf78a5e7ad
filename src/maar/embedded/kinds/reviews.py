"""Access reviews: who a caller is, and what it may do."""

from collections.abc import Mapping
from typing import Final

from maar.embedded.calls import Caller, metadata, text
from maar.embedded.failures import ApiError, Cause, Json, bad_request, invalid
from maar.embedded.kinds.parts import part
from maar.embedded.resources import Resource
from maar.embedded.schema.messages import shown

_ADMINISTRATORS: Final = "system:masters"
_ANYTHING: Final[Mapping[str, object]] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_NOTHING: Final[Mapping[str, object]] = {"resourceRules": [], "nonResourceRules": [], "incomplete": False}


def review(resource: Resource, body: Json, caller: Caller) -> Json:
    """Answer a review of the caller; members of system:masters may do anything."""
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": metadata(body),
        **({"spec": body["spec"]} if "spec" in body else {}),
        "status": _status(resource, part(body, "spec"), caller),
    }


def _status(resource: Resource, spec: Json, caller: Caller) -> Json:
    if resource.kind == "SelfSubjectReview":
        return {"userInfo": {"username": caller.name, "groups": list(caller.groups)}}
    if resource.kind == "SelfSubjectRulesReview":
        if not text(spec, "namespace"):
            raise bad_request("no namespace on request")
        return dict(_ANYTHING if _ADMINISTRATORS in caller.groups else _NOTHING)
    if ("resourceAttributes" in spec) == ("nonResourceAttributes" in spec):
        raise _not_exactly_one(resource, spec)
    return {"allowed": _ADMINISTRATORS in caller.groups}


def _not_exactly_one(resource: Resource, spec: Json) -> ApiError:
    field = "spec.resourceAttributes"
    problem = "null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
    if "nonResourceAttributes" in spec:
        field, asked = "spec.nonResourceAttributes", shown(spec["nonResourceAttributes"])
        problem = f"{asked}: cannot be specified in combination with resourceAttributes"
    cause = Cause(field, "FieldValueInvalid", f"Invalid value: {problem}")
    return invalid(resource.kind, resource.group, "", [cause])
