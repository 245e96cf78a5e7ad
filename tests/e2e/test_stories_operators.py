"""Stories of batch operators, told with the objects that they write, on a real cluster."""

import json
from collections.abc import Iterator
from functools import partial

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.operators import PyTorchJob, RayCluster, SparkApplication
from support.story import SHORT_GRACE, SIZE, Document, Story, cluster, group, pods_of, queue, work
from support.story_workloads import end_pod, labelled, orphaned, reported
from support.workloads import VolcanoJob

WITHOUT_ENQUEUE = 'actions: "allocate, backfill, reclaim, preempt, cleanup"\n'
NOWHERE = {"nodeSelector": {"kubernetes.io/hostname": "broken"}}
GATED = {"schedulingGates": [{"name": "example.com/not-yet"}]}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane:NoSchedule"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("operators")) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.clear()


def submit(story: Story, name: str, written: Document, pods: list[Document]) -> None:
    """Let an operator write a group and its pods, which stories find by this name."""
    story.apply(orphaned(written), *(labelled(one, name) for one in pods))


def put(story: Story, written: Document) -> None:
    """Let an operator PUT a group with the spec that it wants now, and the rest as it was read."""
    stored = story.get("podgroup", written["metadata"]["name"])
    story.kubectl(
        "replace", "-f", "-", stdin=json.dumps({**stored, "spec": {**stored["spec"], **written["spec"]}})
    )


def break_gang(story: Story, name: str) -> None:
    """Let a gang of two that runs lose a pod for one that no node takes."""
    story.kubectl("delete", "pod", f"{name}-1")
    story.apply(pods_of(name, 2, more=NOWHERE)[1])


def test_training_operator_gets_its_pods_made_where_enqueue_is_not_configured(story: Story) -> None:
    story.configure(WITHOUT_ENQUEUE)
    try:
        job = PyTorchJob("trains", queue="team")
        story.apply(queue("team"), orphaned(job.group()))
        story.until("its pods may be made", lambda: story.phase("trains"), "Inqueue")
        story.apply(*(labelled(one, "trains") for one in job.pods()))
        story.until("it runs", lambda: story.running("trains"), {"trains": 4})
    finally:
        story.configure(SHORT_GRACE)


def test_a_ray_cluster_gives_workers_and_keeps_its_head(story: Story) -> None:
    ray = RayCluster("rays", workers=7, autoscaling_from=1, queue="theirs")
    story.apply(queue("theirs"), queue("ours"))
    pods = ray.pods()
    submit(story, "rays", ray.group(), pods)
    story.until("it has borrowed all", lambda: story.running("rays"), {"rays": 8})
    story.apply(*work("mine", "ours", 4, least=4))
    story.until("each has its half", lambda: story.running("rays", "mine"), {"rays": 4, "mine": 4})
    assert pods[0]["metadata"]["name"] in story.nodes_of("rays")
    evicted = {one["metadata"]["name"] for one in pods} - story.nodes_of("rays").keys()
    assert all("-small-worker-" in one for one in evicted)


def test_a_ray_cluster_that_is_scaled_loses_nobody_while_its_new_pods_find_no_room(story: Story) -> None:
    ray = RayCluster("grows", workers=3, queue="q")
    story.apply(queue("q"), *work("broken", "q", 2, least=2))
    submit(story, "grows", ray.group(), ray.pods())
    story.until("both run", lambda: story.running("grows", "broken"), {"grows": 4, "broken": 2})
    story.until("its status says so", lambda: story.phase(ray.group_name), "Running")
    before = story.nodes_of("grows")
    story.apply(queue("kept", guarantee={"resource": {"cpu": "6"}}))  # cleanup is for overused queues
    ray.workers = 9
    put(story, ray.group())
    story.apply(*(labelled(ray.worker(), "grows") for _ in range(6)))
    break_gang(story, "broken")  # afterwards, so that its grace period ends later
    story.until("who can do no work goes", lambda: story.evictions("broken"), {"evicted by cleanup"})
    assert story.nodes_of("grows") == before


def test_pods_that_come_again_in_a_group_that_was_completed_run(story: Story) -> None:
    ray = RayCluster("fails", workers=2, queue="q")
    spark = SparkApplication("tried", executors=1, queue="q")
    story.apply(queue("q"))
    submit(story, "fails", ray.group(), ray.pods())
    submit(story, "tried", spark.group(), [spark.driver(), spark.executor(1)])
    story.until("both run", lambda: story.running("fails", "tried"), {"fails": 3, "tried": 2})
    ended = [*story.nodes_of("fails"), *story.nodes_of("tried")]
    for one in ended:
        end_pod(story, one, "Failed")
    for name in (ray.group_name, spark.group_name):
        story.until(f"{name} is over", partial(story.phase, name), "Completed")
    story.kubectl("delete", "pods", *ended)
    again = [*(labelled(one, "fails") for one in ray.pods()), labelled(spark.driver(), "tried")]
    story.apply(*again)
    story.until("both run again", lambda: story.running("fails", "tried"), {"fails": 3, "tried": 1})
    for name in (ray.group_name, spark.group_name):
        story.until(f"{name} runs", partial(story.phase, name), "Running")


def test_a_spark_application_whose_memory_is_wrong_runs_and_counts_as_its_pods_ask(story: Story) -> None:
    spark = SparkApplication("counts", queue="q")
    story.apply(queue("q"), orphaned(spark.group()))
    story.until("its driver may be made", lambda: story.phase(spark.group_name), "Inqueue")
    story.apply(labelled(spark.driver(), "counts"))
    story.until("the driver runs", lambda: story.running("counts"), {"counts": 1})
    story.apply(*(labelled(spark.executor(number), "counts") for number in (1, 2, 3)))
    story.until("all run", lambda: story.running("counts"), {"counts": 4})

    def memory() -> str:
        return str(story.get("queue", "q").get("status", {}).get("deserved", {}).get("memory"))

    story.until("the queue deserves what they hold", memory, "3584Mi")


def test_the_gate_asks_for_what_drivers_ask_for_where_their_group_names_less(story: Story) -> None:
    story.apply(queue("small", capability={"memory": "1Gi"}))
    for name, phase in (("first", "Running"), ("second", "Pending")):
        spark = SparkApplication(name, executors=0, queue="small")
        story.apply(labelled(spark.driver(), name), orphaned(spark.group()))
        story.until(f"{name} is {phase}", partial(story.phase, spark.group_name), phase)
    story.until("no node raises a ceiling", lambda: reported(story, "second-driver"), "QueueAtCapability")
    assert story.phase("spark-second-pg") == "Pending"


def test_jobs_that_volcanos_controller_wrote_start_whatever_quotas_they_name(story: Story) -> None:
    whole = VolcanoJob("whole", {"master": (1, 1), "worker": (2, 2)})
    elastic = VolcanoJob("elastic", {"master": (1, 1), "worker": (9, 9)}, min_available=2)
    submit(story, "whole", whole.group(), whole.pods())
    story.until("it runs", lambda: story.running("whole"), {"whole": 3})
    submit(story, "elastic", elastic.group(), elastic.pods())
    story.until("the other runs with what there is", lambda: story.running("elastic"), {"elastic": 5})
    story.until("which is enough", lambda: story.phase(elastic.group_name), "Running")


def test_a_gated_gang_of_the_size_of_the_cluster_shuts_nobody_out(story: Story) -> None:
    asked = {"cpu": "8"}
    story.apply(
        queue("q"), queue("p"), group("gated", queue="q", minMember=8, minResources=asked),
        *pods_of("gated", 8, more=GATED),
    )  # fmt: skip
    story.until("it waits for its gates", lambda: story.reason("gated")[0], "SchedulingGated")
    story.apply(group("other", queue="p", minMember=8, minResources=asked), *pods_of("other", 8))
    story.until("the other runs", lambda: story.running("other", "gated"), {"other": 8, "gated": 0})
    story.kubectl("delete", "podgroup/other", *(f"pod/other-{one}" for one in range(8)))
    for one in range(8):
        story.kubectl("patch", "pod", f"gated-{one}", "--type=json", "-p",
                      '[{"op":"remove","path":"/spec/schedulingGates"}]')  # fmt: skip
    story.until("then it", lambda: story.running("gated"), {"gated": 8})


def test_a_control_plane_node_does_not_keep_reclaim_from_acting(story: Story) -> None:
    story.plane.make_nodes(["control"], {**SIZE, "cpu": "8"})
    try:
        story.kubectl("taint", "node", "control", CONTROL_PLANE)
        story.until("it counts for nobody", lambda: story.shares("deserved", "root"), {"root": 8})
        story.apply(queue("a"), queue("b"), *work("borrows", "a", 8))
        story.until("one has all", lambda: story.running("borrows"), {"borrows": 8})
        story.apply(*work("asks", "b", 4, least=4))
        story.until("each has its half", lambda: story.running("borrows", "asks"), {"borrows": 4, "asks": 4})
    finally:
        story.kubectl("delete", "node", "control")
