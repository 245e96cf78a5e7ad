"""Law E12: no eviction ends a Job of batch/v1, whatever its size, its limits, and who is started anew when.

Jobs of two queues come and go on the embedded cluster, whose controller of Jobs counts failures as
Kubernetes' does. In the end all that can run runs, and no Job has ended but those that were
deleted. Pods may succeed and be deleted meanwhile: the first Job runs what is left of it once the
others have gone.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from properties.how_many import cases
from support.batch_job_world import BatchJobWorld
from support.embedded import opened

IGNORE: Final = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
NODES: Final = {"n1": 4, "n2": 4}
MOST_ROUNDS: Final = 40
QUIET: Final = 3  # rounds in which nothing is decided

jobs = st.fixed_dictionaries(
    {
        "queue": st.sampled_from("ab"),
        "pods": st.integers(1, 9),
        "least": st.integers(1, 9),
        "limit": st.integers(0, 3),
        "ignores": st.booleans(),
        "indexed": st.sampled_from(["", "Indexed", "per index"]),
        "rounds": st.integers(1, 3),  # before the next comes
        "restart": st.sampled_from(["", "scheduler", "controllers"]),
        "deletes": st.booleans(),  # the first that is there
    }
)
endings = st.tuples(
    st.integers(0, 4), st.integers(0, 8), st.booleans()
)  # of which, how many; are they deleted


def submit(world: BatchJobWorld, name: str, drawn: dict[str, Any]) -> None:
    more: dict[str, Any] = {"backoffLimit": drawn["limit"]}
    if drawn["ignores"]:
        more["podFailurePolicy"] = IGNORE
    if drawn["indexed"]:
        more["completionMode"] = "Indexed"
    if drawn["indexed"] == "per index":
        more["backoffLimitPerIndex"] = drawn["limit"]
    pods = drawn["pods"]
    world.job(name, drawn["queue"], pods, min(drawn["least"], pods), **more)


def check(world: BatchJobWorld, there: list[str]) -> None:
    """No Job has failed or is about to, and nobody has more pods than it wants."""
    for name in there:
        assert not world.condition(name, "Failed"), name
        assert not world.condition(name, "FailureTarget"), name
        job = world.get(name)
        assert world.running(name) <= job["spec"]["parallelism"]
        if not any(rule for rule in job["spec"].get("podFailurePolicy", {}).get("rules", ())):
            assert job.get("status", {}).get("failed", 0) == 0, name


def come(world: BatchJobWorld, drawn: list[dict[str, Any]]) -> list[str]:
    """Let the Jobs come, and some go; gives the names of those that are there in the end."""
    there = list[str]()
    for number, one in enumerate(drawn):
        submit(world, f"j{number}", one)
        there.append(f"j{number}")
        for _ in range(one["rounds"]):
            world.round()
            check(world, there)
        if one["restart"] == "scheduler":
            world.restart_scheduler()
        elif one["restart"]:
            world.restart_controllers()
        if one["deletes"] and len(there) > 1:
            world.embedded.cluster.delete("jobs.batch", "default", there.pop(0))
    return there


def rest(world: BatchJobWorld, there: list[str]) -> None:
    """Let everybody work until nothing is decided any more."""
    quiet = 0
    for _ in range(MOST_ROUNDS):
        plan = world.round()
        check(world, there)
        quiet = 0 if plan.evictions or plan.binds or plan.resumptions else quiet + 1
        if quiet == QUIET:
            return
    raise AssertionError("it does not come to rest")


@settings(max_examples=cases(30))
@given(drawn=st.lists(jobs, min_size=2, max_size=5))
def test_no_eviction_ends_a_job(drawn: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder)) as embedded:
        world = BatchJobWorld(embedded)
        for name, cpu in NODES.items():
            world.node(name, cpu)
        world.queue("a")
        world.queue("b")
        there = come(world, drawn)
        rest(world, there)
        idle = sum(NODES.values()) - sum(map(world.running, there))
        for name in there:
            job, running, group = world.get(name)["spec"], world.running(name), world.group(name)
            if job.get("suspend", False):  # it waits for its turn
                assert not running
                assert world.engine.tables.groups[group.key].to_come == job["parallelism"]
            assert running >= group.spec.min_member or group.spec.min_member > idle, (name, idle)


@settings(max_examples=cases(30))
@given(drawn=st.lists(st.tuples(jobs, endings), min_size=2, max_size=4))
def test_the_first_job_runs_once_the_others_have_gone_whatever_has_ended_of_it(
    drawn: list[tuple[dict[str, Any], tuple[int, int, bool]]],
) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder)) as embedded:
        world, there = BatchJobWorld(embedded), dict[str, int]()
        for name, cpu in NODES.items():
            world.node(name, cpu)
        world.queue("a")
        world.queue("b")
        for number, (job, (which, count, are_deleted)) in enumerate(drawn):
            submit(world, f"j{number}", job)
            there[f"j{number}"] = min(job["least"], job["pods"])
            world.rounds(job["rounds"])
            succeed(world, f"j{which % len(there)}", count)
            if are_deleted:
                collect(world)
        rest(world, list(there))
        for name in list(there)[1:]:
            world.embedded.cluster.delete("jobs.batch", "default", name)
        rest(world, ["j0"])
        job, least = world.get("j0"), there["j0"]
        succeeded = job["status"].get("succeeded", 0)
        lacking = job["spec"]["completions"] - succeeded
        assert world.running("j0") >= min(lacking, max(1, least - succeeded)) or least > sum(NODES.values())


def succeed(world: BatchJobWorld, name: str, count: int) -> None:
    """Let so many pods of a Job that run end well."""
    for pod in world.pods(name)[:count]:
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            world.embedded.edit("pods", pod["metadata"]["name"], "status", status={"phase": "Succeeded"})
    world.round()


def collect(world: BatchJobWorld) -> None:
    """Delete the pods that have succeeded, as the collector of ended pods does."""
    for pod in cast(list[dict[str, Any]], world.embedded.cluster.all("pods")):
        if pod.get("status", {}).get("phase") == "Succeeded":
            world.embedded.cluster.delete("pods", "default", pod["metadata"]["name"])
