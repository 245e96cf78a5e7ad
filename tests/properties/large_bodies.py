"""Bodies near the limit of size, each with very much of one thing."""

import json
from collections.abc import Iterator

from properties.hostile_requests import TARGETS, Json
from support.hostile_text import LONG_YAML
from support.in_process_server import Sent


def _wide(count: int) -> Json:
    return {f"k{number}": "v" for number in range(count)}


def _times(count: int, **operation: object) -> list[Json]:
    return [{name.rstrip("_"): value for name, value in operation.items()}] * count


def _deep(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


LARGE: dict[str, Json] = {
    "labels": {"metadata": {"labels": _wide(30_000)}},
    "annotations": {"metadata": {"annotations": _wide(10_000)}},
    "a long annotation": {"metadata": {"annotations": {"a": "x" * 2_900_000}}},
    "finalizers": {"metadata": {"finalizers": [f"a/f{number}" for number in range(30_000)]}},
    "managed fields": {
        "metadata": {
            "managedFields": [
                {
                    "manager": f"m{number}",
                    "operation": "Update",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {}},
                }
                for number in range(14_000)
            ]
        }
    },
    "unknown fields": {"spec": _wide(30_000)},
    "too many fields": {"spec": _wide(150_000)},
    "containers": {"spec": {"containers": [{"name": f"c{n}", "image": "i"} for n in range(30_000)]}},
    "equal containers": {"spec": {"containers": [{"name": "c", "image": "i"}] * 30_000}},
    "variables": {
        "spec": {
            "containers": [{"name": "c", "env": [{"name": f"E{n}", "value": "x"} for n in range(30_000)]}]
        }
    },
    "tasks": {"spec": {"tasks": [{"name": f"t{n}", "replicas": 1, "template": {}} for n in range(20_000)]}},
    "resources": {"spec": {"capability": {f"k{n}": 1 for n in range(30_000)}}},
    "data": {"data": _wide(30_000)},
    "policies": {"spec": {"policies": [{"event": "PodFailed", "action": "RestartJob"}] * 30_000}},
    "selectors": {
        "spec": {
            "namespaceSelector": {
                "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}] * 18_000
            }
        }
    },
    "conditions": {"status": {"conditions": [{"type": f"c{n}", "status": "True"} for n in range(30_000)]}},
    "lists": {"spec": {"x": [[]] * 900_000}},
    "depth": {"spec": {"tasks": [{"name": "a", "template": _deep(90)}] * 100}},
    "ports": {"spec": {"ports": [{"port": n + 1, "name": f"p{n}"} for n in range(30_000)]}},
    "orders": {"spec": {"$setElementOrder/containers": [{"name": f"c{n}"} for n in range(15_000)]}},
    "deletions": {"metadata": {"$deleteFromPrimitiveList/finalizers": [f"f{n}" for n in range(30_000)]}},
    "retained keys": {"spec": {"$retainKeys": [f"f{n}" for n in range(30_000)]}},
}
_TO: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("unknown fields", "depth"), ("pods", "queues")),
    **dict.fromkeys(("tasks", "policies"), ("jobs",)),
    **dict.fromkeys(("resources", "selectors"), ("queues",)),
    "data": ("configmaps",),
    "ports": ("services",),
}
_NOTE = "/metadata/annotations"
LARGE_PATCHES: dict[str, list[Json]] = {
    "many tests": _times(9_999, op="test", path="/metadata/name", value="t0"),
    "many copies": _times(9_999, op="copy", from_="/metadata", path=_NOTE),
    "copies of copies": [
        {"op": "add", "path": "/spec/x", "value": {}},
        *_times(30, op="copy", from_="/spec", path="/spec/x"),
    ],
    "many keys and then more": [
        {"op": "add", "path": _NOTE, "value": _wide(20_000)},
        *_times(9_900, op="add", path=f"{_NOTE}/z", value="1"),
    ],
    "ever deeper": [{"op": "add", "path": "/a" * (depth + 1), "value": {}} for depth in range(900)],
}


def large_requests(case: str) -> Iterator[Sent]:
    """The body in every form, to kinds that have such a field."""
    if case in LONG_YAML:
        yield _sent("apply", "PATCH", TARGETS[0].path("t0"), LONG_YAML[case].encode(errors="surrogatepass"))
        return
    for target in TARGETS:
        if target.plural not in _TO.get(case, ("pods",)):
            continue
        if case in LARGE_PATCHES:
            body = json.dumps(LARGE_PATCHES[case]).encode()
            yield _sent("json-patch", "PATCH", target.path("t0"), body)
            continue
        part: dict[str, dict[str, object]] = LARGE[case]  # type: ignore[assignment]  # each part is a mapping
        good: dict[str, dict[str, object]] = target.good  # type: ignore[assignment]
        whole = {name: {**good.get(name, {}), **part.get(name, {})} for name in {*good, *part}}
        whole["metadata"] = {"name": "t9", **part.get("metadata", {})}
        for form in ("merge-patch", "strategic-merge-patch", "apply"):
            yield _sent(form, "PATCH", target.path("t0"), json.dumps(part).encode())
        yield _sent("create", "POST", target.path(), json.dumps(whole).encode())


def _sent(form: str, method: str, path: str, body: bytes) -> Sent:
    kind = {"create": "json", "apply": "apply-patch+yaml"}.get(form, f"{form}+json")
    query = "dryRun=All&fieldManager=m&force=true"
    return Sent(form, method, path, query, ((b"content-type", f"application/{kind}".encode()),), body)
