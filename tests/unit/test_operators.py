"""Operators on Maar: what they write, in their order, and what comes of it."""

from maar.core.policy.configuration import parse
from support.operator_stage import Stage, node, queue
from support.operators import MPIJob, PyTorchJob, RayCluster, SparkApplication
from support.workloads import Deployment


def test_training_operator_makes_its_pods_once_the_group_is_inqueue() -> None:
    stage, job = Stage(node("n", 8)), PyTorchJob("fits")
    stage.create(job.group())
    assert stage.phase("fits") == "Inqueue"  # neither empty nor Pending: it makes pods now
    stage.create(*job.pods())
    assert len(stage.pods(start="fits-")) == 4
    assert stage.phase("fits") == "Running"


def test_training_operator_puts_the_whole_group_at_each_reconcile_and_nothing_changes() -> None:
    stage, job = Stage(node("n", 8), queue("team")), PyTorchJob("fits", queue="team")
    stage.create(job.group())
    stage.create(*job.pods())
    stage.replace(job.group(stored_queue="team"))
    assert (stage.phase("fits"), stage.used("team"), stage.world.writes) == ("Running", "4", [])


def test_a_finished_training_job_loses_its_group_and_the_pods_that_run_on_are_left_alone() -> None:
    stage, job = Stage(node("n", 4), queue("team")), PyTorchJob("ends", queue="team")
    stage.create(job.group())
    stage.create(*job.pods())
    stage.end("ends-master-0")
    stage.delete("PodGroup", "ends")  # cleanPodPolicy None: the workers run on
    assert len(stage.pods(start="ends-worker")) == 3
    assert stage.used("team") == "0"
    stage.create(queue("other", guarantee={"resource": {"cpu": "4", "memory": "4Gi"}}))
    later = PyTorchJob("later", workers=1, queue="other")
    stage.create(later.group())
    stage.create(*later.pods())
    assert len(stage.pods(start="ends-worker")) == 3, "nobody is evicted from where nobody is counted"
    stage.delete("Pod", *stage.pods(start="ends-worker"))
    assert len(stage.pods(start="later-")) == 2


def test_a_training_job_that_is_suspended_loses_its_group_and_gets_another() -> None:
    stage, job = Stage(node("n", 4)), PyTorchJob("stops")
    stage.create(job.group())
    stage.create(*job.pods())
    stage.delete("Pod", *stage.pods(start="stops-"))
    stage.delete("PodGroup", "stops")
    stage.create(job.group())
    assert stage.phase("stops") == "Inqueue"
    stage.create(*job.pods())
    assert len(stage.pods(start="stops-")) == 4


def test_a_ray_cluster_comes_with_its_pods_and_waits_as_a_whole() -> None:
    stage, fits, waits = Stage(node("n", 4)), RayCluster("fits"), RayCluster("waits", workers=1)
    stage.create(fits.group(), *fits.pods())
    stage.create(waits.group(), *waits.pods())
    assert len(stage.pods(start="fits-")) == 4
    assert stage.pods(start="waits-") == []
    stage.delete("Pod", *stage.pods(start="fits-"))
    stage.delete("PodGroup", "ray-fits-pg")
    assert len(stage.pods(start="waits-")) == 2


def test_a_ray_cluster_that_scales_itself_needs_its_smallest_size_only() -> None:
    stage, cluster = Stage(node("n", 3)), RayCluster("grows", workers=4, autoscaling_from=1)
    stage.create(cluster.group(), *cluster.pods())
    assert len(stage.pods(start="grows-")) == 3
    assert stage.phase("ray-grows-pg") == "Running"


def test_a_ray_job_counts_its_submitter_in_resources_and_not_in_members() -> None:
    stage, cluster = Stage(node("n", 4)), RayCluster("train-x7k2p", workers=2, job="train")
    stage.create(cluster.group(), *cluster.pods())
    assert stage.group("ray-train-pg")["spec"]["minResources"] == {"cpu": "3500m", "memory": "3272Mi"}
    assert len(stage.pods(start="train-")) == 4


def test_an_mpi_job_starts_its_workers_and_its_launcher_together() -> None:
    stage, job = Stage(node("n", 4)), MPIJob("sums")
    stage.create(job.group(), *[job.worker(index) for index in range(3)])
    assert stage.pods(start="sums-") == []
    assert stage.refusal("sums") == "NotEnoughTasks"
    stage.create(job.launcher())
    assert len(stage.pods(start="sums-")) == 4


def test_spark_executors_start_one_by_one_after_their_driver() -> None:
    stage, web, application = Stage(node("n", 5)), Deployment("web"), SparkApplication("counts", executors=3)
    stage.create(web.pod(), web.pod())
    stage.create(application.group())
    stage.create(application.driver())
    assert stage.pods(start="counts-driver") == ["counts-driver"]
    stage.create(*(application.executor(number) for number in (1, 2, 3)))
    assert len(stage.pods(start="counts-0123")) == 2
    stage.end("counts-0123456789abcdef-exec-1")
    assert len(stage.pods(start="counts-0123")) == 2


def test_training_operator_makes_its_pods_also_where_enqueue_is_not_configured() -> None:
    stage = Stage(node("n", 8), configuration=parse({"actions": "allocate, backfill"}))
    job = PyTorchJob("fits")
    stage.create(job.group())
    assert stage.phase("fits") == "Inqueue"
    stage.create(*job.pods())
    assert stage.phase("fits") == "Running"


def test_a_training_job_whose_pods_are_remade_under_their_names_goes_on() -> None:
    stage, job = Stage(node("n", 4)), PyTorchJob("again", workers=1)
    stage.create(job.group())
    stage.create(*job.pods())
    for name in stage.pods(start="again-"):
        stage.end(name, "Failed")
    stage.delete("Pod", "again-master-0", "again-worker-0")
    assert stage.phase("again") not in ("", "Pending"), "it would wait for ever"
    stage.create(*job.pods())
    assert len(stage.pods(start="again-")) == 2


def test_a_ray_cluster_whose_pods_all_failed_gets_new_ones_in_the_old_group() -> None:
    stage, cluster = Stage(node("n", 4)), RayCluster("fails", workers=1)
    stage.create(cluster.group(), *cluster.pods())
    failed = stage.pods(start="fails-")
    for name in failed:
        stage.end(name, "Failed")
    stage.delete("Pod", *failed)
    stage.create(*cluster.pods())
    assert len(stage.pods(start="fails-")) == 2
    assert stage.phase("ray-fails-pg") == "Running"


def test_a_ray_cluster_that_is_scaled_loses_nobody_while_the_new_pods_are_missing() -> None:
    cleaning = parse({"actions": "enqueue, allocate, backfill, cleanup"})
    stage = Stage(node("n", 4), queue("team"), queue("other"), configuration=cleaning)
    cluster = RayCluster("grows", workers=3, queue="team")
    stage.create(cluster.group(), *cluster.pods())
    other = RayCluster("other", workers=1, queue="other")
    stage.create(other.group(), *other.pods())  # team is overused now, where cleanup acts
    cluster.workers = 5
    stage.replace(cluster.group())  # minMember first, the pods later, perhaps much later
    stage.wait(1)
    stage.wait(600)
    assert len(stage.pods(start="grows-")) == 4


def test_a_ray_head_is_not_the_first_to_go() -> None:
    stage = Stage(node("n", 9), queue("team"), queue("other"))
    cluster = RayCluster("large", workers=8, autoscaling_from=0, queue="team")
    stage.create(cluster.group(), *cluster.pods())
    assert len(stage.pods(start="large-")) == 9
    other = RayCluster("other", workers=3, queue="other")
    stage.create(other.group(), *other.pods())
    assert len(stage.pods(start="large-head")) == 1
    assert len(stage.pods(start="other-")) == 4


def test_a_spark_application_that_is_tried_again_runs_in_its_old_group() -> None:
    stage, application = Stage(node("n", 4)), SparkApplication("retries", executors=1)
    stage.create(application.group())
    stage.create(application.driver())
    stage.end("retries-driver", "Failed")
    stage.delete("Pod", "retries-driver")
    stage.create(application.driver())
    stage.create(application.executor(2))
    assert stage.phase("spark-retries-pg") == "Running"
    assert len(stage.pods(start="retries-")) == 2


def test_memory_that_spark_writes_in_thousandths_of_a_byte_counts_as_its_pods_ask() -> None:
    stage, application = (
        Stage(node("n", 4), queue("team")),
        SparkApplication("tiny", executors=1, queue="team"),
    )
    stage.create(application.group())
    stage.create(application.driver(), application.executor(1))
    status = stage.world.objects["Queue", "team"]["status"]
    assert status["deserved"]["memory"] == "1792Mi"


def test_gpus_that_are_left_out_of_min_resources_still_hold_the_gang_back() -> None:
    small = node("n", 8)
    small["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    stage, job = Stage(small), PyTorchJob("gpus", workers=1)
    pods = job.pods()
    for one in pods:
        one["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    stage.create(job.group())
    stage.create(*pods)
    assert stage.pods(start="gpus-") == []
