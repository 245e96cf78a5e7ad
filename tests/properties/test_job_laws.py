"""Laws of jobs: whatever happens, and whenever the controller is killed, a job goes the way of the table.

The laws J1 to J5 of the specification: counters (J1), the phase (J2), no pod left (J3), each pod
once (J4), each Command once (J5).
"""

from itertools import cycle
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from maar.core.model.index_ranges import parse_indexes
from properties.how_many import cases
from properties.slow_job import ALIVE, FINAL, Cell, SlowJob, SlowPolicy, SlowTask
from support.job_world import JOB, JobWorld, job

Json = dict[str, Any]
Step = tuple[str, int, int]  # what happens, to which of the pods, with which exit code

ACTIONS: Final = (
    "AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob",
    "ResumeJob",
)  # fmt: skip
ORDERS: Final = ("AbortJob", "ResumeJob", "ResumeJob", "RestartJob", "TerminateJob", "CompleteJob")
POD_VERBS: Final = ("run", "run", "succeed", "fail", "evict", "delete", "vanish")
FINISHED: Final = (*FINAL, "Aborted")

policies = st.lists(
    st.builds(
        SlowPolicy,
        st.sampled_from(("PodFailed", "PodEvicted", "TaskCompleted", "*")),
        st.sampled_from(ACTIONS),
        st.sampled_from((None, None, 1)),
    ),
    max_size=2,
).map(tuple)


@st.composite
def tasks(draw: st.DrawFn, name: str) -> SlowTask:
    replicas = draw(st.integers(1, 4))
    size = draw(st.sampled_from([0, *(n for n in (1, 2) if replicas % n == 0)]))
    return SlowTask(name, replicas, draw(st.integers(0, replicas)), draw(policies), size)


@st.composite
def slow_jobs(draw: st.DrawFn) -> SlowJob:
    made = tuple(draw(tasks(name)) for name in draw(st.sampled_from((("w",), ("v", "w")))))
    replicas = sum(task.replicas for task in made)
    least = draw(st.sampled_from((sum(task.least for task in made), draw(st.integers(0, replicas)))))
    return SlowJob(
        tasks=made,
        least=least,
        max_retry=draw(st.integers(1, 3)),
        min_success=draw(st.sampled_from((None, None, None, 1, 2))),
        policies=draw(policies),
        are_slow=draw(st.booleans()),
    )


steps = st.lists(
    st.tuples(
        st.sampled_from((*POD_VERBS, *POD_VERBS, *["admit"] * 5, "end", "end", "command")),
        st.integers(0, 40),
        st.integers(1, 2),
    ),
    max_size=30,
)
moments = st.lists(st.integers(0, 3), min_size=1, max_size=7)  # 0: the controller is started anew there


@settings(max_examples=cases(1000))
@given(slow_job=slow_jobs(), happens=steps, restarts=moments, crashes=moments, late=moments)
def test_a_job_goes_the_way_of_the_slow_one(
    slow_job: SlowJob, happens: list[Step], restarts: list[int], crashes: list[int], late: list[int]
) -> None:
    world = JobWorld(has_slow_pods=slow_job.are_slow)
    restarts_here, crashes_here, late_here = cycle(restarts), cycle(crashes), cycle([*late, 0])
    is_whole_view = False
    world.between_rounds = lambda one: (
        one.restart() if not is_whole_view and next(restarts_here) == 0 else None
    )
    world.held_back = lambda: next(late_here)
    world.put(manifest(slow_job))
    world.settle()
    slow_job.begin()
    check(world, slow_job)
    for verb, number, code in happens:
        # A pod that vanishes while nobody looks leaves no trace of its end.
        is_whole_view = verb == "vanish"
        world.crash_after = None if is_whole_view else next(crashes_here) or None
        world.pass_time(1)
        happen(world, slow_job, (verb, number, code))
        world.settle()
        world.crash_after = None
        world.settle()
        check(world, slow_job)
    delete_job(world)


timed_policies = st.lists(
    st.fixed_dictionaries(
        {
            "event": st.sampled_from(
                ("PodFailed", "PodEvicted", "PodPending", "TaskCompleted", "Unknown", "*")
            ),
            "action": st.sampled_from(ACTIONS),
        },
        optional={"timeout": st.sampled_from(("10s", "1m"))},
    ),
    max_size=3,
)
anything = st.lists(
    st.tuples(
        st.sampled_from((*POD_VERBS, *POD_VERBS, *["admit"] * 4, "end", "end", "command", "scale", "unknown",
                         "wait", "restart", "crash", "lose", "lose", "refuse")),
        st.integers(0, 40),
        st.integers(0, 3),  # the rounds of the controller after it
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=cases(1000))
@given(slow_job=slow_jobs(), answers=timed_policies, happens=anything)
def test_whatever_happened_a_job_at_rest_is_as_the_table_has_it(
    slow_job: SlowJob, answers: list[Json], happens: list[Step]
) -> None:
    world = JobWorld(has_slow_pods=slow_job.are_slow)
    document = manifest(slow_job)
    document["spec"]["policies"] += answers
    world.put(document)
    given = 0
    for verb, number, rounds in happens:
        given += verb == "command"
        disturb(world, verb, number)
        for _ in range(rounds):
            world.round()
    world.refusal, world.crash_after = "", None
    world.try_again()
    world.settle()
    check_rest(world)
    check_commands(world)
    assert len(world.orders) == given
    before = dict(world.objects)
    world.restart()
    world.settle()
    assert world.objects == before, "a controller that is started anew finds something to do"
    delete_job(world)


@given(
    orders=st.lists(st.sampled_from(ORDERS), min_size=1, max_size=5),
    lost=st.integers(0, 4),
    crash=st.none() | st.integers(0, 6),
)
def test_every_command_is_carried_out_once(orders: list[str], lost: int, crash: int | None) -> None:
    world = JobWorld()
    world.put(job([{"name": "w", "replicas": 1}]))
    world.settle()
    for action in orders:
        world.put(command(world, action))
    world.lost_deletions, world.crash_after = lost, crash
    world.settle()
    check_commands(world)
    assert len(world.orders) == len(orders)


def disturb(world: JobWorld, verb: str, number: int) -> None:  # noqa: C901  # one line a word
    """Let something happen to the job, whatever the controller is doing."""
    pods = pods_of(world)
    going = sorted(cell for cell, pod in pods.items() if stands(pod) == "Terminating")
    match verb:
        case "admit" | "unknown" if (group := world.group()) is not None:
            world.change(group, {"status": {"phase": "Inqueue" if verb == "admit" else "Unknown"}})
        case "command":
            world.put(command(world, ORDERS[number % len(ORDERS)]))
        case "end" if going:
            world.end(place(going[number % len(going)]))
        case "scale":
            scale(world, number)
        case "wait":
            world.pass_time(number)
        case "restart":
            world.restart()
        case "crash":
            world.crash_after = number % 5
        case "lose":
            world.lost_deletions = 1 + number % 2
        case "refuse":
            world.refusal = "" if number % 2 else "exceeded quota: q"
        case _ if verb in POD_VERBS and pods:
            cell = sorted(pods)[number % len(pods)]
            disturb_pod(world, verb, cell, str(pods[cell]["status"]["phase"]))


def disturb_pod(world: JobWorld, verb: str, cell: Cell, stood: str) -> None:
    match verb:
        case "run" if stood == "Pending":
            world.pod(name(cell), {"phase": "Running"})
        case "succeed" | "fail" if stood in ALIVE:
            world.finish(name(cell), 0 if verb == "succeed" else 1)
        case "evict" | "delete":
            if verb == "evict":
                world.pod(name(cell), {"conditions": [{"type": "DisruptionTarget", "status": "True"}]})
            world.delete(place(cell))
        case "vanish":
            world.vanish(place(cell))


def scale(world: JobWorld, number: int) -> None:
    """Change the size of a task, as admission allows it."""
    spec = world.objects[JOB]["spec"]
    tasks = [dict(task) for task in spec["tasks"]]
    task = tasks[number % len(tasks)]
    if "partitionPolicy" not in task:
        task["replicas"] = number % 5
        task["minAvailable"] = min(task["minAvailable"], task["replicas"])
        replicas = sum(one["replicas"] for one in tasks)
        world.change(JOB, {"spec": {"tasks": tasks, "minAvailable": min(spec["minAvailable"], replicas)}})


def check_rest(world: JobWorld) -> None:
    """The table has nothing to do for a job that stands like this, and counters are the numbers of pods."""
    status, spec = world.status(), world.objects[JOB]["spec"]
    phase, least = status["state"]["phase"], spec["minAvailable"]
    sizes = {task["name"]: task["replicas"] for task in spec["tasks"]}
    shown = [stands(pod) for pod in pods_of(world).values()]
    number = {word: status.get(word.lower(), 0) for word in (*ALIVE, "Succeeded", "Failed", "Terminating")}
    ended, replicas = number["Succeeded"] + number["Failed"], sum(sizes.values())
    assert status.get("retryCount", 0) <= spec["maxRetry"]
    if phase in FINISHED:
        assert not {*shown} & {*ALIVE}
        return
    assert all(number[word] == shown.count(word) for word in (*ALIVE, "Failed", "Terminating"))
    remembered = status.get("completedIndexes", {})
    gone = {
        (task, i) for task, size in sizes.items() for i in parse_indexes(remembered.get(task, "")) if i < size
    }
    assert number["Succeeded"] == shown.count("Succeeded") + len(gone)
    assert all(0 <= index < sizes[task] for (task, index), pod in pods_of(world).items()
               if stands(pod) != "Terminating")  # fmt: skip
    match phase:
        case "Pending":
            assert number["Running"] + ended < least
        case "Running":
            assert number["Succeeded"] < spec.get("minSuccess", replicas + 1)
            assert ended < replicas or not replicas or number["Terminating"]
            assert number["Pending"] <= replicas - least
        case "Restarting":
            assert replicas - number["Terminating"] < least
        case _:
            assert number["Terminating"], f"{phase} without pods that are terminating"


def happen(world: JobWorld, slow_job: SlowJob, step: Step) -> None:
    """Let one thing happen to both."""
    verb, number, code = step
    if verb == "admit":
        if (group := world.group()) is not None:
            world.change(group, {"status": {"phase": "Inqueue"}})
            slow_job.admit()
    elif verb == "command":
        action = ORDERS[number % len(ORDERS)]
        world.put(command(world, action))
        slow_job.command(action)
    elif verb == "end":
        if slow_job.going:
            cell = sorted(slow_job.going)[number % len(slow_job.going)]
            world.end(place(cell))
            slow_job.end(cell)
    elif slow_job.pods:
        cell = sorted(slow_job.pods)[number % len(slow_job.pods)]
        happen_to_pod(world, slow_job, verb, cell, code)


def happen_to_pod(world: JobWorld, slow_job: SlowJob, verb: str, cell: Cell, code: int) -> None:
    stood = slow_job.pods[cell]
    is_slow = slow_job.are_slow and verb != "vanish"
    match verb:
        case "run" if stood == "Pending":
            running = [{"ready": True, "restartCount": 0}]
            world.pod(name(cell), {"phase": "Running", "containerStatuses": running})
            slow_job.run(cell)
        case "succeed" if stood in ALIVE:
            world.finish(name(cell), 0)
            slow_job.succeed(cell)
        case "fail" if stood in ALIVE:
            world.finish(name(cell), code)
            slow_job.fail(cell, code)
        case "evict":
            world.pod(name(cell), {"conditions": [{"type": "DisruptionTarget", "status": "True"}]})
            world.delete(place(cell))
            slow_job.remove(cell, is_eviction=True, is_slow=is_slow)
        case "delete":
            world.delete(place(cell))
            slow_job.remove(cell, is_eviction=False, is_slow=is_slow)
        case "vanish":
            world.vanish(place(cell))
            slow_job.remove(cell, is_eviction=False, is_slow=False)


def check(world: JobWorld, slow_job: SlowJob) -> None:
    """The job stands as its slow_job, and every counter is the number of its pods."""
    status = world.status()
    shown = {cell: stands(pod) for cell, pod in pods_of(world).items()}
    assert status["state"]["phase"] == slow_job.phase, status["state"]
    assert shown == {**slow_job.pods, **dict.fromkeys(slow_job.going, "Terminating")}
    assert sorted(world.created) == sorted(place(cell)[1] for cell in slow_job.made), "a pod is made twice"
    assert status.get("retryCount", 0) == slow_job.retry <= slow_job.max_retry
    assert status.get("version", 0) == slow_job.version
    if slow_job.phase not in FINISHED:
        counted = {word.lower(): list(shown.values()).count(word) for word in (*ALIVE, "Failed")}
        counted |= {"succeeded": slow_job.successes, "terminating": len(slow_job.going)}
        assert {word: status.get(word, 0) for word in counted} == counted
    check_commands(world)


def check_commands(world: JobWorld) -> None:
    """Every Command was carried out, and once."""
    assert len(set(world.orders)) == len(world.orders)
    assert not [place for place in world.objects if place[0] == "Command"]


def delete_job(world: JobWorld) -> None:
    """Delete the job; nothing of it is left."""
    world.vanish(JOB)
    world.settle()
    for slow in [place for place in world.objects if place[0] == "Pod"]:
        world.end(slow)
    world.settle()
    assert world.objects == {}


def manifest(slow_job: SlowJob) -> Json:
    """The job that the slow_job is of."""
    tasks = [
        {
            "name": task.name,
            "replicas": task.replicas,
            "minAvailable": task.least,
            "policies": [written(one) for one in task.policies],
            **({"partitionPolicy": partitions(task)} if task.partition_size else {}),
        }
        for task in slow_job.tasks
    ]
    spec: Json = {"minAvailable": slow_job.least, "maxRetry": slow_job.max_retry}
    if slow_job.min_success is not None:
        spec["minSuccess"] = slow_job.min_success
    return job(tasks, policies=[written(one) for one in slow_job.policies], **spec)


def partitions(task: SlowTask) -> Json:
    return {"totalPartitions": task.replicas // task.partition_size, "partitionSize": task.partition_size}


def written(policy: SlowPolicy) -> Json:
    trigger: Json = {"event": policy.event} if policy.exit_code is None else {"exitCode": policy.exit_code}
    return {"action": policy.action, **trigger}


def command(world: JobWorld, action: str) -> Json:
    target = {"kind": "Job", "name": "j", "uid": world.objects[JOB]["metadata"]["uid"]}
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": f"c{world.version}", "namespace": "default"},
        "action": action,
        "target": target,
    }


def pods_of(world: JobWorld) -> dict[Cell, Json]:
    found: dict[Cell, Json] = {}
    for pod_name, pod in world.pods().items():
        _, task, index = pod_name.split("-")
        found[task, int(index)] = pod
    return found


def stands(pod: Json) -> str:
    return "Terminating" if "deletionTimestamp" in pod["metadata"] else str(pod["status"]["phase"])


def name(cell: Cell) -> str:
    return f"j-{cell[0]}-{cell[1]}"


def place(cell: Cell) -> tuple[str, str]:
    return "Pod", f"default/{name(cell)}"
