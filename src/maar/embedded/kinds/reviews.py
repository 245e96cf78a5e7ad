"""Access reviews: who a caller is, and what it may do."""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from maar.embedded.calls import Caller, metadata, text
from maar.embedded.failures import Cause, Json, bad_request, invalid
from maar.embedded.kinds.parts import part, words
from maar.embedded.resources import Resource

_ALL_POWERFUL: Final = "system:masters"
_ANYTHING: Final[Mapping[str, object]] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_NOTHING: Final[Mapping[str, object]] = {"resourceRules": [], "nonResourceRules": [], "incomplete": False}


def review(resource: Resource, body: Json, caller: Caller) -> Json:
    """Answer a review, for the caller or for whomever it names; members of system:masters may do anything."""
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
        return dict(_ANYTHING if _ALL_POWERFUL in caller.groups else _NOTHING)
    groups: Collection[str] = caller.groups
    if resource.kind != "SelfSubjectAccessReview":
        groups = words(spec, "groups")
        if not groups and not text(spec, "user"):
            raise _invalid(resource, "spec.user", '"": at least one of user or group must be specified')
    _check_question(resource, spec)
    return {"allowed": _ALL_POWERFUL in groups}


def _check_question(resource: Resource, spec: Json) -> None:
    if "nonResourceAttributes" in spec:
        asked = msgspec.json.encode(spec["nonResourceAttributes"]).decode()
        if "resourceAttributes" in spec:
            problem = "cannot be specified in combination with resourceAttributes"
            raise _invalid(resource, "spec.nonResourceAttributes", f"{asked}: {problem}")
        if resource.kind == "LocalSubjectAccessReview":
            problem = "disallowed on this kind of request"
            raise _invalid(resource, "spec.nonResourceAttributes", f"{asked}: {problem}")
    elif "resourceAttributes" not in spec:
        raise _invalid(
            resource,
            "spec.resourceAttributes",
            "null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )


def _invalid(resource: Resource, field: str, problem: str) -> Exception:
    cause = Cause(field, "FieldValueInvalid", f"Invalid value: {problem}")
    return invalid(resource.kind, resource.group, "", [cause])
