"""Objects for the contract suite, as small as an API server accepts them, and how to read its answers."""

import secrets
from typing import Any

from maar.core.model.kinds import plain
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Outcome
from maar.kube.paths import ResourcePath
from maar.kube.write import create, get

Json = dict[str, Any]

CONFIG_MAPS = ResourcePath("v1", "configmaps", namespaced=True)
NODES = ResourcePath("v1", "nodes", namespaced=False)


def unique(start: str) -> str:
    """A name that nobody else uses."""
    return f"{start}-{secrets.token_hex(4)}"


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Json:
    """The simplest object there is."""
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(name: str, **spec: object) -> Json:
    """A pod of Maar's."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"schedulerName": "volcano", "containers": [container], **spec},
    }


def node(name: str) -> Json:
    """A node with room."""
    size = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "capacity": size,
            "allocatable": size,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


async def make(server: ApiServer, place: ResourcePath, namespace: str, document: Json) -> Json:
    """Create an object and give it as the server has it."""
    name = document["metadata"]["name"]
    return body(await create(server, place, f"{namespace}/{name}" if place.namespaced else name, document))


async def make_node(server: ApiServer) -> str:
    """Create a node of its own for a test."""
    name = unique("node")
    await make(server, NODES, "", node(name))
    return name


async def there(server: ApiServer, place: ResourcePath, key: str) -> Json:
    """Read an object that must be there."""
    return body(await get(server, place, key))


def body(outcome: Outcome) -> Json:
    """What the server answered to what must be done."""
    assert isinstance(outcome, Done), outcome
    answer = plain(outcome.body)
    assert isinstance(answer, dict)
    return answer
