"""Objects that several viewers have: kept once, as long as one of them has it, and no longer."""

from maar.apps.console.shared_objects import SharedObjects
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.pod import Pod, PodStatus
from maar.core.model.queue import Queue, QueueMetadata


def queue(uid: str, version: str) -> Queue:
    return Queue(metadata=QueueMetadata(name="q", uid=uid, resource_version=version))


def test_the_same_version_is_the_same_object() -> None:
    shared = SharedObjects()
    first, second = queue("a", "1"), queue("a", "1")
    assert shared.take(first) is first
    assert shared.take(second) is first
    newer = queue("a", "2")
    assert shared.take(newer) is newer
    assert shared.take(queue("b", "1")) is not first
    assert len(shared) == 3


def test_nothing_is_kept_that_no_viewer_has() -> None:
    shared = SharedObjects()
    one = shared.take(queue("a", "1"))
    shared.take(queue("a", "1"))
    shared.leave(one)
    assert len(shared) == 1
    shared.leave(one)
    shared.leave(one)  # and once too often harms nothing
    assert len(shared) == 0


def test_pods_are_kept_without_what_nothing_reads() -> None:
    ready = Condition(type="Ready", status="True", message="x" * 100)
    pod = Pod(metadata=Metadata(uid="a", resource_version="1"), status=PodStatus(conditions=(ready,)))
    kept = SharedObjects().take(pod)
    assert isinstance(kept, Pod)
    assert kept.status == PodStatus()
