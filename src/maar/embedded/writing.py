"""Writing objects: what comes over HTTP, turned into calls on the cluster."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from maar.embedded.calls import Deletion, metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json, bad_request
from maar.embedded.http import ApiRequest, as_object, from_json
from maar.embedded.kinds.pods import bind, evict
from maar.embedded.kinds.reviews import review
from maar.embedded.lifecycle import deletion_of
from maar.embedded.patch.json_patch import json_patch, merge_patch
from maar.embedded.patch.strategic import strategic_patch
from maar.embedded.reading import Reader
from maar.embedded.routes import Target

_JSON_PATCH: Final = "application/json-patch+json"
_MERGE_PATCH: Final = "application/merge-patch+json"
_STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
_APPLY_PATCH: Final = "application/apply-patch+yaml"

Answer = tuple[int, Json]


class Writer:
    """Carries out what clients ask to be written."""

    def __init__(self, cluster: Cluster, reader: Reader) -> None:
        self._cluster, self._reader = cluster, reader

    async def create(self, target: Target, request: ApiRequest) -> Answer:
        """POST: a new object, or an act on one."""
        value, call = await request.object(), request.call()
        resource = target.served.resource
        if target.subresource == "binding":
            return HTTPStatus.CREATED, bind(self._cluster, target.namespace, target.name, value, call)
        if resource.kind == "Binding":
            name = text(metadata(value), "name")
            return HTTPStatus.CREATED, bind(self._cluster, target.namespace, name, value, call)
        if target.subresource == "eviction":
            return HTTPStatus.CREATED, evict(self._cluster, target.namespace, target.name, value, call)
        if target.name:
            raise not_allowed()
        if resource.verbs == ("create",):
            return HTTPStatus.CREATED, review(resource, value, request.caller)
        if resource.namespaced and not target.namespace:
            raise bad_request("an object of a namespace is created under /namespaces/NAME/")
        return HTTPStatus.CREATED, self._cluster.create(resource.qualified, target.namespace, value, call)

    async def replace(self, target: Target, request: ApiRequest) -> Answer:
        """PUT: an object in place of the one that is there."""
        value = await request.object()
        return HTTPStatus.OK, self._cluster.replace(
            target.served.resource.qualified,
            target.namespace,
            target.name,
            value,
            target.subresource,
            request.call(),
        )

    async def patch(self, target: Target, request: ApiRequest) -> Answer:
        """PATCH: a change to an object, in one of four forms."""
        data, media_type, call = await request.body(), request.content_type, request.call()
        plural = target.served.resource.qualified
        place = (plural, target.namespace, target.name)
        if media_type == _APPLY_PATCH:
            if "fieldManager" not in request.query:
                raise bad_request("fieldManager is required for apply patch")
            wanted = as_object(request.from_yaml(data))
            value, made = self._cluster.apply(*place, wanted, target.subresource, call)
            return HTTPStatus.CREATED if made else HTTPStatus.OK, value
        edit = self._edit(target, media_type, from_json(data))
        return HTTPStatus.OK, self._cluster.change(*place, edit, target.subresource, call)

    def _edit(self, target: Target, media_type: str, patch: object) -> Callable[[Json], Json]:
        served = target.served
        if media_type == _JSON_PATCH:
            return lambda old: json_patch(old, patch)
        if media_type == _MERGE_PATCH:
            return lambda old: merge_patch(old, as_object(patch))
        if media_type == _STRATEGIC_PATCH and not served.resource.custom:
            return lambda old: strategic_patch(old, as_object(patch), served.schema)
        known = (_JSON_PATCH, _MERGE_PATCH, _APPLY_PATCH) + (
            () if served.resource.custom else (_STRATEGIC_PATCH,)
        )
        raise ApiError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(known),
        )

    async def delete(self, target: Target, request: ApiRequest) -> Answer:
        """DELETE: one object, or all that are selected."""
        how, call = await _deletion(request), request.call()
        plural = target.served.resource.qualified
        if target.name:
            value, gone = self._cluster.delete(plural, target.namespace, target.name, how, call)
            return HTTPStatus.OK, _gone(target, value) if gone else value
        values = self._reader.matching(target, request)
        for value in values:
            self._cluster.delete(
                plural, text(metadata(value), "namespace"), text(metadata(value), "name"), how, call
            )
        resource = target.served.resource
        return HTTPStatus.OK, {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.api_version,
            "metadata": {"resourceVersion": str(self._cluster.store.revision)},
            "items": list(values),
        }


def not_allowed() -> ApiError:
    """The resource does not know this verb."""
    return ApiError(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )


def _gone(target: Target, value: Json) -> Json:
    meta, resource = metadata(value), target.served.resource
    details = {
        "name": meta["name"],
        "group": resource.group,
        "kind": resource.plural,
        "uid": meta["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: text for name, text in details.items() if text},
    }


async def _deletion(request: ApiRequest) -> Deletion:
    data = await request.body()
    options = as_object(request.read(data)) if data else {}
    if options.get("dryRun"):
        request.query["dryRun"] = "All"
    asked: Json = {
        "gracePeriodSeconds": request.number("gracePeriodSeconds"),
        "propagationPolicy": request.query.get("propagationPolicy"),
    }
    return deletion_of({**asked, **options})
