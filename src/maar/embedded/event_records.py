"""Events that the embedded cluster writes about its objects, for `kubectl describe`."""

import logging
import uuid
from typing import Final, NamedTuple

from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json

_LOG: Final = logging.getLogger(__name__)


class EventObject(NamedTuple):
    """What an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class EventSource(NamedTuple):
    """Who writes an event."""

    component: str
    host: str = ""


def record_event(
    cluster: Cluster, about: EventObject, source: EventSource, severity: str, reason: str, message: str
) -> None:
    """Write an event about an object: Normal or Warning."""
    now = cluster.now()
    event: Json = {
        "metadata": {"name": f"{about.name}.{uuid.uuid4().hex[:16]}", "namespace": about.namespace},
        "involvedObject": {
            "kind": about.kind,
            "apiVersion": about.api_version,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
        "type": severity,
        "reason": reason,
        "message": message,
        "source": {"component": source.component, **({"host": source.host} if source.host else {})},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        cluster.create("events", about.namespace, event)
    except ApiError as error:  # the namespace is going, for example
        _LOG.info("no event %s for %s %s: %s", reason, about.kind, about.name, error.message)
