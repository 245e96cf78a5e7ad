"""What the server tells clients about itself: groups, versions, resources."""

from collections.abc import Iterable, Sequence
from typing import Final

from maar.embedded.failures import Json
from maar.embedded.resources import Resource

# Subresources that are kinds of their own.
_SUBRESOURCE_KINDS: Final = {
    ("pods", "binding"): ("", "v1", "Binding", ("create",)),
    ("pods", "eviction"): ("policy", "v1", "Eviction", ("create",)),
    ("pods", "log"): ("", "", "Pod", ("get",)),
    ("namespaces", "finalize"): ("", "", "Namespace", ("update",)),
}


def documents(resources: Sequence[Resource]) -> dict[str, Json]:
    """What each path answers that tells of groups, versions and resources."""
    legacy: Json = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    pages = {"/api": legacy, "/apis": _group_list(resources)}
    for name in _groups(resources):
        root = f"/apis/{name}" if name else "/api"
        if name:
            pages[root] = _group(resources, name)
        for version in _versions(resources, name):
            pages[f"{root}/{version}"] = _resource_list(resources, name, version)
    return pages


def _group_list(resources: Sequence[Resource]) -> Json:
    groups = [_group(resources, name) for name in _groups(resources) if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group(resources: Iterable[Resource], name: str) -> Json:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version} for version in _versions(resources, name)
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def _resource_list(resources: Iterable[Resource], name: str, version: str) -> Json:
    listed: list[Json] = []
    for resource in resources:
        if (resource.group, resource.version) != (name, version):
            continue
        listed.append(
            {
                "name": resource.plural,
                "singularName": resource.singular,
                "namespaced": resource.namespaced,
                "kind": resource.kind,
                "verbs": list(resource.verbs),
                **({"shortNames": list(resource.short_names)} if resource.short_names else {}),
                **({"categories": list(resource.categories)} if resource.categories else {}),
            }
        )
        for part in resource.subresources:
            kind = _part(resource, part)
            listed.append(
                {
                    "name": f"{resource.plural}/{part}",
                    "singularName": "",
                    "namespaced": resource.namespaced,
                    "kind": kind[2],
                    "verbs": list(kind[3]),
                    **({"group": kind[0], "version": kind[1]} if kind[1] else {}),
                }
            )
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{name}/{version}" if name else version,
        "resources": listed,
    }


def aggregated(resources: Sequence[Resource], *, legacy: bool) -> Json:
    """All at once, for clients that ask for it: /api or /apis as APIGroupDiscoveryList."""
    items: list[Json] = []
    for name in _groups(resources):
        if (name == "") is not legacy:
            continue
        versions = [
            {"version": version, "freshness": "Current", "resources": _discovered(resources, name, version)}
            for version in _versions(resources, name)
        ]
        items.append({"metadata": {"name": name} if name else {}, "versions": versions})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _discovered(resources: Iterable[Resource], name: str, version: str) -> list[Json]:
    return [
        {
            "resource": resource.plural,
            "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "singularResource": resource.singular,
            "verbs": list(resource.verbs),
            "shortNames": list(resource.short_names),
            "categories": list(resource.categories),
            "subresources": [
                {
                    "subresource": part,
                    "responseKind": {"group": kind[0], "version": kind[1], "kind": kind[2]},
                    "verbs": list(kind[3]),
                }
                for part in resource.subresources
                for kind in [_part(resource, part)]
            ],
        }
        for resource in resources
        if (resource.group, resource.version) == (name, version)
    ]


def _part(resource: Resource, part: str) -> tuple[str, str, str, tuple[str, ...]]:
    known = _SUBRESOURCE_KINDS.get((resource.plural, part))
    if known is not None:
        return known
    return resource.group, resource.version, resource.kind, ("get", "patch", "update")


def _groups(resources: Iterable[Resource]) -> list[str]:
    return list(dict.fromkeys(resource.group for resource in resources))


def _versions(resources: Iterable[Resource], name: str) -> list[str]:
    return list(dict.fromkeys(resource.version for resource in resources if resource.group == name))
