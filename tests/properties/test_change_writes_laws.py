"""What is sent to make a change gives the objects that a what-if of it decides with."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.core.admission.request import Options
from maar.core.answers.whatif.change_writes import CreateObject, PatchObject, merged, writes_of
from maar.core.answers.whatif.changes import Change, SetField, apply
from maar.core.answers.whatif.known_objects import BadChangeError, document_of
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from properties.how_many import cases

NAMES = ("a", "b", "default", "root")
QUEUES: tuple[Object, ...] = (
    Queue(metadata=QueueMetadata(name="root")),
    Queue(metadata=QueueMetadata(name="a"), spec=QueueSpec(parent="root", weight=2, state="Open")),
    Queue(metadata=QueueMetadata(name="b", labels={"team": "x"}), spec=QueueSpec(parent="a")),
)
VALUES = {
    "weight": st.sampled_from(["1", "3", "7", ""]),
    "priority": st.sampled_from(["0", "5", ""]),
    "reclaimable": st.sampled_from(["true", "false"]),
    "capability.cpu": st.sampled_from(["4", "500m", ""]),
    "capability.nvidia.com/gpu": st.sampled_from(["2", ""]),
    "guarantee.resource.memory": st.sampled_from(["1Gi", ""]),
    "labels.team": st.sampled_from(["y", ""]),
    "preemptMinRuntime": st.sampled_from(["5m", ""]),
}


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    count, found = draw(st.integers(1, 6)), list[Change]()
    for _ in range(count):
        name, field = draw(st.sampled_from(NAMES)), draw(st.sampled_from(sorted(VALUES)))
        found.append(SetField(f"queue/{name}.{field}", draw(VALUES[field])))
    return found


@given(changes())
@settings(max_examples=cases(300), deadline=None)
def test_writes_make_the_objects_that_are_decided_with(asked: list[Change]) -> None:
    try:
        wanted = apply(QUEUES, asked, Options(guarantee_over_total="warn")).objects
    except BadChangeError:
        return  # no cluster takes it
    documents = {one.key: document_of(one) for one in QUEUES}
    for one in writes_of(QUEUES, asked):
        if isinstance(one, CreateObject):
            assert one.key not in documents
            documents[one.key] = one.document
        else:
            assert isinstance(one, PatchObject)
            documents[one.key] = merged(documents[one.key], one.patch)
    made = {key: from_document(Queue, document) for key, document in documents.items()}
    for queue in (one for one in wanted if isinstance(one, Queue) and one.key in made):
        assert filled_in(made[queue.key]) == filled_in(queue)


def filled_in(queue: Queue) -> tuple[QueueSpec, dict[str, str]]:
    """A queue with what admission fills in; the cluster's own does so when it is sent there."""
    spec = queue.spec
    filled = {"state": spec.state or "Open", "parent": spec.parent or "root"}
    return msgspec.structs.replace(spec, **filled), queue.metadata.labels
