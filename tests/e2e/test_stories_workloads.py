"""Stories of workloads, told with kubectl on a real cluster whose own controllers make the pods."""

import json
from collections.abc import Iterator

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.operators import MPIJob, PyTorchJob
from support.story import Story, cluster, queue
from support.story_workloads import job, labelled, orphaned, reported, workload

QUEUE = "scheduling.volcano.sh/queue-name"
LEAST = "scheduling.volcano.sh/group-min-member"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("workloads")) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.kubectl("delete", "deployments,statefulsets,jobs.batch", "--all", "--cascade=foreground")
    running.clear()


def groups(story: Story) -> list[tuple[str, int, str]]:
    """The queue, the minimum and the CPUs of every pod group."""
    found = [one["spec"] for one in story.all("podgroups")]
    return sorted((one["queue"], one["minMember"], one["minResources"]["cpu"]) for one in found)


def annotate(story: Story, what: str, **annotations: str) -> None:
    patch = json.dumps({"metadata": {"annotations": annotations}})
    story.kubectl("patch", what, "--type=merge", "-p", patch)


def test_the_group_of_a_deployment_follows_its_annotations_and_its_rollouts(story: Story) -> None:
    story.apply(queue("a"), queue("b"), workload("Deployment", "web", 2, **{QUEUE: "a"}))
    story.until("it runs in its queue", lambda: story.shares("used", "a", "b"), {"a": 2, "b": 0})
    annotate(story, "deployment/web", **{QUEUE: "b", LEAST: "2"})
    story.until("its group has moved", lambda: groups(story), [("b", 2, "2")])
    story.until("and its pods with it", lambda: story.shares("used", "a", "b"), {"a": 0, "b": 2})
    annotate(story, "deployment/web", **{LEAST: "1"})
    story.until("one pod is enough again", lambda: groups(story), [("b", 1, "1")])
    story.apply(workload("Deployment", "web", 2, "2", **{QUEUE: "b"}))
    story.until("its group asks for what the new version does", lambda: groups(story), [("b", 1, "2")])
    story.until("and runs", lambda: story.shares("used", "b"), {"b": 4})


def test_a_gang_deployment_is_rolled_out_though_there_is_room_for_one_version_only(story: Story) -> None:
    story.apply(workload("Deployment", "gang", 4, **{LEAST: "4"}))
    story.until("it runs", lambda: story.running("gang"), {"gang": 4})
    before = set(story.nodes_of("gang"))
    story.apply(workload("Deployment", "gang", 4, "2", **{LEAST: "4"}))  # eight processors in all
    story.until("all are new", lambda: story.shares("used", "default"), {"default": 8})
    story.until("nothing old runs", lambda: len(before & set(story.nodes_of("gang"))), 0)
    story.until("it is one group", lambda: groups(story), [("default", 4, "8")])


def test_a_group_that_may_not_move_stays_and_says_why(story: Story) -> None:
    story.apply(queue("a"), queue("shut", state="Closed"), workload("Deployment", "web", 1, **{QUEUE: "a"}))
    story.until("it runs", lambda: story.running("web"), {"web": 1})
    story.until("one is closed", lambda: story.state("shut"), "Closed")
    annotate(story, "deployment/web", **{QUEUE: "shut", LEAST: "2"})
    story.until("all but the queue follows", lambda: groups(story), [("a", 2, "2")])
    (group,) = story.all("podgroups")
    name = group["metadata"]["name"]
    story.until_holds(
        "an event says why",
        lambda: story.events("PodGroup", name),
        lambda seen: any(reason == "FailedUpdate" and "shut" in message for reason, message in seen),
    )


def test_the_group_of_a_stateful_set_follows_its_template(story: Story) -> None:
    story.apply(workload("StatefulSet", "store", 2))
    story.until("it runs", lambda: story.running("store"), {"store": 2})
    assert groups(story) == [("default", 1, "1")]
    story.apply(workload("StatefulSet", "store", 2, "2"))
    story.until("its group asks for what the new pods do", lambda: groups(story), [("default", 1, "2")])
    story.until("all are new", lambda: story.shares("used", "default"), {"default": 4})


def test_a_gang_of_a_stateful_set_that_makes_one_pod_at_a_time_says_what_to_change(story: Story) -> None:
    ordered = workload("StatefulSet", "ordered", 3, **{LEAST: "3"})
    ordered["spec"]["podManagementPolicy"] = "OrderedReady"
    story.apply(ordered)
    story.until("it waits", lambda: reported(story, "ordered-0"), "NotEnoughTasks")
    (group,) = story.all("podgroups")
    assert "podManagementPolicy: Parallel" in story.reason(group["metadata"]["name"])[1]
    story.kubectl("delete", "statefulset", "ordered")
    story.apply(workload("StatefulSet", "ordered", 3, **{LEAST: "3"}))
    story.until("all start together", lambda: story.running("ordered"), {"ordered": 3})


def test_a_job_of_one_pod_at_a_time_comes_to_its_end(story: Story) -> None:
    story.apply(job("three", parallelism=1, completions=3))

    def ended() -> int:
        found = story.get("jobs.batch", "three").get("status", {}).get("succeeded", 0)
        for one in story.all("pods"):
            if one["status"]["phase"] == "Running":
                name = one["metadata"]["name"]
                patch = '{"status":{"phase":"Succeeded"}}'
                story.kubectl("patch", "pod", name, "--subresource=status", "-p", patch, "--type=merge")
        return int(found)

    story.until("all three have ended", ended, 3)
    story.kubectl("delete", "jobs.batch", "three", "--cascade=foreground")


def test_pods_of_a_finished_training_job_run_on_without_their_group(story: Story) -> None:
    training = PyTorchJob("ends", workers=2, queue="team")
    story.apply(queue("team"), orphaned(training.group()))
    story.until("its pods may be made", lambda: story.phase("ends"), "Inqueue")
    story.apply(*[labelled(one, "ends") for one in training.pods()])
    story.until("it runs", lambda: story.running("ends"), {"ends": 3})
    story.until("it counts", lambda: story.shares("used", "team"), {"team": 3})
    story.kubectl("delete", "podgroup", "ends")
    story.until("nobody counts them", lambda: story.shares("used", "team"), {"team": 0})
    assert story.running("ends") == {"ends": 3}
    story.apply(labelled(training.pod("worker", 2), "ends"))

    story.until("a new one is told", lambda: reported(story, "ends-worker-2"), "PodGroupMissing")


def test_a_group_of_the_mpi_operator_keeps_the_queue_of_its_namespace(story: Story) -> None:
    story.apply(queue("team"))
    annotate(story, "namespace/default", **{QUEUE: "team"})
    mpi = MPIJob("sums", workers=1)
    try:
        story.apply(orphaned(mpi.group()))
        assert groups(story) == [("team", 2, "2")]
        mpi.workers = 2
        story.kubectl("replace", "-f", "-", stdin=json.dumps(orphaned(mpi.group())))
        assert groups(story) == [("team", 3, "3")]
    finally:
        story.kubectl("annotate", "namespace/default", f"{QUEUE}-")
