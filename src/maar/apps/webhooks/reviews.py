"""AdmissionReviews: what an API server asks, in Maar's terms, and the answer in its own."""

import base64
from http import HTTPStatus
from typing import Final, Literal

import msgspec

from maar.core.admission.request import Json, Request, Verdict
from maar.core.admission.rules import RULES_BY_RESOURCE
from maar.core.model.kinds import to_json
from maar.core.model.metadata import Record

Verb = Literal["mutate", "validate"]

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
PATHS: Final[dict[str, tuple[str, Verb]]] = {
    f"/{resource}/{verb}": (resource, verb)
    for resource in RULES_BY_RESOURCE
    for verb in ("mutate", "validate")
}

_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class BadReviewError(ValueError):
    """What came is no review that can be answered."""


class AdmissionRequest(msgspec.Struct, frozen=True):
    """A request to be judged, and the mark that its answer carries."""

    uid: str
    request: Request


def read_review(body: bytes, resource: str) -> AdmissionRequest:
    """Read a review of a resource as an API server sends it."""
    try:
        review = _REVIEW.decode(body)
    except _UNREADABLE as error:
        raise BadReviewError(f"the body is no {KIND} of {API_VERSION}: {error}") from None
    asked = review.request
    if (review.api_version, review.kind) != (API_VERSION, KIND) or asked is None:
        found = f"{review.kind or 'something'} of {review.api_version or 'no version'}"
        raise BadReviewError(
            f"the body is {found}{'' if asked else ' without a request'}; send an {KIND} of {API_VERSION}"
        )
    if asked.resource.resource != resource:
        raise BadReviewError(
            f"the review is about {asked.resource.resource or 'nothing'}, and this path is for {resource};"
            " correct the path in the webhook configuration"
        )
    request = Request(
        operation=asked.operation,
        resource=resource,
        subresource=asked.sub_resource or "",
        namespace=asked.namespace or "",
        name=asked.name or "",
        old=asked.old_object,
        new=asked.new_object,
        user=asked.user_info.username or "",
        groups=tuple(asked.user_info.groups or ()),
        dry_run=bool(asked.dry_run),
    )
    return AdmissionRequest(asked.uid, request)


def answer_of(uid: str, verdict: Verdict) -> bytes:
    """Write a verdict as an API server reads it; a refusal is 403, as those of other webhooks are."""
    response: Json = {"uid": uid, "allowed": verdict.allowed}
    if verdict.warnings:
        response["warnings"] = [str(one) for one in verdict.warnings]
    if not verdict.allowed:
        response["status"] = {
            "code": int(HTTPStatus.FORBIDDEN),
            "reason": "Forbidden",
            "message": verdict.message,
        }
    elif verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(to_json(verdict.patch)).decode()
    return to_json({"apiVersion": API_VERSION, "kind": KIND, "response": response})


class _Resource(Record, frozen=True):
    resource: str = ""


class _User(Record, frozen=True):
    username: str | None = None
    groups: list[str] | None = None


class _Asked(Record, frozen=True):
    uid: str
    operation: str
    resource: _Resource
    sub_resource: str | None = None
    namespace: str | None = None
    name: str | None = None
    user_info: _User = _User()
    old_object: object = None  # anything: the rules say what is wrong with it
    new_object: object = msgspec.field(default=None, name="object")
    dry_run: bool | None = None


class _Review(Record, frozen=True):
    api_version: str = ""
    kind: str = ""
    request: _Asked | None = None


_REVIEW: Final = msgspec.json.Decoder(_Review)
