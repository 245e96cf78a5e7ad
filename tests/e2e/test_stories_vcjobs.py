"""Stories of Volcano's jobs on a real cluster: their phases in the order in which clients watch them."""

import json
from collections.abc import Iterator
from functools import partial

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import Story, cluster, queue, work
from support.story_vcjobs import (
    COMMAND,
    VCJOB,
    Watches,
    command,
    finish,
    numbers,
    pods_of_job,
    status,
    until_none,
    until_running,
    vcjob,
)
from support.story_workloads import UNTIL_ENDED

RESTART = [{"event": "PodFailed", "action": "RestartJob"}]
COME_BACK = [{"event": "PodEvicted", "action": "RestartJob"}]
ALIVE = ("pending", "running", "terminating")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("vcjobs"), UNTIL_ENDED) as story:
        yield story


@pytest.fixture(scope="module")
def watches(running: Story) -> Watches:
    return Watches(running.kubectl, running.maar, running.plane.environment)


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.kubectl("delete", VCJOB, "--all", "-A")
    running.clear()


def groups_of(story: Story, job: str) -> list[str]:
    names = [one["metadata"]["name"] for one in story.all("podgroups")]
    return [name for name in names if name.startswith(f"{job}-")]


def until_event(story: Story, job: str, reason: str, word: str) -> None:
    """Wait until an event about a job has a word."""
    events = partial(story.events, "Job", job)
    story.until_holds(f"{reason} names {word}", events, lambda seen: any(
        one == reason and word in message for one, message in seen
    ))  # fmt: skip


def scale(story: Story, job: str, replicas: int) -> None:
    patch = json.dumps([{"op": "replace", "path": "/spec/tasks/0/replicas", "value": replicas}])
    story.kubectl("patch", VCJOB, job, "--type=json", "-p", patch)


def test_a_job_runs_and_ends(story: Story, watches: Watches) -> None:
    story.apply(vcjob("life", {"w": 3}, minAvailable=2))
    running = watches.until("life", "Pending", "Running")
    assert running["running"] >= 2
    until_running(story, "life", "w-0", "w-1", "w-2")
    pending = watches.states("life")[0]["metadata"]["resourceVersion"]
    assert watches.first("podgroups", "life-") < int(pending)
    finish(story, "life-w-0", "life-w-1", "life-w-2")
    ended = watches.until("life", "Pending", "Running", "Completed")
    assert numbers(ended, "succeeded", *ALIVE) == [3, 0, 0, 0]
    until_none(story, "its group is gone", lambda: groups_of(story, "life"))
    assert list(pods_of_job(story, "life").values()) == ["Succeeded"] * 3  # their logs can be read


def test_failures_restart_a_job_until_its_runs_are_used_up(story: Story, watches: Watches) -> None:
    story.apply(vcjob("fails", {"w": 3}, maxRetry=2, policies=RESTART))
    watches.until("fails", "Pending", "Running")
    until_running(story, "fails", "w-0", "w-1", "w-2")
    finish(story, "fails-w-0", code=1)
    again = watches.until("fails", "Pending", "Running", "Restarting", "Pending", "Running")
    assert again["retryCount"] == 1
    until_running(story, "fails", "w-0", "w-1", "w-2")
    finish(story, "fails-w-1", code=7)
    once = ("Pending", "Running", "Restarting")
    ended = watches.until("fails", *once, *once, "Failed")
    assert ended["retryCount"] == 2
    assert "exit code 7" in ended["state"]["message"]
    story.until("the failed pod is kept", lambda: pods_of_job(story, "fails"), {"fails-w-1": "Failed"})
    story.until("none is alive", lambda: numbers(status(story, "fails"), "failed", *ALIVE), [1, 0, 0, 0])


def test_an_eviction_restarts_a_job_and_costs_no_retry(story: Story, watches: Watches) -> None:
    story.apply(vcjob("moved", {"w": 2}, maxRetry=2, policies=COME_BACK))
    until_running(story, "moved", "w-0", "w-1")
    phases = ["Pending", "Running"]
    for _ in range(3):  # more often than it may be retried
        watches.until("moved", *phases)
        until_running(story, "moved", "w-0", "w-1")
        node = story.get("pod", "moved-w-0")["spec"]["nodeName"]
        story.kubectl("drain", node, "--force", "--pod-selector=volcano.sh/task-index=0")
        story.kubectl("uncordon", node)
        phases += ["Restarting", "Pending", "Running"]
    ended = watches.until("moved", *phases)
    assert numbers(ended, "retryCount", "version") == [0, 3]


def test_our_scheduler_takes_back_a_share_which_costs_no_retry(story: Story, watches: Watches) -> None:
    story.apply(queue("borrower"), queue("owner", weight=3))
    story.apply(vcjob("lent", {"w": 8}, minAvailable=1, maxRetry=1, queue="borrower", policies=COME_BACK))
    story.until("it has all", lambda: numbers(status(story, "lent"), "running"), [8])
    story.apply(*work("o", "owner", 6))
    story.until("the owner has its share", lambda: story.running("o"), {"o": 6})
    story.until("it goes on with its own", lambda: numbers(status(story, "lent"), "running"), [2])
    assert "Restarting" in watches.phases("lent")
    assert numbers(status(story, "lent"), "retryCount") == [0]
    until_event(story, "lent", "ExecuteAction", "was evicted")


def test_a_task_that_is_complete_completes_the_job(story: Story, watches: Watches) -> None:
    complete = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    story.apply(vcjob("mpi", {"master": {"replicas": 1, "policies": complete}, "worker": 2}))
    watches.until("mpi", "Pending", "Running")
    until_running(story, "mpi", "master-0", "worker-0", "worker-1")
    finish(story, "mpi-master-0")
    ended = watches.until("mpi", "Pending", "Running", "Completing", "Completed")
    assert numbers(ended, "succeeded", *ALIVE) == [1, 0, 0, 0]
    story.until("workers are gone", lambda: pods_of_job(story, "mpi"), {"mpi-master-0": "Succeeded"})


def test_an_exit_code_has_an_action_of_its_own(story: Story, watches: Watches) -> None:
    policies = [{"exitCode": 3, "action": "RestartJob"}, {"event": "PodFailed", "action": "TerminateJob"}]
    story.apply(vcjob("codes", {"w": 2}, policies=policies))
    watches.until("codes", "Pending", "Running")
    until_running(story, "codes", "w-0", "w-1")
    finish(story, "codes-w-0", code=3)
    phases = ["Pending", "Running", "Restarting", "Pending", "Running"]
    watches.until("codes", *phases)
    until_running(story, "codes", "w-0", "w-1")
    finish(story, "codes-w-0", code=4)
    ended = watches.until("codes", *phases, "Terminating", "Terminated")
    assert numbers(ended, "retryCount", "failed", *ALIVE) == [1, 1, 0, 0, 0]
    until_event(story, "codes", "ExecuteAction", "TerminateJob")


def test_a_job_is_suspended_resumed_and_terminated_by_commands(story: Story, watches: Watches) -> None:
    story.apply(vcjob("held", {"w": 3}, maxRetry=1))
    phases = ["Pending", "Running"]
    for _ in range(2):  # more often than it may be retried
        watches.until("held", *phases)
        until_running(story, "held", "w-0", "w-1", "w-2")
        command(story.kubectl, "held", "AbortJob")
        phases += ["Aborting", "Aborted"]
        ended = watches.until("held", *phases)
        assert numbers(ended, *ALIVE) == [0, 0, 0]
        assert pods_of_job(story, "held") == {}
        until_none(story, "its group is gone", lambda: groups_of(story, "held"))
        command(story.kubectl, "held", "ResumeJob")
        phases += ["Restarting", "Pending", "Running"]
    watches.until("held", *phases)
    until_running(story, "held", "w-0", "w-1", "w-2")
    command(story.kubectl, "held", "TerminateJob")
    ended = watches.until("held", *phases, "Terminating", "Terminated")
    assert numbers(ended, "retryCount", *ALIVE) == [0, 0, 0, 0]
    until_event(story, "held", "CommandIssued", "TerminateJob")
    until_none(story, "no Command is left", lambda: story.all(COMMAND))


def test_as_many_successes_as_are_needed_complete_a_job(story: Story, watches: Watches) -> None:
    story.apply(vcjob("enough", {"w": 3}, minSuccess=1))
    watches.until("enough", "Pending", "Running")
    until_running(story, "enough", "w-0", "w-1", "w-2")
    finish(story, "enough-w-1")
    watches.until("enough", "Pending", "Running", "Completed")
    story.until("the others are gone", lambda: pods_of_job(story, "enough"), {"enough-w-1": "Succeeded"})
    story.until("as is counted", lambda: numbers(status(story, "enough"), "succeeded", *ALIVE), [1, 0, 0, 0])


def test_a_job_grows_and_shrinks(story: Story, watches: Watches) -> None:
    story.apply(vcjob("sized", {"w": 2}, minAvailable=1, plugins={"svc": []}, policies=COME_BACK))
    until_running(story, "sized", "w-0", "w-1")
    scale(story, "sized", 4)
    until_running(story, "sized", "w-0", "w-1", "w-2", "w-3")
    hosts = [one["object"] for one in watches.changes("configmaps")]
    grown = next(
        one for one in hosts
        if one["metadata"]["name"] == "sized-svc" and one["data"]["VC_W_NUM"] == "4"
    )  # fmt: skip
    assert "sized-w-3.sized" in grown["data"]["w.host"].splitlines()
    runs = watches.first("pods", "sized-w-2", "Running")
    assert int(grown["metadata"]["resourceVersion"]) < runs
    scale(story, "sized", 1)
    until_running(story, "sized", "w-0")
    follow = partial(story.get, "configmap", "sized-svc")
    story.until_holds("hosts follow", follow, lambda seen: "sized-w-1" not in seen["data"]["w.host"])
    story.until("as is counted", lambda: numbers(status(story, "sized"), "running", "terminating"), [1, 0])
    assert watches.phases("sized") == ["Pending", "Running"]  # no pod was evicted
    assert numbers(status(story, "sized"), "version", "retryCount") == [0, 0]


def test_a_job_that_is_over_goes_after_its_time(story: Story, watches: Watches) -> None:
    story.apply(vcjob("old", {"w": 1}, ttlSecondsAfterFinished=1))
    until_running(story, "old", "w-0")
    finish(story, "old-w-0")
    until_none(story, "it is gone", lambda: story.get(VCJOB, "old"))
    assert watches.phases("old") == ["Pending", "Running", "Completed"]
    until_none(story, "so are its pods", lambda: pods_of_job(story, "old"))


def test_a_job_is_deleted_at_once_and_its_pods_soon(story: Story, watches: Watches) -> None:
    story.apply(vcjob("short", {"w": 3}, plugins={"svc": [], "ssh": []}), vcjob("over", {"w": 1}))
    watches.until("short", "Pending", "Running")
    until_running(story, "over", "w-0")
    finish(story, "over-w-0")
    watches.until("over", "Pending", "Running", "Completed")
    story.kubectl("delete", VCJOB, "short", "over", "--wait=false")
    assert story.all(VCJOB) == []
    until_none(story, "the pod that ended goes", lambda: pods_of_job(story, "over"))
    until_none(story, "its pods go", lambda: pods_of_job(story, "short"))
    until_none(story, "its group goes", lambda: groups_of(story, "short"))
    for kind, name in {"service": "short", "configmap": "short-svc", "secret": "short-ssh"}.items():
        until_none(story, f"its {kind} goes", partial(story.get, kind, name))
    story.apply(vcjob("short", {"w": 1}))  # a job of that name begins anew
    until_running(story, "short", "w-0")


def test_a_namespace_with_a_running_job_goes_and_no_write_counts_as_failing(story: Story) -> None:
    story.kubectl("create", "namespace", "leaving")
    story.apply(
        vcjob("train", {"worker": 4}, namespace="leaving"), vcjob("sweep", {"one": 2}, namespace="leaving")
    )
    story.until("they run", lambda: len([one for one in story.all("pods") if one["spec"].get("nodeName")]), 6)
    story.kubectl("delete", "namespace", "leaving")
    log = story.maar.log("controllers").read_text(encoding="utf-8")
    assert [line for line in log.splitlines() if "cannot create" in line and "leaving" in line] == []
