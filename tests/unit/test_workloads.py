"""Plain workloads on Maar: their pods get groups, and run as their controllers make them."""

from support.operator_stage import Stage, node
from support.workloads import Deployment, PlainJob, StatefulSet, VolcanoJob, argo_step, job_set_job

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


def test_a_job_of_one_pod_at_a_time_comes_to_its_end() -> None:
    """`parallelism: 1, completions: 3`: the next pod comes when the one before has ended, which stays."""
    stage, job = Stage(node("n", 4)), PlainJob("three")
    for _ in range(3):
        stage.create(job.pod())
        (running,) = stage.pods(start="three-")
        stage.end(running)
    assert len(stage.pods(start="three-", phase="Succeeded")) == 3
    assert stage.phase("podgroup-job-three") == "Completed"


def test_a_job_is_tried_again_after_its_only_pod_failed() -> None:
    stage, job = Stage(node("n", 4)), PlainJob("retry")
    stage.create(job.pod())
    stage.end(stage.pods(start="retry-")[0], "Failed")
    stage.wait(10)
    stage.create(job.pod())
    assert len(stage.pods(start="retry-")) == 1
    assert stage.phase("podgroup-job-retry") == "Running"


def test_a_job_that_failed_once_is_suspended_and_resumed() -> None:
    stage, job = Stage(node("n", 4)), PlainJob("pause")
    stage.create(job.pod())
    stage.end(stage.pods(start="pause-")[0], "Failed")
    stage.create(job.pod())
    stage.delete("Pod", *stage.pods(start="pause-"))
    stage.wait(60)
    stage.create(job.pod())
    assert len(stage.pods(start="pause-")) == 1


def test_a_deployment_whose_only_pod_a_kubelet_evicted_gets_another() -> None:
    stage, web = Stage(node("n", 4)), Deployment("web")
    stage.create(web.pod())
    stage.end(stage.pods(start="web-")[0], "Failed")  # it stays beside the new one
    stage.create(web.pod())
    assert len(stage.pods(start="web-")) == 1


def test_a_group_of_volcanos_job_controller_starts_whatever_quotas_it_names() -> None:
    stage, job = Stage(node("n", 4)), VolcanoJob("moved", {"ps": (1, 1), "worker": (2, 2)})
    stage.create(job.group())
    assert stage.phase(job.group_name) == "Inqueue"
    stage.create(*job.pods())
    assert len(stage.pods(start="moved-")) == 3


def test_an_elastic_job_of_volcano_starts_with_what_it_needs() -> None:
    """A minAvailable below the tasks' own minima together: those do not bind."""
    stage, job = Stage(node("n", 2)), VolcanoJob("elastic", {"ps": (1, 1), "worker": (3, 3)}, min_available=1)
    stage.create(job.group())
    stage.create(*job.pods())
    assert len(stage.pods(start="elastic-")) == 2


def test_a_gated_gang_of_the_size_of_the_cluster_shuts_nobody_out() -> None:
    stage, gated, other = Stage(node("n", 4)), VolcanoJob("gated", {"w": (4, 4)}), PlainJob("other")
    stage.create(gated.group())
    for one in gated.pods():
        stage.create({**one, "spec": {**one["spec"], "schedulingGates": [{"name": "example.com/later"}]}})
    stage.create(other.pod(), other.pod())
    assert len(stage.pods(start="other-")) == 2
