"""Operators on Maar: what they write, in their order, and what comes of it."""

from maar.core.policy.configuration import parse
from support.operator_simulation import OperatorSimulation, node, queue
from support.operators import MPIJob, PyTorchJob, RayCluster, SparkApplication
from support.workloads import Deployment


def test_training_operator_makes_its_pods_once_the_group_is_inqueue() -> None:
    simulation, job = OperatorSimulation(node("n", 8)), PyTorchJob("fits")
    simulation.create(job.group())
    assert simulation.phase("fits") == "Inqueue"  # neither empty nor Pending: it makes pods now
    simulation.create(*job.pods())
    assert len(simulation.pods(start="fits-")) == 4
    assert simulation.phase("fits") == "Running"


def test_training_operator_puts_the_whole_group_at_each_reconcile_and_nothing_changes() -> None:
    simulation, job = OperatorSimulation(node("n", 8), queue("team")), PyTorchJob("fits", queue="team")
    simulation.create(job.group())
    simulation.create(*job.pods())
    simulation.replace(job.group(stored_queue="team"))
    assert (simulation.phase("fits"), simulation.used("team"), simulation.world.writes) == (
        "Running",
        "4",
        [],
    )


def test_a_finished_training_job_loses_its_group_and_the_pods_that_run_on_are_left_alone() -> None:
    simulation, job = OperatorSimulation(node("n", 4), queue("team")), PyTorchJob("ends", queue="team")
    simulation.create(job.group())
    simulation.create(*job.pods())
    simulation.end("ends-master-0")
    simulation.delete("PodGroup", "ends")  # cleanPodPolicy None: the workers run on
    assert len(simulation.pods(start="ends-worker")) == 3
    assert simulation.used("team") == "0"
    simulation.create(queue("other", guarantee={"resource": {"cpu": "4", "memory": "4Gi"}}))
    later = PyTorchJob("later", workers=1, queue="other")
    simulation.create(later.group())
    simulation.create(*later.pods())
    assert len(simulation.pods(start="ends-worker")) == 3, "nobody is evicted from where nobody is counted"
    simulation.delete("Pod", *simulation.pods(start="ends-worker"))
    assert len(simulation.pods(start="later-")) == 2


def test_a_training_job_that_is_suspended_loses_its_group_and_gets_another() -> None:
    simulation, job = OperatorSimulation(node("n", 4)), PyTorchJob("stops")
    simulation.create(job.group())
    simulation.create(*job.pods())
    simulation.delete("Pod", *simulation.pods(start="stops-"))
    simulation.delete("PodGroup", "stops")
    simulation.create(job.group())
    assert simulation.phase("stops") == "Inqueue"
    simulation.create(*job.pods())
    assert len(simulation.pods(start="stops-")) == 4


def test_a_ray_cluster_comes_with_its_pods_and_waits_as_a_whole() -> None:
    simulation, fits, waits = (
        OperatorSimulation(node("n", 4)),
        RayCluster("fits"),
        RayCluster("waits", workers=1),
    )
    simulation.create(fits.group(), *fits.pods())
    simulation.create(waits.group(), *waits.pods())
    assert len(simulation.pods(start="fits-")) == 4
    assert simulation.pods(start="waits-") == []
    simulation.delete("Pod", *simulation.pods(start="fits-"))
    simulation.delete("PodGroup", "ray-fits-pg")
    assert len(simulation.pods(start="waits-")) == 2


def test_a_ray_cluster_that_scales_itself_needs_its_smallest_size_only() -> None:
    simulation, cluster = OperatorSimulation(node("n", 3)), RayCluster("grows", workers=4, autoscaling_from=1)
    simulation.create(cluster.group(), *cluster.pods())
    assert len(simulation.pods(start="grows-")) == 3
    assert simulation.phase("ray-grows-pg") == "Running"


def test_a_ray_job_counts_its_submitter_in_resources_and_not_in_members() -> None:
    simulation, cluster = OperatorSimulation(node("n", 4)), RayCluster("train-x7k2p", workers=2, job="train")
    simulation.create(cluster.group(), *cluster.pods())
    assert simulation.group("ray-train-pg")["spec"]["minResources"] == {"cpu": "3500m", "memory": "3272Mi"}
    assert len(simulation.pods(start="train-")) == 4


def test_an_mpi_job_starts_its_workers_and_its_launcher_together() -> None:
    simulation, job = OperatorSimulation(node("n", 4)), MPIJob("sums")
    simulation.create(job.group(), *[job.worker(index) for index in range(3)])
    assert simulation.pods(start="sums-") == []
    assert simulation.refusal("sums") == "NotEnoughTasks"
    simulation.create(job.launcher())
    assert len(simulation.pods(start="sums-")) == 4


def test_spark_executors_start_one_by_one_after_their_driver() -> None:
    simulation, web, application = (
        OperatorSimulation(node("n", 5)),
        Deployment("web"),
        SparkApplication("counts", executors=3),
    )
    simulation.create(web.pod(), web.pod())
    simulation.create(application.group())
    simulation.create(application.driver())
    assert simulation.pods(start="counts-driver") == ["counts-driver"]
    simulation.create(*(application.executor(number) for number in (1, 2, 3)))
    assert len(simulation.pods(start="counts-0123")) == 2
    simulation.end("counts-0123456789abcdef-exec-1")
    assert len(simulation.pods(start="counts-0123")) == 2


def test_training_operator_makes_its_pods_also_where_enqueue_is_not_configured() -> None:
    simulation = OperatorSimulation(node("n", 8), configuration=parse({"actions": "allocate, backfill"}))
    job = PyTorchJob("fits")
    simulation.create(job.group())
    assert simulation.phase("fits") == "Inqueue"
    simulation.create(*job.pods())
    assert simulation.phase("fits") == "Running"


def test_a_training_job_whose_pods_are_remade_under_their_names_goes_on() -> None:
    simulation, job = OperatorSimulation(node("n", 4)), PyTorchJob("again", workers=1)
    simulation.create(job.group())
    simulation.create(*job.pods())
    for name in simulation.pods(start="again-"):
        simulation.end(name, "Failed")
    simulation.delete("Pod", "again-master-0", "again-worker-0")
    assert simulation.phase("again") not in ("", "Pending"), "it would wait for ever"
    simulation.create(*job.pods())
    assert len(simulation.pods(start="again-")) == 2


def test_a_ray_cluster_whose_pods_all_failed_gets_new_ones_in_the_old_group() -> None:
    simulation, cluster = OperatorSimulation(node("n", 4)), RayCluster("fails", workers=1)
    simulation.create(cluster.group(), *cluster.pods())
    failed = simulation.pods(start="fails-")
    for name in failed:
        simulation.end(name, "Failed")
    simulation.delete("Pod", *failed)
    simulation.create(*cluster.pods())
    assert len(simulation.pods(start="fails-")) == 2
    assert simulation.phase("ray-fails-pg") == "Running"


def test_a_ray_cluster_that_is_scaled_loses_nobody_while_the_new_pods_are_missing() -> None:
    cleaning = parse({"actions": "enqueue, allocate, backfill, cleanup"})
    simulation = OperatorSimulation(node("n", 4), queue("team"), queue("other"), configuration=cleaning)
    cluster = RayCluster("grows", workers=3, queue="team")
    simulation.create(cluster.group(), *cluster.pods())
    other = RayCluster("other", workers=1, queue="other")
    simulation.create(other.group(), *other.pods())  # team is overused now, where cleanup acts
    cluster.workers = 5
    simulation.replace(cluster.group())  # minMember first, the pods later, perhaps much later
    simulation.wait(1)
    simulation.wait(600)
    assert len(simulation.pods(start="grows-")) == 4


def test_a_ray_head_is_not_the_first_to_go() -> None:
    simulation = OperatorSimulation(node("n", 9), queue("team"), queue("other"))
    cluster = RayCluster("large", workers=8, autoscaling_from=0, queue="team")
    simulation.create(cluster.group(), *cluster.pods())
    assert len(simulation.pods(start="large-")) == 9
    other = RayCluster("other", workers=3, queue="other")
    simulation.create(other.group(), *other.pods())
    assert len(simulation.pods(start="large-head")) == 1
    assert len(simulation.pods(start="other-")) == 4


def test_a_spark_application_that_is_tried_again_runs_in_its_old_group() -> None:
    simulation, application = OperatorSimulation(node("n", 4)), SparkApplication("retries", executors=1)
    simulation.create(application.group())
    simulation.create(application.driver())
    simulation.end("retries-driver", "Failed")
    simulation.delete("Pod", "retries-driver")
    simulation.create(application.driver())
    simulation.create(application.executor(2))
    assert simulation.phase("spark-retries-pg") == "Running"
    assert len(simulation.pods(start="retries-")) == 2


def test_memory_that_spark_writes_in_thousandths_of_a_byte_counts_as_its_pods_ask() -> None:
    simulation, application = (
        OperatorSimulation(node("n", 4), queue("team")),
        SparkApplication("tiny", executors=1, queue="team"),
    )
    simulation.create(application.group())
    simulation.create(application.driver(), application.executor(1))
    status = simulation.world.objects["Queue", "team"]["status"]
    assert status["deserved"]["memory"] == "1792Mi"


def test_gpus_that_are_left_out_of_min_resources_still_hold_the_gang_back() -> None:
    small = node("n", 8)
    small["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    simulation, job = OperatorSimulation(small), PyTorchJob("gpus", workers=1)
    pods = job.pods()
    for one in pods:
        one["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    simulation.create(job.group())
    simulation.create(*pods)
    assert simulation.pods(start="gpus-") == []
