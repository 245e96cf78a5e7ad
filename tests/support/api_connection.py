"""A kept connection to an API server, as a kubeconfig describes it: for tests that write much."""

import base64
import http.client
import json
import ssl
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from support.control_plane import Answer
from support.kubeconfigs import read
from support.until import TIMEOUT_S

Json = dict[str, Any]

QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"
GROUPS: Final = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
PODS: Final = "/api/v1/namespaces/default/pods"
EVENTS: Final = "/api/v1/namespaces/default/events"
_PATHS: Final = {"Queue": QUEUES, "PodGroup": GROUPS, "Pod": PODS, "Event": EVENTS}


class Requests(Protocol):
    """Something that sends requests to an API server as its administrator."""

    def request(self, method: str, path: str, body: object = None) -> Answer:
        """Make one request."""


class ApiConnection:
    """One connection with the token of a kubeconfig; one thread at a time."""

    def __init__(self, kubeconfig: Path) -> None:
        document = read(kubeconfig)
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        server = urlsplit(cluster["server"])
        trusted = ssl.create_default_context(cadata=authority)
        self._connection = http.client.HTTPSConnection(
            server.hostname or "", server.port, timeout=TIMEOUT_S, context=trusted
        )
        self._token = user["token"]

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def request(self, method: str, path: str, body: object = None) -> Answer:
        """Make one request; a PATCH is a merge patch."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            with self._connection.getresponse() as answer:
                return Answer(answer.status, answer.read(), [])
        except (OSError, http.client.HTTPException):
            self._connection.close()  # the next request opens it again
            raise


def create(api: Requests, documents: Iterable[Mapping[str, object]]) -> None:
    """Create objects, and raise where one is refused."""
    for document in documents:
        answer = api.request("POST", _PATHS[str(document["kind"])], document)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise RuntimeError(f"{document} was refused: {answer.body.decode()}")


def items(api: Requests, path: str) -> dict[str, Json]:
    """The objects of a list by name."""
    answer = api.request("GET", path)
    if answer.status != HTTPStatus.OK:
        raise RuntimeError(f"GET {path}: {answer.body.decode()}")
    return {one["metadata"]["name"]: one for one in json.loads(answer.body)["items"]}
