"""What the demo makes of the events that it sees, and how its time passes."""

import asyncio

import pytest

from maar.apps.demo.clock import Clock, clock_time
from maar.apps.demo.record import Record
from maar.core.model.events import Deleted, Upserted
from maar.core.model.metadata import Metadata
from maar.core.model.pod import EVICTED_FOR_ANNOTATION, GROUP_ANNOTATION, Pod, PodPhase, PodStatus
from maar.core.model.pod_group import PodGroup, PodGroupCondition, PodGroupPhase, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec, QueueState, QueueStatus
from maar.core.model.resources import Resources


def group(name: str, phase: PodGroupPhase, why: str = "", reason: str = "QueueAtCapability") -> Upserted:
    condition = PodGroupCondition(
        type="Unschedulable", status="True" if why else "False", reason=reason, message=why
    )
    status = PodGroupStatus(phase=phase, conditions=(condition,))
    return Upserted(object=PodGroup(metadata=Metadata(name=name, namespace="n"), status=status))


def pod(name: str, of: str, phase: PodPhase = "Running", gone_for: str = "") -> Upserted:
    notes = {GROUP_ANNOTATION: of} | ({EVICTED_FOR_ANNOTATION: gone_for} if gone_for else {})
    metadata = Metadata(name=name, namespace="n", annotations=notes)
    return Upserted(object=Pod(metadata=metadata, status=PodStatus(phase=phase)))


def queue(used: str, deserved: str, state: QueueState = "Open") -> Upserted:
    status = QueueStatus(
        state=state, used=Resources.parse({"cpu": used}), deserved=Resources.parse({"cpu": deserved})
    )
    return Upserted(object=Queue(metadata=QueueMetadata(name="q"), status=status))


@pytest.fixture
def anyio_backend() -> str:
    """Coroutines run on asyncio."""
    return "asyncio"


@pytest.fixture
def record() -> Record:
    """A record of a clock that stands still until it is set."""
    record = Record(Clock(60))
    for name, into in (("a", "q"), ("b", "q"), ("c", "other")):
        record.submit(f"n/{name}", into)
    return record


def test_a_wait_ends_when_the_group_first_runs(record: Record) -> None:
    record.clock.minute = 2
    record.on_events([group("a", "Pending")])
    record.clock.minute = 3
    record.on_events([group("a", "Running")])
    record.clock.minute = 9
    record.on_events([group("a", "Inqueue"), group("a", "Running"), group("a", "Completed")])
    assert record.waits == {"n/a": 3}
    assert record.done == {"n/a"}


def test_an_evicted_pod_counts_and_is_submitted_again(record: Record) -> None:
    lost: list[str] = []
    record.lost = lost.append
    record.on_events([pod("a-0", "a", gone_for="n/b"), pod("a-1", "a", gone_for="n/c"), pod("a-2", "a")])
    record.on_events(
        [pod("a-3", "a", "Succeeded"), *(Deleted(kind="Pod", key=f"n/a-{one}") for one in range(4))]
    )
    assert lost == ["n/a-0", "n/a-1", "n/a-2"]  # one that has ended has not been lost
    assert record.evicted == {"q": 3}
    assert record.reclaimed == 1  # b is of the same queue, and the third went for nobody
    record.sum_up_moves()
    assert [one.text for one in record.log] == [
        "n/b goes before others in q: 1 pod",
        "n/c takes back its share: 1 pod of q",
        "cleaned up: 1 pod of q",
    ]
    record.sum_up_moves()
    assert len(record.log) == 3


def test_a_pod_that_fails_is_told_of_once_and_submitted_again(record: Record) -> None:
    lost: list[str] = []
    record.lost = lost.append
    record.on_events([pod("a-0", "a"), pod("a-0", "a", "Failed"), pod("a-0", "a", "Failed")])
    record.on_events([Deleted(kind="Pod", key="n/a-0")])
    assert lost == ["n/a-0"]
    assert (record.failed, record.evicted) == (1, {})
    assert [one.text for one in record.log] == ["n/a-0 failed on no node"]


def test_averages_weigh_by_time(record: Record) -> None:
    record.on_events([queue("4", "8")])
    record.clock.minute = 30
    record.on_events([queue("8", "8")])
    record.clock.minute = 40
    record.on_events([queue("0", "0", "Closed")])
    average = record.averages["q"]
    assert (average.used / 40, average.deserved / 40) == (5, 8)
    assert [one.text for one in record.log] == ["queue q was Open and is Closed"]


def test_a_reason_is_the_schedulers_own(record: Record) -> None:
    record.on_events([group("a", "Pending", "it needs cpu 12"), group("b", "Running")])
    assert record.reason("n/a") == "it needs cpu 12"
    assert record.reason("n/b") == record.reason("n/unheard-of") == ""
    record.on_events([group("c", "Pending", "it has 2 of 6 pods", "NotEnoughTasks")])
    assert record.reason("n/c") == "", "they are on their way"


def test_the_cluster_is_behind_while_a_group_goes_unnoticed(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not record.is_behind()  # nobody could have answered yet
    now = record.submitted["n/a"].second + 5
    monkeypatch.setattr("maar.apps.demo.record.time.monotonic", lambda: now)
    assert record.is_behind()
    record.withdraw("n/c")
    record.on_events([group("a", "Pending"), group("b", "Running")])
    assert not record.is_behind()


@pytest.mark.anyio
async def test_the_hour_waits_for_a_cluster_that_is_behind() -> None:
    clock, is_behind = Clock(6000), True
    running = asyncio.create_task(clock.run(lambda: is_behind))
    waiting = asyncio.create_task(clock.until(1))
    while not clock.is_held:  # noqa: ASYNC110  # there is nothing to be told by
        await asyncio.sleep(0)
    assert clock.minute == 0
    is_behind = False
    await waiting
    assert clock.minute >= 1
    running.cancel()


@pytest.mark.anyio
async def test_waiting_ends_with_what_was_waited_for(record: Record) -> None:
    waiting = asyncio.create_task(record.until(lambda: "n/a" in record.done))
    for phase in ("Pending", "Running", "Completed"):
        await asyncio.sleep(0)
        assert not waiting.done()
        record.on_events([group("a", phase)])
    await waiting


@pytest.mark.parametrize(
    ("minute", "text"), [(0, "00:00"), (0.999, "01:00"), (36.05, "36:03"), (75.5, "75:30")]
)
def test_times_are_minutes_and_seconds(minute: float, text: str) -> None:
    assert clock_time(minute) == text


def share(name: str, parent: str, deserved: int) -> Upserted:
    status = QueueStatus(deserved=Resources.parse({"cpu": deserved}) if deserved else Resources())
    spec = QueueSpec(parent=parent)
    return Upserted(object=Queue(metadata=QueueMetadata(name=name), spec=spec, status=status))


def test_no_child_seems_to_deserve_more_than_its_parent_while_statuses_are_written(record: Record) -> None:
    def deserved() -> dict[str, int]:
        return {name: one.resources["cpu"].deserved // 1000 for name, one in record.tree().queues.items()}

    record.on_events([share("root", "", 0), share("team", "root", 0), share("lab", "team", 4)])
    assert deserved() == {"root": 0, "team": 0, "lab": 0}
    assert not record.tree().queues["lab"].has_shares
    record.on_events([share("root", "", 8), share("team", "root", 5)])
    assert deserved() == {"root": 8, "team": 5, "lab": 4}
    record.on_events([share("lab", "team", 6)])
    assert deserved() == {"root": 8, "team": 5, "lab": 4}
    record.on_events([share("team", "root", 6)])
    assert deserved() == {"root": 8, "team": 6, "lab": 6}


def in_tree(name: str, parent: str, used: int, running: int) -> Upserted:
    status = QueueStatus(
        state="Open", used=Resources.parse({"cpu": str(used)}),
        deserved=Resources.parse({"cpu": "8"} if name == "root" else {"cpu": "4"}), running=running,
    )  # fmt: skip
    return Upserted(
        object=Queue(metadata=QueueMetadata(name=name), spec=QueueSpec(parent=parent), status=status)
    )


def test_a_frame_shows_the_queues_of_one_moment(record: Record) -> None:
    def shown() -> list[tuple[int, int]]:
        queues = record.tree().queues
        return [
            (queues[name].resources["cpu"].used // 1000, queues[name].running) for name in ("root", "q", "r")
        ]

    record.on_events([in_tree("root", "", 6, 3), in_tree("q", "root", 4, 2), in_tree("r", "root", 2, 1)])
    together = [(6, 3), (4, 2), (2, 1)]
    assert shown() == together
    record.on_events([in_tree("q", "root", 1, 1)])
    assert shown() == together, "the status of q is newer than that of the root"
    record.on_events([in_tree("root", "", 3, 3)])
    assert shown() == together, "the counters are of different moments"
    record.on_events([in_tree("root", "", 3, 2)])
    assert shown() == [(3, 2), (1, 1), (2, 1)]
