"""Plain workloads on Maar: their pods get groups, and run as their controllers make them."""

from support.operator_simulation import OperatorSimulation, node
from support.workloads import Deployment, PlainJob, StatefulSet, VolcanoJob, argo_step, job_set_job

LEAST = "scheduling.volcano.sh/group-min-member"


def test_the_pods_of_a_job_share_a_group() -> None:
    simulation, job = OperatorSimulation(node("n", 4)), PlainJob("work")
    simulation.create(job.pod(), job.pod())
    first, second = simulation.pods(start="work-")
    assert simulation.group_of(first) == simulation.group_of(second) == "podgroup-job-work"
    assert simulation.phase("podgroup-job-work") == "Running"


def test_a_rollout_is_a_second_group_and_the_first_goes_with_its_pods() -> None:
    simulation, web = OperatorSimulation(node("n", 4)), Deployment("web")
    simulation.create(web.pod(), web.pod())
    web.hash = "7f9c8d5b4a"
    simulation.create(web.pod())
    groups = {simulation.group_of(name) for name in simulation.pods(start="web-")}
    assert groups == {"podgroup-replicaset-web-6d4cf56db6", "podgroup-replicaset-web-7f9c8d5b4a"}
    simulation.delete("Pod", *simulation.pods(start="web-6d4cf56db6"))
    assert ("PodGroup", "default/podgroup-replicaset-web-6d4cf56db6") not in simulation.world.objects


def test_a_stateful_set_gets_its_pods_back_under_their_names() -> None:
    simulation, store = OperatorSimulation(node("n", 4)), StatefulSet("store")
    simulation.create(store.pod(0))
    simulation.create(store.pod(1))
    simulation.delete("Pod", "store-1")
    simulation.create(store.pod(1))
    assert simulation.pods(start="store-") == ["store-0", "store-1"]


def test_every_job_of_a_job_set_is_a_group_of_its_own() -> None:
    simulation, jobs = (
        OperatorSimulation(node("n", 4)),
        [job_set_job("set", "workers", index) for index in (0, 1)],
    )
    simulation.create(*(one.pod(index) for one in jobs for index in (0, 1)))
    assert len({simulation.group_of(name) for name in simulation.pods(start="set-")}) == 2
    assert len(simulation.pods(start="set-")) == 4


def test_the_template_of_a_job_says_how_many_pods_start_together() -> None:
    simulation, job = (
        OperatorSimulation(node("n", 2)),
        PlainJob("gang", indexed=True, annotations={LEAST: "3"}),
    )
    simulation.create(*(job.pod(index) for index in range(3)))
    assert simulation.pods(start="gang-") == []
    simulation.create(node("m", 1))
    assert len(simulation.pods(start="gang-")) == 3


def test_steps_of_a_workflow_run_one_after_the_other() -> None:
    simulation = OperatorSimulation(node("n", 4))
    simulation.create(argo_step("wf", "one", 2843838068))
    simulation.end("wf-one-2843838068")
    simulation.create(argo_step("wf", "two", 1198456320))
    assert simulation.pods(start="wf-two") == ["wf-two-1198456320"]


def test_a_job_of_one_pod_at_a_time_comes_to_its_end() -> None:
    """`parallelism: 1, completions: 3`: the next pod comes when the one before has ended, which stays."""
    simulation, job = OperatorSimulation(node("n", 4)), PlainJob("three")
    for _ in range(3):
        simulation.create(job.pod())
        (running,) = simulation.pods(start="three-")
        simulation.end(running)
    assert len(simulation.pods(start="three-", phase="Succeeded")) == 3
    assert simulation.phase("podgroup-job-three") == "Completed"


def test_a_job_is_tried_again_after_its_only_pod_failed() -> None:
    simulation, job = OperatorSimulation(node("n", 4)), PlainJob("retry")
    simulation.create(job.pod())
    simulation.end(simulation.pods(start="retry-")[0], "Failed")
    simulation.wait(10)
    simulation.create(job.pod())
    assert len(simulation.pods(start="retry-")) == 1
    assert simulation.phase("podgroup-job-retry") == "Running"


def test_a_job_that_failed_once_is_suspended_and_resumed() -> None:
    simulation, job = OperatorSimulation(node("n", 4)), PlainJob("pause")
    simulation.create(job.pod())
    simulation.end(simulation.pods(start="pause-")[0], "Failed")
    simulation.create(job.pod())
    simulation.delete("Pod", *simulation.pods(start="pause-"))
    simulation.wait(60)
    simulation.create(job.pod())
    assert len(simulation.pods(start="pause-")) == 1


def test_a_deployment_whose_only_pod_a_kubelet_evicted_gets_another() -> None:
    simulation, web = OperatorSimulation(node("n", 4)), Deployment("web")
    simulation.create(web.pod())
    simulation.end(simulation.pods(start="web-")[0], "Failed")  # it stays beside the new one
    simulation.create(web.pod())
    assert len(simulation.pods(start="web-")) == 1


def test_a_group_of_volcanos_job_controller_starts_whatever_quotas_it_names() -> None:
    simulation, job = OperatorSimulation(node("n", 4)), VolcanoJob("moved", {"ps": (1, 1), "worker": (2, 2)})
    simulation.create(job.group())
    assert simulation.phase(job.group_name) == "Inqueue"
    simulation.create(*job.pods())
    assert len(simulation.pods(start="moved-")) == 3


def test_an_elastic_job_of_volcano_starts_with_what_it_needs() -> None:
    """A minAvailable below the tasks' own minima together: those do not bind."""
    simulation, job = (
        OperatorSimulation(node("n", 2)),
        VolcanoJob("elastic", {"ps": (1, 1), "worker": (3, 3)}, min_available=1),
    )
    simulation.create(job.group())
    simulation.create(*job.pods())
    assert len(simulation.pods(start="elastic-")) == 2


def test_a_gated_gang_of_the_size_of_the_cluster_shuts_nobody_out() -> None:
    simulation, gated, other = (
        OperatorSimulation(node("n", 4)),
        VolcanoJob("gated", {"w": (4, 4)}),
        PlainJob("other"),
    )
    simulation.create(gated.group())
    for one in gated.pods():
        simulation.create(
            {**one, "spec": {**one["spec"], "schedulingGates": [{"name": "example.com/later"}]}}
        )
    simulation.create(other.pod(), other.pod())
    assert len(simulation.pods(start="other-")) == 2
