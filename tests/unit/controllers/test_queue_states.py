"""States and counters of queues follow from what is there, whatever order it came in."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from maar.core.controllers.queue_states import QueueStates
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.job import Command, Job, JobSpec, JobState, JobStatus
from maar.core.model.metadata import ManagedFields, Metadata, OwnerReference
from maar.core.model.pod_group import PodGroup, PodGroupPhase, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec, QueueState, QueueStatus
from maar.core.model.writes import Create, Delete, Patch, RecordEvent, SetStatus
from support.controller_runs import NOW, Controlled


def queue(name: str, parent: str = "", state: str = "", was: QueueState = "Open") -> Event:
    return Upserted(
        object=Queue(
            metadata=QueueMetadata(name=name, uid=f"uid-{name}"),
            spec=QueueSpec(parent=parent, state=state),
            status=QueueStatus(state=was),
        )
    )


def group(name: str, queue: str, phase: PodGroupPhase = "Running") -> Event:
    return Upserted(
        object=PodGroup(
            metadata=Metadata(name=name, namespace="ns"),
            spec=PodGroupSpec(queue=queue),
            status=PodGroupStatus(phase=phase),
        )
    )


def job(name: str, queue: str, *, finished: bool = False) -> Event:
    state = JobState(phase="Completed" if finished else "Running")
    return Upserted(
        object=Job(
            metadata=Metadata(name=name, namespace="ns"),
            spec=JobSpec(queue=queue),
            status=JobStatus(state=state),
        )
    )


def order(action: str, target: str, name: str = "c", version: str = "") -> Event:
    metadata = Metadata(
        name=name,
        namespace="default",
        uid="uid-c",
        resource_version=version,
        creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Upserted(
        object=Command(metadata=metadata, action=action, target=OwnerReference(kind="Queue", name=target))
    )


ALWAYS = (queue("root"), queue("default"))


def states(*events: Event) -> dict[str, object]:
    """The states that would be written, by queue."""
    controller = Controlled(QueueStates())
    controller.feed((*ALWAYS, *events))
    return {
        write.key: write.status["state"]
        for write in controller.reconcile()
        if isinstance(write, SetStatus) and "state" in write.status
    }


def test_root_and_default_are_made_when_they_are_missing() -> None:
    made = [write.key for write in Controlled(QueueStates()).reconcile() if isinstance(write, Create)]
    assert made == ["root", "default"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([queue("q", was="Closed")], {"q": "Open"}),
        ([queue("q", state="Open", was="Closing")], {"q": "Open"}),
        ([queue("q", state="Closed")], {"q": "Closed"}),
        ([queue("q", state="Closed"), group("g", "q")], {"q": "Closing"}),
        ([queue("q", state="Closed"), group("g", "q", "Completed")], {"q": "Closed"}),
        ([queue("q", state="Closed"), job("j", "q")], {"q": "Closing"}),
        ([queue("q", state="Closed"), job("j", "q", finished=True)], {"q": "Closed"}),
        ([queue("up", state="Closed"), queue("q", "up")], {"up": "Closed", "q": "Closed"}),
        (
            [queue("up", state="Closed"), queue("q", "up"), queue("p", "up"), group("g", "q")],
            {"up": "Closing", "q": "Closing", "p": "Closed"},
        ),
        ([queue("up"), queue("q", "up", was="Closed")], {"q": "Open"}),
    ],
)
def test_the_state_follows_the_specification(events: list[Event], expected: dict[str, str]) -> None:
    rng = random.Random(1)
    for _ in range(5):
        assert states(*events) == expected
        rng.shuffle(events)


def test_default_and_root_stay_open_whatever_is_asked() -> None:
    assert states(queue("default", state="Closed"), queue("root", state="Closed")) == {}


def test_a_queue_closes_when_its_last_group_goes() -> None:
    controller = Controlled(QueueStates())
    controller.feed((*ALWAYS, queue("q", state="Closed", was="Closing"), group("g", "q")))
    assert all(not isinstance(write, RecordEvent) for write in controller.reconcile())
    controller.feed([Deleted(kind="PodGroup", key="ns/g")])
    assert [
        (write.reason, write.message) for write in controller.reconcile() if isinstance(write, RecordEvent)
    ] == [("QueueClosed", "the queue is Closed (was Closing)")]


def test_counters_are_of_the_whole_subtree() -> None:
    controller = Controlled(QueueStates())
    controller.feed(
        (*ALWAYS, queue("up"), queue("q", "up"), queue("p", "up"),
         group("a", "q"), group("b", "q", "Pending"), group("c", "p", "Completed"))
    )  # fmt: skip
    written = {write.key: write.status for write in controller.reconcile() if isinstance(write, SetStatus)}
    assert written == {
        "q": {"running": 1, "pending": 1},
        "p": {"completed": 1},
        "up": {"running": 1, "pending": 1, "completed": 1},
        "root": {"running": 1, "pending": 1, "completed": 1},
    }


def test_nothing_is_written_where_all_is_as_it_should_be() -> None:
    controller = Controlled(QueueStates())
    controller.feed((*ALWAYS, queue("q")))
    assert controller.reconcile() == []


def test_commands_of_one_second_are_carried_out_in_the_order_in_which_they_were_given() -> None:
    controller = Controlled(QueueStates())
    first, second = order("CloseQueue", "q", "z", "9"), order("OpenQueue", "q", "a", "10")
    controller.feed((*ALWAYS, queue("q"), second, first))
    changes = [write.patch for write in controller.reconcile() if isinstance(write, Patch)]
    assert changes == [{"spec": {"state": "Closed"}}, {"spec": {"state": "Open"}}]


def test_a_command_sets_what_is_wanted_and_goes() -> None:
    controller = Controlled(QueueStates())
    controller.feed((*ALWAYS, queue("q"), order("CloseQueue", "q")))
    writes = controller.reconcile()
    assert Patch(kind="Queue", key="q", patch={"spec": {"state": "Closed"}}) in writes
    assert Delete(kind="Command", key="default/c", uid="uid-c") in writes


@pytest.mark.parametrize("target", ["default", "root"])
def test_a_command_cannot_close_what_is_always_open(target: str) -> None:
    controller = Controlled(QueueStates())
    controller.feed((*ALWAYS, order("CloseQueue", target)))
    writes = controller.reconcile()
    assert not any(isinstance(write, Patch) for write in writes)
    assert any(isinstance(write, RecordEvent) and write.is_warning for write in writes)
    assert any(isinstance(write, Delete) for write in writes)


def test_commands_to_jobs_are_left_alone() -> None:
    controller = Controlled(QueueStates())
    controller.feed((*ALWAYS, order("AbortJob", "q")))
    assert controller.reconcile() == []


def test_a_queue_in_a_circle_still_has_a_state() -> None:
    assert states(queue("a", "b", was="Unknown"), queue("b", "a", state="Closed", was="Unknown")) == {
        "a": "Open",
        "b": "Closed",
    }


def counted(name: str, parent: str = "", running: int = 0) -> Event:
    """A queue whose status counts so many running groups."""
    return Upserted(
        object=Queue(
            metadata=QueueMetadata(name=name),
            spec=QueueSpec(parent=parent),
            status=QueueStatus(state="Open", running=running),
        )
    )


def test_a_queue_that_moves_takes_its_counters_along() -> None:
    controller = Controlled(QueueStates())
    controller.feed(
        (counted("root", running=1), counted("default"), counted("a", running=1), counted("b"),
         counted("q", "a", running=1), counted("leaf", "q", running=1), group("g", "leaf"))
    )  # fmt: skip
    assert controller.reconcile() == []
    controller.feed([counted("q", "b", running=1)])
    assert controller.reconcile() == [
        SetStatus(kind="Queue", key="a", status={"running": None}),
        SetStatus(kind="Queue", key="b", status={"running": 1}),
    ]


def test_a_closed_that_another_client_wrote_stands_until_its_time_is_up() -> None:
    written = ManagedFields(manager="client", time=NOW, fields_v1={"f:status": {"f:state": {}}})
    closed = Queue(
        metadata=QueueMetadata(name="q", managed_fields=(written,)), status=QueueStatus(state="Closed")
    )
    controller = Controlled(QueueStates())
    controller.feed((*ALWAYS, Upserted(object=closed)))
    until = NOW + timedelta(seconds=5)
    assert controller.reconcile(NOW) == []
    assert controller.work.wake_at == until
    assert controller.reconcile(until - timedelta(milliseconds=1)) == []
    assert controller.reconcile(until) == [
        SetStatus(kind="Queue", key="q", status={"state": "Open"}),
        RecordEvent(kind="Queue", key="q", reason="QueueOpen", message="the queue is Open (was Closed)"),
    ]
    assert controller.work.wake_at is None
