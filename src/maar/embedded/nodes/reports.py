"""The writes of nodes: pod statuses, deletions and events."""

import logging
from typing import Final

from maar.embedded import event_records
from maar.embedded.calls import Deletion, metadata
from maar.embedded.cluster import Cluster
from maar.embedded.event_records import EventObject, EventSource
from maar.embedded.failures import ApiError, Json
from maar.embedded.kinds.parts import part
from maar.embedded.nodes.pod import FINISHED, BoundPod
from maar.embedded.nodes.status import Standing
from maar.embedded.storage_problems import NotStoredError
from maar.embedded.store import Key

PODS: Final = "pods"

_LOG: Final = logging.getLogger(__name__)


def pod_key(pod: BoundPod) -> Key:
    """Where a pod is kept."""
    return Key(PODS, pod.metadata.namespace, pod.metadata.name)


def report(cluster: Cluster, key: Key, uid: str, standing: Standing, now: str) -> int | None:
    """Write where a pod stands and give the revision; None where it is gone, finished or as it was."""

    def edited(pod: Json) -> Json:
        was = part(pod, "status")
        if metadata(pod).get("uid") != uid or was.get("phase") in FINISHED:
            return pod
        return {**pod, "status": standing.status(was, now)}

    before = cluster.store.revision
    try:
        cluster.rewrite(PODS, key.namespace, key.name, edited)
    except NotStoredError:
        raise
    except ApiError:
        return None  # it is gone
    # What else the write brought with it, in quotas for example, came after it.
    return before + 1 if cluster.store.revision != before else None


def delete_stopped(cluster: Cluster, pod: BoundPod) -> None:
    """Delete a pod that nothing runs of any more; finalizers may keep it."""
    how = Deletion(grace=0, uid=pod.metadata.uid)
    try:
        cluster.delete(PODS, pod.metadata.namespace, pod.metadata.name, how)
    except NotStoredError:
        raise
    except ApiError as error:
        _LOG.warning("pod %s stopped, but is kept: %s", pod.key, error.message)


def record_event(cluster: Cluster, pod: BoundPod, kind: str, reason: str, message: str) -> None:
    """Write an event about a pod: Normal or Warning."""
    meta = pod.metadata
    about = EventObject("v1", "Pod", meta.namespace, meta.name, meta.uid)
    event_records.record_event(cluster, about, EventSource("maar", pod.spec.node_name), kind, reason, message)
