"""What tests have left on an API server, and its removal: a decision counts all that is in a cluster."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from maar.core.model.events import ALL_KINDS
from maar.core.model.kinds import plain
from maar.core.model.namespace import Namespace
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError
from maar.kube.paths import resource_path_of
from support.until import until_async

# Namespaces stay, which takes no time: without objects in one no decision asks for it.
_PLACES = [resource_path_of(kind) for kind in ALL_KINDS if kind is not Namespace]


async def paths(kubeconfig: Path) -> frozenset[str]:
    """Where every object is that decisions and controllers read."""
    async with ApiServer(await load(kubeconfig)) as server:
        return await _paths(server)


async def remove_all_but(before: frozenset[str], kubeconfig: Path) -> None:
    """Remove what was not there before, and what owners make again while they are removed."""
    async with ApiServer(await load(kubeconfig)) as server:

        async def is_removed() -> bool:
            left = await _paths(server) - before
            for path in left:
                await _delete(server, path)
            return not left

        await until_async("what tests have left is removed", is_removed)


async def _paths(server: ApiServer) -> frozenset[str]:
    found = set[str]()
    for place in _PLACES:
        try:
            listed: Any = plain(await server.request("GET", place.all()))
        except ApiError as error:
            if error.code != HTTPStatus.NOT_FOUND:  # a kind of Maar's that nobody has defined yet
                raise
            continue
        for metadata in (one["metadata"] for one in listed["items"]):
            key = f"{metadata['namespace']}/{metadata['name']}" if place.namespaced else metadata["name"]
            found.add(place.one(key))
    return frozenset(found)


async def _delete(server: ApiServer, path: str) -> None:
    try:
        await server.request("DELETE", path, {"gracePeriodSeconds": "0", "propagationPolicy": "Background"})
    except ApiError as error:
        if error.code not in (
            HTTPStatus.NOT_FOUND,
            HTTPStatus.CONFLICT,
        ):  # it is gone, or the next turn is in time
            raise
