"""Plain workloads on Maar: their pods get groups, and run as their controllers make them."""

from support.operator_stage import Stage, node
from support.workloads import Deployment, PlainJob, StatefulSet, argo_step, job_set_job

LEAST = "scheduling.volcano.sh/group-min-member"


def test_the_pods_of_a_job_share_a_group() -> None:
    stage, job = Stage(node("n", 4)), PlainJob("work")
    stage.create(job.pod(), job.pod())
    first, second = stage.pods(start="work-")
    assert stage.group_of(first) == stage.group_of(second) == "podgroup-job-work"
    assert stage.phase("podgroup-job-work") == "Running"


def test_a_rollout_is_a_second_group_and_the_first_goes_with_its_pods() -> None:
    stage, web = Stage(node("n", 4)), Deployment("web")
    stage.create(web.pod(), web.pod())
    web.hash = "7f9c8d5b4a"
    stage.create(web.pod())
    groups = {stage.group_of(name) for name in stage.pods(start="web-")}
    assert groups == {"podgroup-replicaset-web-6d4cf56db6", "podgroup-replicaset-web-7f9c8d5b4a"}
    stage.delete("Pod", *stage.pods(start="web-6d4cf56db6"))
    assert ("PodGroup", "default/podgroup-replicaset-web-6d4cf56db6") not in stage.world.objects


def test_a_stateful_set_gets_its_pods_back_under_their_names() -> None:
    stage, store = Stage(node("n", 4)), StatefulSet("store")
    stage.create(store.pod(0))
    stage.create(store.pod(1))
    stage.delete("Pod", "store-1")
    stage.create(store.pod(1))
    assert stage.pods(start="store-") == ["store-0", "store-1"]


def test_every_job_of_a_job_set_is_a_group_of_its_own() -> None:
    stage, jobs = Stage(node("n", 4)), [job_set_job("set", "workers", index) for index in (0, 1)]
    stage.create(*(one.pod(index) for one in jobs for index in (0, 1)))
    assert len({stage.group_of(name) for name in stage.pods(start="set-")}) == 2
    assert len(stage.pods(start="set-")) == 4


def test_the_template_of_a_job_says_how_many_pods_start_together() -> None:
    stage, job = Stage(node("n", 2)), PlainJob("gang", indexed=True, annotations={LEAST: "3"})
    stage.create(*(job.pod(index) for index in range(3)))
    assert stage.pods(start="gang-") == []
    stage.create(node("m", 1))
    assert len(stage.pods(start="gang-")) == 3


def test_steps_of_a_workflow_run_one_after_the_other() -> None:
    stage = Stage(node("n", 4))
    stage.create(argo_step("wf", "one", 2843838068))
    stage.end("wf-one-2843838068")
    stage.create(argo_step("wf", "two", 1198456320))
    assert stage.pods(start="wf-two") == ["wf-two-1198456320"]
