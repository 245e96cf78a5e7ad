"""Stories of policy, told with kubectl: priority, loans, minimum run times, held room and past use."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import SHORT_GRACE, Document, Story, cluster, group, pods_of, queue, work
from support.story_workloads import end_pod

PLUGINS: Final = """
tiers:
  - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
  - plugins:
      - {{name: overcommit}}
      - {{name: drf}}
      - {{name: predicates}}
      - {{name: proportion}}
      - {{name: nodeorder, arguments: {{leastrequested.weight: 0}}}}
      - {{name: binpack}}
      - {more}
"""
SLA: Final = PLUGINS.format(more="{name: sla}")
USAGE: Final = PLUGINS.format(more="{name: usage, arguments: {halfLife: 2m}}")
EXPECTED: Final = "maar.sh/expected-runtime"
WAITING_TIME: Final = "sla-waiting-time"
TIME: Final = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("policy")) as story:
        for name, value in (("low", 1), ("high", 1000)):
            story.kubectl("create", "priorityclass", name, f"--value={value}")
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.clear()


@pytest.fixture
def configured(story: Story, request: pytest.FixtureRequest) -> Iterator[Story]:
    """The same with another configuration of the scheduler, taken over while it runs."""
    story.configure(request.param)
    yield story
    story.configure(SHORT_GRACE)


def condition(story: Story, name: str, kind: str) -> Document:
    """A condition of a pod group."""
    found = story.get("podgroup", name).get("status", {}).get("conditions", [])
    return next((one for one in found if one["type"] == kind), {})


def holds_room(story: Story, name: str) -> str:
    """Whether a pod group holds room, as its condition has it."""
    return str(condition(story, name, "HoldsRoom").get("status", ""))


def has_event(story: Story, name: str, part: str) -> None:
    """Wait until an event of a pod group says something."""
    story.until_holds(
        f"an event says: {part}",
        lambda: story.events("PodGroup", name),
        lambda events: any(part in message for _, message in events),
    )


def when(text: str) -> datetime:
    """A time as objects have it."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def time_in(message: str) -> datetime:
    """The only time that a message names."""
    (found,) = TIME.findall(message)
    return when(found)


def started(story: Story, name: str) -> list[datetime]:
    """When the pods of a group started."""
    pods = [one for one in story.all("pods") if one["metadata"]["labels"]["group"] == name]
    return sorted(when(one["status"]["startTime"]) for one in pods if "startTime" in one["status"])


def until_started(story: Story, name: str, count: int) -> list[datetime]:
    """Wait until so many pods of a group have started, and give when they did."""
    story.until(f"{count} pods of {name} have started", lambda: len(started(story, name)), count)
    return started(story, name)


def annotated(documents: list[Document], **notes: str) -> list[Document]:
    """The same with more annotations."""
    for one in documents:
        one["metadata"]["annotations"] = {**one["metadata"].get("annotations", {}), **notes}
    return documents


# --- priority gets in


def test_who_may_take_the_place_of_others_is_let_into_a_full_queue(story: Story) -> None:
    story.apply(
        queue("full", capability={"cpu": "4"}),
        *work("first", "full", 2, least=2, priority="low"),
        *work("second", "full", 2, least=2, priority="low"),
    )
    story.until("the queue is full", lambda: story.running("first", "second"), {"first": 2, "second": 2})
    asks: Document = {"queue": "full", "minMember": 2, "minResources": {"cpu": "2"}}
    story.apply(group("equal", priorityClassName="low", **asks), *pods_of("equal", 2, priority="low"))
    story.until("the equal one waits outside", lambda: story.reason("equal")[0], "QueueAtCapability")
    held = story.reason("equal")[1]
    assert "queue full is at its real capability: cpu 4 of 4 at most, 2 more wanted" in held
    has_event(story, "equal", held)
    assert story.phase("equal") == "Pending"

    story.apply(group("urgent", priorityClassName="high", **asks))
    story.until("the urgent one is let in", lambda: story.phase("urgent"), "Inqueue")
    assert condition(story, "urgent", "Admitted")["status"] == "True"
    assert story.evictions("first") == story.evictions("second") == set()
    story.apply(*pods_of("urgent", 2, priority="high"))
    story.until("it takes the place of the younger gang", lambda: story.running("first", "second", "urgent"),
                {"first": 2, "second": 0, "urgent": 2})  # fmt: skip
    story.until(
        "events say for whom", lambda: story.evictions("second"), {"evicted by preempt for default/urgent"}
    )
    has_event(story, "second", "it has priority 1000, this one 1")
    story.until("it runs", lambda: story.phase("urgent"), "Running")
    assert story.phase("equal") == "Pending"
    assert story.running("equal") == {"equal": 0}


# --- gangs on loan


def test_a_gang_larger_than_its_share_runs_on_loan_and_gives_way(story: Story) -> None:
    gang = work("gang", "small", 6, least=6, priority="high")
    story.apply(queue("small"), queue("owner", weight=3), *gang)
    story.until("it runs on idle room", lambda: story.running("gang"), {"gang": 6})
    story.apply(*work("o", "owner", 6, least=6))
    story.until("the owner takes it back", lambda: story.running("gang", "o"), {"gang": 0, "o": 6})
    story.until("events say by which rule", lambda: story.evictions("gang"),
                {"evicted by reclaim for default/o of queue owner"})  # fmt: skip
    has_event(story, "gang", "queue small uses cpu 6 of 2 deserved")

    story.apply(*work("within", "small", 2, priority="low"))
    story.until("the rest is used", lambda: story.running("within"), {"within": 2})
    story.apply(*gang)  # as its controller does
    story.until("it waits", lambda: story.reason("gang")[0], "QueueAtFairShare")
    why = "queue small is at its fair share: cpu 2 of 2 deserved, 6 more wanted (weight 1 of 4 under root)"
    story.until_holds("and says why", lambda: story.reason("gang")[1], lambda seen: why in seen)
    story.apply(*work("later", "owner"))
    story.until_holds("others are decided about", lambda: story.reason("later")[0], bool)
    assert story.running("o", "within") == {"o": 6, "within": 2}
    assert story.evictions("o") == story.evictions("within") == set()


# --- minimum run time


def test_nobody_is_evicted_before_its_minimum_run_time(story: Story) -> None:
    story.apply(queue("org"), queue("young", parent="org"), queue("entitled", weight=3))
    story.run_maar("queue", "update", "org", "--reclaim-min-runtime", "1h")
    story.apply(*work("y", "young", 8))
    times = until_started(story, "y", 8)
    story.apply(*work("e", "entitled", 2, least=2))
    story.until("the entitled waits", lambda: story.reason("e")[0], "VictimsProtectedUntil")
    message = story.reason("e")[1]
    assert "by spec.reclaimMinRuntime of queue org;" in message
    assert time_in(message) - timedelta(hours=1) in times
    has_event(story, "e", message)
    assert story.running("y", "e") == {"y": 8, "e": 0}

    age = datetime.now(UTC) - times[0]
    enough = timedelta(seconds=int(age.total_seconds()) + 6)
    patch = json.dumps({"spec": {"reclaimMinRuntime": f"{enough.seconds}s"}})
    story.kubectl("patch", "queue", "org", "--type=merge", "-p", patch)
    story.until("it takes what is its own", lambda: story.running("y", "e"), {"y": 6, "e": 2})
    story.until(
        "as a reclaim", lambda: story.evictions("y"), {"evicted by reclaim for default/e of queue entitled"}
    )
    found = json.loads(
        story.kubectl("get", "events", "-o", "json", "--field-selector", "reason=Evict").stdout
    )
    evicted = [
        when(one["firstTimestamp"])
        for one in found["items"]
        if one["involvedObject"]["name"].startswith("y-")
    ]
    assert min(evicted) >= times[0] + enough


# --- room for the large


@pytest.mark.parametrize("configured", [SLA], indirect=True, ids=["sla"])
def test_a_large_gang_that_has_waited_holds_room_until_it_starts(configured: Story) -> None:
    story = configured
    busy = annotated(work("busy", "many", 4), **{EXPECTED: "10m"})
    story.apply(queue("many", reclaimable=False), queue("few", weight=7), *busy)
    times = until_started(story, "busy", 4)
    large = work("large", "few", 7, least=7)
    annotated(large[:1], **{WAITING_TIME: "1h"})
    story.apply(*large)
    story.until("it waits for room", lambda: story.reason("large")[0], "NotEnoughResources")
    story.apply(*work("early", "many"))
    story.until("small ones go in front", lambda: story.running("early"), {"early": 1})

    story.kubectl("annotate", "podgroup", "large", f"{WAITING_TIME}=2s", "--overwrite")
    story.until("room is held", lambda: holds_room(story, "large"), "True")
    planned = times[-1] + timedelta(minutes=10)
    reason, message = story.reason("large")
    assert reason == "PlannedStart"
    assert "room is held for it on 2 nodes (n1, n2)" in message
    assert time_in(message) == planned
    has_event(story, "large", message)

    story.apply(*work("small", "many"))
    story.until("the next small one waits", lambda: story.reason("small")[0], "RoomHeld")
    message = story.reason("small")[1]
    assert "held for default/large" in message
    assert time_in(message) == planned
    has_event(story, "small", message)
    story.apply(*annotated(work("short", "many"), **{EXPECTED: "1m"}))
    story.until("a short one uses the room meanwhile", lambda: story.running("short"), {"short": 1})
    assert story.running("small", "large") == {"small": 0, "large": 0}

    for pod in ("short-0", *(f"busy-{number}" for number in range(4))):
        end_pod(story, pod, "Succeeded")
    story.until("it starts when they have ended", lambda: story.running("large"), {"large": 7})
    assert until_started(story, "large", 7)[-1] <= planned
    story.until("no room is held", lambda: holds_room(story, "large"), "False")
    assert story.running("small") == {"small": 0}
    end_pod(story, "early-0", "Succeeded")
    story.until("the small one has what is left", lambda: story.running("small"), {"small": 1})
    assert story.evictions("large") == set()


# --- past use


def history(story: Story, name: str) -> float:
    """The hours of processors that a queue used while others waited, by its status."""
    status = story.get("queue", name).get("status", {})
    return float(status.get("history", {}).get("used", {}).get("cpu", "0"))


def factors(story: Story) -> dict[str, str]:
    """What past use makes of weights, by the statuses of queues."""
    return {
        one["metadata"]["name"]: one["status"]["weightFactor"]
        for one in story.all("queues")
        if one.get("status", {}).get("weightFactor", "1") != "1"
    }


@pytest.mark.parametrize("configured", [USAGE], indirect=True, ids=["usage"])
def test_who_had_everything_while_another_waited_comes_later(configured: Story) -> None:
    story = configured
    story.apply(
        queue("org"), queue("greedy", parent="org", reclaimable=False), queue("patient", parent="org"),
        *work("g", "greedy", 8),
    )  # fmt: skip
    story.until("it has everything", lambda: story.running("g"), {"g": 8})
    story.apply(*work("p", "patient", 8))
    story.until("both deserve half", lambda: story.shares("deserved", "greedy", "patient"),
                {"greedy": 4, "patient": 4})  # fmt: skip
    moved = {"greedy": "0.12", "patient": "2"}
    story.until("past use counts", lambda: factors(story), moved)
    used = history(story, "greedy")
    assert used > 0
    assert history(story, "patient") == 0
    deserved = {"greedy": "471m", "patient": "7529m"}
    story.until("shares move", lambda: {
        name: story.get("queue", name)["status"]["deserved"]["cpu"] for name in deserved
    }, deserved)  # fmt: skip
    printed = " ".join(story.run_maar("queue", "explain", "patient").split())
    assert "weight 1 x 2: it used 0 % of what it and its siblings used while others waited" in printed
    assert "its weight entitles it to 50 %; half-life 2m" in printed
    printed = " ".join(story.run_maar("queue", "explain", "greedy").split())
    assert "weight 1 x 0.12: it used 100 % of the cpu that it and its siblings used" in printed

    story.restart("scheduler")
    story.apply(queue("new"))
    story.until_holds(
        "it works again", lambda: story.get("queue", "new").get("status", {}).get("deserved"), bool
    )
    assert factors(story) == moved
    assert history(story, "greedy") >= used / 2  # a half-life has not passed
    story.kubectl("patch", "queue", "greedy", "--type=merge", "-p", '{"spec":{"reclaimable":true}}')
    story.until("who waited has its share", lambda: story.running("g", "p"), {"g": 1, "p": 7})
    has_event(story, "g", "queue org/greedy uses cpu 8 of 0.471 deserved")
