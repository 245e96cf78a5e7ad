"""The OpenAPI documents hold what kubectl looks for."""

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha512
from typing import Any, Final

import pytest

from maar.embedded import documents
from maar.embedded.resources import BUILT_IN, Resource
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.custom import packaged
from maar.embedded.schema.types import Schema

Json = dict[str, Any]

KINDS: Final[list[tuple[Resource, Schema]]] = [
    *((one, builtin(one.api_version, one.kind)) for one in BUILT_IN),
    *((one.resource, one.schema) for one in packaged()),
]
VERSIONS: Final = sorted({resource.api_version for resource, _ in KINDS})
QUEUE: Final = "sh.volcano.scheduling.v1beta1.Queue"


@cache
def document(version: str) -> Json:
    place = f"apis/{version}" if "/" in version else f"api/{version}"
    found: Json = json.loads(documents.openapi(place))
    return found


def mark(resource: Resource, kind: str) -> Json:
    return {"group": resource.group, "version": resource.version, "kind": kind}


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, below in node.items():
            if key == "$ref" and isinstance(below, str):
                yield below
            else:
                yield from references(below)
    elif isinstance(node, list):
        for below in node:
            yield from references(below)


def test_the_index_names_every_document_by_what_is_in_it() -> None:
    paths = json.loads(documents.index())["paths"]
    assert sorted(paths) == sorted(
        f"apis/{version}" if "/" in version else f"api/{version}" for version in VERSIONS
    )
    addresses = [one["serverRelativeURL"] for one in paths.values()]
    assert all(
        address.startswith(f"/openapi/v3/{place}?hash=")
        for place, address in zip(paths, addresses, strict=True)
    )
    assert len({address.partition("=")[2] for address in addresses}) == len(addresses)
    for place, address in zip(paths, addresses, strict=True):
        assert address.endswith(sha512(documents.openapi(place)).hexdigest().upper())


@pytest.mark.parametrize("version", VERSIONS)
def test_every_reference_leads_to_a_type_that_is_there(version: str) -> None:
    schemas = document(version)["components"]["schemas"]
    found = set(references(document(version)))
    assert found
    assert {one.removeprefix("#/components/schemas/") for one in found} <= schemas.keys()
    assert all(schemas.values())


@pytest.mark.parametrize(("resource", "schema"), KINDS, ids=lambda one: getattr(one, "qualified", ""))
def test_a_kind_is_found_by_its_group_version_and_kind(resource: Resource, schema: Schema) -> None:
    schemas = document(resource.api_version)["components"]["schemas"]
    assert schemas[schema.name]["x-kubernetes-group-version-kind"] == [mark(resource, resource.kind)]
    listed = schemas[f"{schema.name}List"]["x-kubernetes-group-version-kind"]
    assert listed == [mark(resource, f"{resource.kind}List")]
    assert schemas[schema.name]["description"]


@pytest.mark.parametrize(("resource", "schema"), KINDS, ids=lambda one: getattr(one, "qualified", ""))
def test_unknown_fields_may_be_left_to_the_server(resource: Resource, schema: Schema) -> None:
    del schema
    found = {
        method
        for path in document(resource.api_version)["paths"].values()
        for method, operation in path.items()
        if operation["x-kubernetes-group-version-kind"] == mark(resource, resource.kind)
        and any(one["name"] == "fieldValidation" for one in operation["parameters"])
    }
    methods = {"create": "post", "update": "put", "patch": "patch"}
    assert found == {method for verb, method in methods.items() if verb in resource.verbs}


def test_only_built_in_kinds_take_strategic_patches() -> None:
    def patches(version: str, path: str) -> set[str]:
        return set(document(version)["paths"][path]["patch"]["requestBody"]["content"])

    pods = patches("v1", "/api/v1/namespaces/{namespace}/pods/{name}")
    queues = patches("scheduling.volcano.sh/v1beta1", "/apis/scheduling.volcano.sh/v1beta1/queues/{name}")
    assert pods - queues == {"application/strategic-merge-patch+json"}
    assert "application/apply-patch+yaml" in queues


def test_subresources_are_marked_with_what_they_take() -> None:
    paths = document("v1")["paths"]
    evict = paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert evict["x-kubernetes-group-version-kind"] == {
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
    }
    assert "/api/v1/namespaces/{namespace}/pods/{name}/log" in paths
    assert "/api/v1/namespaces/{namespace}/nodes" not in paths
    reviews = document("authorization.k8s.io/v1")["paths"]
    assert set(reviews["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"]) == {"post"}


def test_merge_keys_and_constraints_are_told() -> None:
    pod = document("v1")["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert pod["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert pod["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert pod["volumes"]["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    assert pod["nodeSelector"]["x-kubernetes-map-type"] == "atomic"
    schemas = document("v1")["components"]["schemas"]
    assert schemas["io.k8s.api.core.v1.ObjectReference"]["x-kubernetes-map-type"] == "atomic"
    queue = document("scheduling.volcano.sh/v1beta1")["components"]["schemas"][QUEUE]["properties"]["spec"]
    weight = queue["properties"]["weight"]
    assert (weight["minimum"], weight["maximum"], weight["default"]) == (1, 65535, 1)
    assert queue["properties"]["state"]["enum"] == ["Open", "Closed"]
    assert queue["x-kubernetes-validations"]
