"""Stories of pods that come again and of what pods are told, on a real cluster with its own controllers."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import Story, cluster, group, pods_of, queue, work
from support.story_workloads import UNTIL_ENDED, end_pod, failed_scheduling, job, reported, template, workload

GROUP = "scheduling.k8s.io/group-name"
LEAST = "scheduling.volcano.sh/group-min-member"
QUIET_S = 1.5  # after a bind, until what is written about it is no news any more


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("jobs"), UNTIL_ENDED) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.kubectl("delete", "deployments,jobs.batch", "--all", "--cascade=foreground")
    running.clear()


def live(story: Story, name: str) -> list[str]:
    """The pods of a workload that run."""
    return [
        one["metadata"]["name"]
        for one in story.all("pods")
        if one["metadata"]["labels"].get("group") == name
        and one["status"]["phase"] == "Running"
        and "deletionTimestamp" not in one["metadata"]
    ]


def end(story: Story, name: str, phase: str, **status: str) -> str:
    """Let the only pod of a workload end as a kubelet does; its name."""
    story.until(f"{name} runs", lambda: len(live(story, name)), 1)
    (pod,) = live(story, name)
    end_pod(story, pod, phase, **status)
    return pod


def any_names(name: str, events: list[tuple[str, str]]) -> bool:
    return any(name in message for _, message in events)


def suspend(story: Story, name: str, *, wanted: bool) -> None:
    story.kubectl("patch", "job.batch", name, "--type=merge", "-p", json.dumps({"spec": {"suspend": wanted}}))


def succeeded(story: Story, *names: str) -> dict[str, int]:
    return {name: story.get("job.batch", name).get("status", {}).get("succeeded", 0) for name in names}


def test_jobs_whose_only_pod_failed_or_ended_run_again_and_nobody_is_unschedulable(story: Story) -> None:
    story.apply(
        job("again"),
        job("paused"),
        job("three", parallelism=1, completions=3),
        workload("Deployment", "web", 1),
    )
    failed = {name: end(story, name, "Failed") for name in ("again", "paused")}
    suspend(story, "paused", wanted=True)  # after its failure, before its next try
    evicted = end(story, "web", "Failed", reason="Evicted", message="The node was low on resource: memory.")
    story.until("the deployment runs again", lambda: len(live(story, "web")), 1)
    assert live(story, "web") != [evicted]
    for _ in range(3):
        end(story, "three", "Succeeded")
    story.until("all three have run", lambda: succeeded(story, "three"), {"three": 3})
    suspend(story, "paused", wanted=False)
    for name, pod in failed.items():
        assert end(story, name, "Succeeded") != pod
    story.until("all have ended", lambda: succeeded(story, *failed), {"again": 1, "paused": 1})
    assert failed_scheduling(story) == []
    phases = {one["status"]["phase"] for one in story.all("podgroups")}
    assert phases == {"Running", "Completed"}


def test_gangs_that_start_at_once_are_told_nothing_else(story: Story) -> None:
    for number in range(12):
        small = template(f"gang-{number}", "10m", restart="Never")
        gang = job(f"gang-{number}", parallelism=8, completions=8, template=small)
        gang["metadata"]["annotations"] = {LEAST: "8"}
        story.apply(gang)
    placed = {f"gang-{number}": 8 for number in range(12)}
    story.until("all run", lambda: story.running(*placed), placed)
    assert failed_scheduling(story) == []
    time.sleep(QUIET_S)  # for what was decided before them
    scheduled = Counter(
        one["status"]
        for pod in story.all("pods")
        for one in pod["status"]["conditions"]
        if one["type"] == "PodScheduled"
    )
    assert scheduled == {"True": 96}
    assert failed_scheduling(story) == []


def test_a_gang_tries_again_though_pods_of_it_that_succeeded_are_gone(story: Story) -> None:
    gang = job("gang", parallelism=3, completions=3)
    gang["metadata"]["annotations"] = {LEAST: "3"}
    story.apply(gang)
    story.until("it runs", lambda: len(live(story, "gang")), 3)
    first, second, third = live(story, "gang")
    for pod in (first, second):
        end_pod(story, pod, "Succeeded")
    story.until("two have succeeded", lambda: succeeded(story, "gang"), {"gang": 2})
    story.kubectl("delete", "pod", first, second)  # as the collector of ended pods does
    end_pod(story, third, "Failed")
    story.until_holds(
        "the third runs again", lambda: live(story, "gang"), lambda seen: seen not in ([], [third])
    )
    (again,) = live(story, "gang")
    end_pod(story, again, "Succeeded")
    story.until("it is done", lambda: succeeded(story, "gang"), {"gang": 3})


def test_autoscalers_hear_exactly_of_what_more_nodes_would_start(story: Story) -> None:
    story.apply(queue("other"), queue("share"), queue("gate"), queue("capped", capability={"cpu": "1"}))
    story.apply(*work("first", "other", 4, least=4), *work("second", "share", 4, least=4))
    story.until("it is full", lambda: story.running("first", "second"), {"first": 4, "second": 4})
    story.apply(*work("more", "share", 1))
    story.until("one waits for its share", lambda: story.reason("more")[0], "QueueAtFairShare")
    story.until("which nodes would raise", lambda: reported(story, "more-0"), "Unschedulable")
    story.apply(
        group("late", queue="gate", minMember=6, minResources={"cpu": "6"}), *pods_of("late", 6),
        group("large", queue="capped", minMember=2, minResources={"cpu": "2"}), *pods_of("large", 2),
    )  # fmt: skip
    story.until("one waits at the gate", lambda: story.reason("late")[0], "ClusterOvercommitted")
    story.until("which nodes would open", lambda: reported(story, "late-0"), "Unschedulable")
    story.until("no node raises a ceiling", lambda: reported(story, "large-0"), "QueueAtCapability")


def test_pods_without_their_group_are_told_so(story: Story) -> None:
    story.apply(queue("q"), *pods_of("nowhere", 1), *work("waits", "q", 1, least=2))
    story.until("one has none", lambda: reported(story, "nowhere-0"), "PodGroupMissing")
    story.until("one waits for another pod", lambda: reported(story, "waits-0"), "NotEnoughTasks")
    story.kubectl("delete", "podgroup", "waits")
    story.until("it has lost its group", lambda: reported(story, "waits-0"), "PodGroupMissing")
    for name in ("nowhere", "waits"):
        events = partial(story.events, "Pod", f"{name}-0")
        story.until_holds("an event says so", events, partial(any_names, f"default/{name}"))
    story.apply(group("waits", queue="q", minMember=1))
    story.until("it runs once it has one", lambda: story.running("waits"), {"waits": 1})


def test_a_pod_that_gains_its_group_later_runs(story: Story) -> None:
    story.apply(queue("q"), group("there", queue="q", minMember=1), *pods_of("later", 3))
    story.until("all wait", lambda: reported(story, "later-2"), "PodGroupMissing")
    for one in range(3):
        story.kubectl("annotate", "--overwrite", "pod", f"later-{one}", f"{GROUP}=there")
        story.until("it runs", lambda: story.running("later"), {"later": one + 1})


def test_a_queue_is_deleted_as_volcanos_clients_do(story: Story) -> None:
    story.apply(queue("theirs"))
    story.until("it is open", lambda: story.state("theirs"), "Open")
    patch = ("--subresource=status", "--type=merge", "-p", '{"status":{"state":"Closed"}}')
    story.kubectl("patch", "queue", "theirs", *patch)
    time.sleep(0.5)  # they look until they see it
    story.kubectl("delete", "queue", "theirs")
    assert story.get("queue", "theirs") == {}
