"""Stories of answers on a real cluster: why a job waits, when it starts, and what a change would do."""

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import MAAR, Document, Story, cluster, queue, work
from support.story_workloads import end_pod

EXPECTED: Final = "maar.sh/expected-runtime"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("answers")) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.clear()


def for_an_hour(documents: list[Document]) -> list[Document]:
    """The same, with what their users expect."""
    for one in documents:
        if one["kind"] == "Pod":
            one["metadata"]["annotations"] = {**one["metadata"]["annotations"], EXPECTED: "1h"}
    return documents


def full(story: Story) -> None:
    """A queue that holds all eight processors for an hour, and one more job of it that waits."""
    story.apply(queue("q"), *for_an_hour(work("first", "q", 8, least=8)))
    story.until("the cluster is full", lambda: story.running("first"), {"first": 8})
    story.apply(*for_an_hour(work("second", "q", 4, least=4)))
    story.until_holds("it waits", lambda: story.reason("second")[0], bool)


def asked(story: Story, *arguments: str) -> tuple[int, Document]:
    """What a command answers, as data, and the code that it leaves with."""
    command = [MAAR, *arguments, "-o", "json", "--kubeconfig", str(story.plane.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def start_of(story: Story, group: str) -> datetime:
    """When the first pod of a group started, as its status has it."""
    pods = [one for one in story.all("pods") if one["metadata"]["labels"]["group"] == group]
    times = [one["status"]["startTime"] for one in pods if "startTime" in one["status"]]
    return datetime.strptime(min(times), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def test_explain_says_why_when_and_what_would_help(story: Story) -> None:
    full(story)
    text = story.run_maar("explain", "podgroup", "second")
    assert story.reason("second")[1] in " ".join(text.split())
    planned = start_of(story, "first").timestamp() + 3600
    assert datetime.fromtimestamp(planned, UTC).strftime("%Y-%m-%dT%H:%M") in text
    assert "default/first" in text  # with it gone, the other starts
    for number in range(8):
        end_pod(story, f"first-{number}", "Succeeded")
    story.until("it starts when they end", lambda: story.running("second"), {"second": 4})
    assert "n1" in story.run_maar("explain", "podgroup", "second")


def test_the_start_is_a_column_of_pod_groups(story: Story) -> None:
    full(story)
    planned = datetime.fromtimestamp(start_of(story, "first").timestamp() + 3600, UTC)
    story.until_holds(
        "kubectl shows when it starts",
        lambda: story.kubectl("get", "podgroups").stdout,
        lambda seen: "START" in seen and planned.strftime("%Y-%m-%dT%H:%M") in seen,
    )


def test_what_if_says_who_would_be_evicted_and_it_comes_true(story: Story) -> None:
    story.apply(queue("q"), queue("other", capability={"cpu": "2"}), *work("first", "q", 8))
    story.until("the cluster is full", lambda: story.running("first"), {"first": 8})
    story.apply(*work("asks", "other", 4))
    story.until("two are reclaimed", lambda: story.running("asks", "first"), {"asks": 2, "first": 6})
    code, answer = asked(story, "whatif", "--set", "queue/other.capability.cpu=3")
    assert code == 3
    assert story.running("asks", "first") == {"asks": 2, "first": 6}  # nothing was written
    evicted = {one["pod"] for one in answer["evictions"]}
    assert len(evicted) == 1
    story.kubectl("patch", "queue", "other", "--type=merge", "-p", '{"spec":{"capability":{"cpu":"3"}}}')
    story.until("one more is reclaimed", lambda: story.running("asks", "first"), {"asks": 3, "first": 5})
    there = {one["metadata"]["name"] for one in story.all("pods")}
    assert not {pod.partition("/")[2] for pod in evicted} & there
    code, _ = asked(story, "whatif", "--add-nodes", "1x4cpu,16Gi")
    assert code == 0
