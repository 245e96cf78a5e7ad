"""HTTP requests that nobody should send to an API server: every form of body, spoilt in every way."""

import json
from dataclasses import dataclass
from typing import Final, cast

from properties.hostile_objects import GOOD, HostileObjects
from properties.hostile_parts import (
    ACCEPT,
    BAD_NAMES,
    DIRECTIVES,
    MANAGED,
    NAMES,
    OPS,
    POINTERS,
    QUERY,
    TOKENS,
)
from support.hostile_text import JSON, SHORT_YAML
from support.in_process_server import Sent

Json = dict[str, object]

_POD: Final = cast(Json, GOOD["pods"]["spec"])
_TEMPLATE: Final = {"metadata": {"labels": {"app": "x"}}, "spec": _POD}
_SELECTOR: Final = {"matchLabels": {"app": "x"}}
_VOLCANO: Final = ("/apis/batch.volcano.sh/v1alpha1", "/apis/scheduling.volcano.sh/v1beta1")


@dataclass(frozen=True)
class Target:
    """A resource that requests are sent to, and a good object of it."""

    group: str
    plural: str
    good: Json
    namespaced: bool = True
    subresources: tuple[str, ...] = ("status",)

    def path(self, name: str = "", namespace: str = "default") -> str:
        """Where its objects are, or one of them."""
        folder = f"{self.group}/namespaces/{namespace}" if self.namespaced else self.group
        return f"{folder}/{self.plural}" + (f"/{name}" if name else "")


TARGETS: Final = (
    Target("/api/v1", "pods", {"spec": _POD}, subresources=("status", "binding", "eviction", "log")),
    Target("/api/v1", "configmaps", {"data": {"a": "b", "c": "d"}}, subresources=()),
    Target("/api/v1", "secrets", {"data": {"a": "aGk="}, "type": "Opaque"}, subresources=()),
    Target("/api/v1", "services", {"spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}}),
    Target("/api/v1", "resourcequotas", {"spec": {"hard": {"configmaps": 100_000}}}),
    Target("/api/v1", "events", {"involvedObject": {"kind": "Pod", "namespace": "default"}, "reason": "R"}),
    Target("/api/v1", "nodes", {"status": {"allocatable": {"cpu": 8, "memory": "8Gi"}}}, namespaced=False),
    Target("/api/v1", "namespaces", {}, namespaced=False),
    Target("/api/v1", "persistentvolumeclaims", {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    }),
    Target("/api/v1", "bindings", {"target": {"kind": "Node", "name": "t0"}}, subresources=()),
    Target("/apis/batch/v1", "jobs", {"spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}}),
    Target("/apis/apps/v1", "replicasets", {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}}),
    Target("/apis/apps/v1", "statefulsets", {
        "spec": {"serviceName": "s", "selector": _SELECTOR, "template": _TEMPLATE}
    }),
    Target("/apis/policy/v1", "poddisruptionbudgets", {"spec": {"minAvailable": 1, "selector": _SELECTOR}}),
    Target("/apis/coordination.k8s.io/v1", "leases", {"spec": {"holderIdentity": "x"}}, subresources=()),
    Target("/apis/scheduling.k8s.io/v1", "priorityclasses", {"value": 7}, False, ()),
    Target(_VOLCANO[1], "queues", {"spec": GOOD["queues"]["spec"]}, namespaced=False),
    Target(_VOLCANO[1], "podgroups", {"spec": GOOD["podgroups"]["spec"]}),
    Target(_VOLCANO[0], "jobs", {"spec": GOOD["jobs"]["spec"]}),
    Target("/apis/bus.volcano.sh/v1alpha1", "commands", {
        "action": "CloseQueue",
        "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "q3", "uid": "u"},
    }, subresources=()),
    Target("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews", {
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    }, False, ()),
)  # fmt: skip


class HostileRequests:
    """A source of requests, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._objects = HostileObjects(seed)
        self._rng = self._objects.rng

    def next(self) -> Sent:
        """One request: any verb, mostly to something that is there."""
        target = self._rng.choice(TARGETS)
        form = self._rng.choice(
            ("create", "create", "replace", "replace", "json-patch", "json-patch", "merge-patch",
             "merge-patch", "strategic", "strategic", "apply", "apply", "apply", "read", "delete")
        )  # fmt: skip
        make = {
            "create": self._create, "replace": self._replace, "json-patch": self._json_patch,
            "merge-patch": self._merge_patch, "strategic": self._strategic, "apply": self._apply,
            "read": self._read, "delete": self._delete,
        }[form]  # fmt: skip
        method, content_type, name, body = make(target)
        path = self._path(target, name)
        headers = [(b"accept", self._rng.choice(ACCEPT))] if self._rng.random() < 0.1 else []
        if self._rng.random() < 0.03:
            content_type = self._rng.choice(
                (b"", b"text/html", b"application/yaml", b"\xff;x=", b"application/x+json")
            )
        if self._rng.random() < 0.03:
            headers.append((b"user-agent", self._rng.choice((b"\xff\xfe", b"m" * 3_000, b"/", b""))))
        headers.append((b"content-type", content_type))
        return Sent(form, method, path, self._query(form), tuple(headers), body)

    # The forms: method, content type, name and body

    def _create(self, target: Target) -> tuple[str, bytes, str, bytes]:
        document = self._document(target, self._rng.choice(NAMES) if self._rng.random() < 0.5 else "")
        luck = self._rng.random()
        if luck < 0.3:
            return "POST", b"application/yaml", "", self._spoilt_text(self._yaml(document))
        if luck < 0.35:
            kind = b"application/vnd.kubernetes.protobuf"
            return (
                "POST",
                kind,
                "",
                self._spoilt_text(
                    b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x10\n\x0e\n\x02t1" + self._json(document)
                ),
            )
        return "POST", b"application/json", "", self._json_text(document)

    def _replace(self, target: Target) -> tuple[str, bytes, str, bytes]:
        name = self._rng.choice(NAMES)
        document = self._document(target, name)
        if self._rng.random() < 0.3:
            return "PUT", b"application/yaml", name, self._spoilt_text(self._yaml(document))
        return "PUT", b"application/json", name, self._json_text(document)

    def _json_patch(self, target: Target) -> tuple[str, bytes, str, bytes]:
        del target
        operations: list[object] = [
            {
                "op": self._rng.choice(OPS[:6] if self._rng.random() < 0.9 else OPS),
                "path": self._rng.choice(POINTERS),
                "from": self._rng.choice(POINTERS),
                "value": self._objects.value(),
            }
            for _ in range(self._rng.choice((0, 1, 1, 2, 3, 9)))
        ]
        if self._rng.random() < 0.05:
            operations = [self._objects.value()]
        if self._rng.random() < 0.01:
            operations *= 12_000
        return "PATCH", b"application/json-patch+json", self._rng.choice(NAMES), self._json_text(operations)

    def _merge_patch(self, target: Target) -> tuple[str, bytes, str, bytes]:
        return (
            "PATCH",
            b"application/merge-patch+json",
            self._rng.choice(NAMES),
            self._json_text(self._part(target)),
        )

    def _strategic(self, target: Target) -> tuple[str, bytes, str, bytes]:
        part = self._part(target)
        for _ in range(self._rng.choice((0, 1, 1, 2, 3))):
            part = self._objects.at_random_place(part, self._with_directive)
        kind = b"application/strategic-merge-patch+json"
        return "PATCH", kind, self._rng.choice(NAMES), self._json_text(part)

    def _apply(self, target: Target) -> tuple[str, bytes, str, bytes]:
        name = self._rng.choice(NAMES)
        document = self._document(target, name)
        if (
            isinstance(document, dict)
            and isinstance(document.get("metadata"), dict)
            and self._rng.random() < 0.1
        ):
            document = {
                **document,
                "metadata": {**document["metadata"], "managedFields": self._rng.choice(MANAGED)},
            }
        text = self._yaml(document) if self._rng.random() < 0.7 else self._json(document)
        return "PATCH", b"application/apply-patch+yaml", name, self._spoilt_text(text)

    def _read(self, target: Target) -> tuple[str, bytes, str, bytes]:
        del target
        return "GET", b"", self._rng.choice(("", "", *NAMES)), b""

    def _delete(self, target: Target) -> tuple[str, bytes, str, bytes]:
        del target
        options = self._objects.spoilt(
            {
                "gracePeriodSeconds": 0,
                "propagationPolicy": "Background",
                "preconditions": {"uid": "x"},
                "dryRun": ["All"],
            }
        )
        name = self._rng.choice(NAMES)
        return (
            "DELETE",
            b"application/json",
            name,
            self._json_text(options) if self._rng.random() < 0.8 else b"",
        )

    # Parts of requests

    def _with_directive(self, value: object) -> object:
        directive = self._rng.choice(DIRECTIVES)
        return {**value, **directive} if isinstance(value, dict) else directive

    def _path(self, target: Target, name: str) -> str:
        if self._rng.random() < 0.03:
            bad = self._rng.choice(BAD_NAMES)
            return self._rng.choice(
                (target.path(bad), target.path("t0", bad), f"/{bad}", f"{target.group}/{bad}/x")
            )
        subresource = self._rng.choice(("", "", "", "", *target.subresources)) if name else ""
        return target.path(name) + (f"/{subresource}" if subresource else "")

    def _query(self, form: str) -> str:
        some = self._rng.choices(
            QUERY, k=self._rng.choice((0, 0, 0, 1, 2) if form != "read" else (0, 1, 2, 3))
        )
        if form == "apply" and self._rng.random() < 0.95:
            some.append("fieldManager=" + self._rng.choice(("m", "m", "n", "kubectl")))
        if form == "apply" and self._rng.random() < 0.5:
            some.append("force=true")
        if "watch" in "&".join(some):
            some.append("timeoutSeconds=0")
        return "&".join(some)

    def _document(self, target: Target, name: str) -> object:
        metadata = {
            "name": name or f"n{self._rng.randrange(300)}",
            "labels": {"app": "x"},
            "annotations": {"a": "b"},
        }
        return self._objects.bent({**target.good, "metadata": metadata})

    def _part(self, target: Target) -> object:
        document = self._document(target, self._rng.choice(NAMES))
        if isinstance(document, dict):
            document = {key: value for key, value in document.items() if self._rng.random() < 0.7}
        return document

    def _json_text(self, value: object) -> bytes:
        return self._spoilt_text(self._json(value))

    def _json(self, value: object) -> bytes:
        try:
            return json.dumps(value, ensure_ascii=self._rng.random() < 0.8).encode(errors="surrogatepass")
        except (ValueError, RecursionError):  # numbers of 5000 digits, or 5000 levels
            return self._rng.choice(JSON)

    def _yaml(self, value: object, depth: int = 0) -> bytes:
        """A document in block or flow style, with what YAML has and JSON has not."""
        if depth > 8 or not isinstance(value, dict | list) or not value or self._rng.random() < 0.1:
            text = self._json(value)
            return (
                self._rng.choice((b"&a ", b"!!str ", b"!x ", b"*a #")) + text
                if self._rng.random() < 0.01
                else text
            )
        lines = [b""]
        items = value.items() if isinstance(value, dict) else ((None, one) for one in value[:50])
        for key, below in items:
            mark = (
                b"- "
                if key is None
                else (self._json(key) if self._rng.random() < 0.2 else str(key).encode(errors="replace"))
                + b": "
            )
            lines.append(b"  " * depth + mark + self._yaml(below, depth + 1))
            if self._rng.random() < 0.005:
                lines.append(lines[-1])  # a key that is there twice
        return b"\n".join(lines)

    def _spoilt_text(self, text: bytes) -> bytes:
        luck = self._rng.random()
        if luck < 0.03:
            return self._rng.choice(JSON)
        if luck < 0.06:
            return self._rng.choice(list(SHORT_YAML.values())).encode(errors="surrogatepass")
        if luck > 0.2 or not text:
            return text
        for _ in range(self._rng.choice((1, 1, 2, 5))):
            at, to = sorted(self._rng.randrange(len(text) + 1) for _ in range(2))
            to = min(to, at + 40)
            text = (
                text[:at]
                + self._rng.choice((b"", self._rng.choice(TOKENS), text[at:to] * 2, text[at:to] * 50))
                + text[to:]
            )
        return text
