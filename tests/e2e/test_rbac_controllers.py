"""The controllers' permissions: with all of them every story comes true, without any of them one fails."""

import itertools
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

import pytest

from maar.apps.daemons.health import take
from support.needs_kubernetes import needs_kubernetes
from support.permissions import Permission, permissions
from support.rbac_job_stories import JOB_STORIES
from support.reduced_permissions import Holds, Stage, Starts, Story, stage_of

Json = dict[str, Any]

ME: Final = "maar-controllers"
PODS: Final = "/api/v1/namespaces/default/pods"
EVENTS: Final = "/api/v1/namespaces/default/events"
QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"
GROUPS: Final = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
JOBS: Final = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
CRON_JOBS: Final = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/cronjobs"
FLOWS: Final = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"
TEMPLATES: Final = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobtemplates"
COMMANDS: Final = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/maar-system/leases"
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
POD: Final[Json] = {"schedulerName": "volcano", "containers": [{"name": "main", "image": "none"}]}
OWNERS: Final = {
    "ReplicaSet": "/apis/apps/v1/namespaces/default/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets",
    "DaemonSet": "/apis/apps/v1/namespaces/default/daemonsets",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
}
LEAST: Final = "scheduling.volcano.sh/group-min-member"
NUMBERS: Final = itertools.count()
with take("127.0.0.1:0") as _free:
    LISTEN: Final = f"127.0.0.1:{_free.getsockname()[1]}"


def state(stage: Stage, queue: str) -> str:
    return str(stage.get(f"{QUEUES}/{queue}").get("status", {}).get("state", ""))


def events(stage: Stage, queue: str, reason: str) -> list[Json]:
    fields = f"involvedObject.name={queue},reason={reason}"
    return list(stage.get(f"{EVENTS}?fieldSelector={fields}")["items"])


def order(stage: Stage, queue: str, wanted: str) -> None:
    stage.must("PATCH", f"{QUEUES}/{queue}", {"spec": {"state": wanted}})


def root_and_default_are_always_there(stage: Stage, name: str) -> Holds:  # noqa: ARG001  # as all stories
    stage.until("there is a default queue", lambda: bool(stage.get(f"{QUEUES}/default")))
    stage.must("DELETE", f"{QUEUES}/default")
    return lambda: bool(stage.get(f"{QUEUES}/default"))


def a_command_closes_a_queue_and_goes(stage: Stage, name: str) -> Holds:
    made = stage.make(QUEUES, "Queue", name, spec={"weight": 1})
    target = {"apiVersion": made["apiVersion"], "kind": "Queue", "name": name, "uid": made["metadata"]["uid"]}
    stage.make(COMMANDS, "Command", name, action="CloseQueue", target=target)
    return lambda: (
        stage.get(f"{QUEUES}/{name}")["spec"].get("state") == "Closed" and not stage.get(f"{COMMANDS}/{name}")
    )


def a_queue_says_its_state(stage: Stage, name: str) -> Holds:
    stage.make(QUEUES, "Queue", name, spec={"weight": 1})
    return lambda: state(stage, name) == "Open"


def a_change_of_state_has_an_event(stage: Stage, name: str) -> Holds:
    stage.make(QUEUES, "Queue", name, spec={"weight": 1})
    return lambda: bool(events(stage, name, "QueueOpen"))


def a_repeated_event_is_counted(stage: Stage, name: str) -> Holds:
    stage.make(QUEUES, "Queue", name, spec={"weight": 1})
    for wanted in ("Open", "Closed", "Open"):
        order(stage, name, wanted)
        stage.until(f"the queue is {wanted}", lambda wanted=wanted: state(stage, name) == wanted)  # type: ignore[misc]  # bound
    stage.until("it was told", lambda: bool(events(stage, name, "QueueClosed")))
    order(stage, name, "Closed")
    return lambda: any(one["count"] > 1 for one in events(stage, name, "QueueClosed"))


def a_bare_pod_gets_a_group(stage: Stage, name: str) -> Holds:
    made = stage.make(PODS, "Pod", name, spec=POD)
    group = f"podgroup-{made['metadata']['uid']}"

    def has_one() -> bool:
        notes = stage.get(f"{PODS}/{name}")["metadata"].get("annotations", {})
        return notes.get(GROUP_NAME) == group and bool(stage.get(f"{GROUPS}/{group}"))

    return has_one


def a_group_goes_with_its_pods(stage: Stage, name: str) -> Holds:
    stage.until("the pod has a group", a_bare_pod_gets_a_group(stage, name))
    group = stage.get(f"{PODS}/{name}")["metadata"]["annotations"][GROUP_NAME]
    stage.must("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
    return lambda: not stage.get(f"{GROUPS}/{group}")


def pods_start_together_as_their_replica_set_says(stage: Stage, name: str) -> Holds:
    return together(stage, name, "ReplicaSet")


def pods_start_together_as_their_stateful_set_says(stage: Stage, name: str) -> Holds:
    return together(stage, name, "StatefulSet")


def pods_start_together_as_their_daemon_set_says(stage: Stage, name: str) -> Holds:
    return together(stage, name, "DaemonSet")


def pods_start_together_as_their_job_says(stage: Stage, name: str) -> Holds:
    return together(stage, name, "Job")


def a_group_follows_its_owner(stage: Stage, name: str) -> Holds:
    stage.until("there is a group", together(stage, name, "ReplicaSet"))
    owner = f"{OWNERS['ReplicaSet']}/{name}"
    group = f"{GROUPS}/podgroup-{stage.get(owner)['metadata']['uid']}"
    stage.must("PATCH", owner, {"metadata": {"annotations": {LEAST: "3"}}})
    return lambda: stage.get(group).get("spec", {}).get("minMember") == 3


def together(stage: Stage, name: str, kind: str) -> Holds:
    """An owner that wants two pods at once, and one of its pods."""
    labels = {"app": name}
    spec: Json = {"template": {"metadata": {"labels": labels}, "spec": {**POD, "restartPolicy": "Never"}}}
    if kind != "Job":
        spec["template"]["spec"] = POD
        spec["selector"] = {"matchLabels": labels}
    notes = {LEAST: "2"}
    made = stage.make(OWNERS[kind], kind, name, metadata={"annotations": notes}, spec=spec)
    uid = made["metadata"]["uid"]
    owner = {"apiVersion": made["apiVersion"], "kind": kind, "name": name, "uid": uid, "controller": True}
    stage.make(PODS, "Pod", name, metadata={"ownerReferences": [owner]}, spec=POD)
    group = f"{GROUPS}/podgroup-{uid}"
    return lambda: stage.get(group).get("spec", {}).get("minMember") == 2


def a_job_is_suspended_to_evict_its_pods(stage: Stage, name: str) -> Holds:
    stage.until("there is a group", together(stage, name, "Job"))
    stage.must(
        "PATCH", f"{PODS}/{name}", {"metadata": {"annotations": {"maar.sh/evicted-with-job": "reclaim"}}}
    )
    return lambda: bool(stage.get(f"{OWNERS['Job']}/{name}").get("spec", {}).get("suspend"))


def limit(stage: Stage, name: str) -> str:
    quota = stage.get(f"/api/v1/namespaces/{name}/resourcequotas/maar-queue")
    return str(quota.get("spec", {}).get("hard", {}).get("requests.cpu", ""))


def allocate(stage: Stage, name: str, cpu: str) -> None:
    """Say what the scheduler would."""
    stage.must("PATCH", f"{QUEUES}/{name}/status", {"status": {"allocated": {"cpu": cpu}}})


def a_namespace_of_a_queue_has_its_quota(stage: Stage, name: str) -> Holds:
    stage.make(QUEUES, "Queue", name, spec={"weight": 1, "request": {"cpu": "9"}})
    allocate(stage, name, "4")
    notes = {"scheduling.volcano.sh/queue-name": name}
    stage.make("/api/v1/namespaces", "Namespace", name, metadata={"annotations": notes})
    return lambda: limit(stage, name) == "4"


def a_quota_follows_what_is_allocated(stage: Stage, name: str) -> Holds:
    stage.until("there is a quota", a_namespace_of_a_queue_has_its_quota(stage, name))
    allocate(stage, name, "7")
    return lambda: limit(stage, name) == "7"


def a_quota_goes_with_the_request(stage: Stage, name: str) -> Holds:
    stage.until("there is a quota", a_namespace_of_a_queue_has_its_quota(stage, name))
    stage.must("PATCH", f"{QUEUES}/{name}", {"spec": {"request": None}})
    return lambda: limit(stage, name) == ""


def a_cron_job_forgets_a_job_that_is_gone(stage: Stage, name: str) -> Holds:
    template = {"spec": {"tasks": [{"name": "t", "replicas": 1, "template": {"spec": POD}}]}}
    spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": template}
    stage.make(CRON_JOBS, "CronJob", name, spec=spec)
    stage.must("PATCH", f"{CRON_JOBS}/{name}/status", {"status": {"active": [{"name": "gone", "uid": "u"}]}})
    return lambda: not stage.get(f"{CRON_JOBS}/{name}").get("status", {}).get("active")


def a_flow_makes_its_job(stage: Stage, name: str, **spec: object) -> Holds:
    tasks = [{"name": "t", "replicas": 1, "template": {"spec": POD}}]
    stage.make(TEMPLATES, "JobTemplate", name, spec={"tasks": tasks})
    stage.make(FLOWS, "JobFlow", name, spec={"flows": [{"name": name}], **spec})
    return lambda: bool(stage.get(f"{JOBS}/{name}-{name}"))


def a_flow_says_how_far_it_is(stage: Stage, name: str) -> Holds:
    a_flow_makes_its_job(stage, name)
    return lambda: bool(stage.get(f"{FLOWS}/{name}").get("status", {}).get("state", {}).get("phase"))


def a_template_lists_its_jobs(stage: Stage, name: str) -> Holds:
    a_flow_makes_its_job(stage, name)
    return lambda: bool(stage.get(f"{TEMPLATES}/{name}").get("status", {}).get("jobDependsOnList"))


def a_flow_that_has_succeeded_deletes_its_jobs(stage: Stage, name: str) -> Holds:
    stage.until("there is a job", a_flow_makes_its_job(stage, name, jobRetainPolicy="delete"))
    state = {"phase": "Completed", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    stage.must("PATCH", f"{JOBS}/{name}-{name}/status", {"status": {"state": state}})
    return lambda: not stage.get(f"{JOBS}/{name}-{name}")


STORIES: Final[dict[str, Story]] = {
    "create jobs.batch.volcano.sh": a_flow_makes_its_job,
    "delete jobs.batch.volcano.sh": a_flow_that_has_succeeded_deletes_its_jobs,
    "patch cronjobs/status.batch.volcano.sh": a_cron_job_forgets_a_job_that_is_gone,
    "patch jobflows/status.flow.volcano.sh": a_flow_says_how_far_it_is,
    "patch jobtemplates/status.flow.volcano.sh": a_template_lists_its_jobs,
    "create queues.scheduling.volcano.sh": root_and_default_are_always_there,
    "patch queues.scheduling.volcano.sh": a_command_closes_a_queue_and_goes,
    "delete commands.bus.volcano.sh": a_command_closes_a_queue_and_goes,
    "patch queues/status.scheduling.volcano.sh": a_queue_says_its_state,
    "create events": a_change_of_state_has_an_event,
    "patch events": a_repeated_event_is_counted,
    "create podgroups.scheduling.volcano.sh": a_bare_pod_gets_a_group,
    "patch pods": a_bare_pod_gets_a_group,
    "delete podgroups.scheduling.volcano.sh": a_group_goes_with_its_pods,
    "patch podgroups.scheduling.volcano.sh": a_group_follows_its_owner,
    "patch jobs.batch": a_job_is_suspended_to_evict_its_pods,
    "create resourcequotas": a_namespace_of_a_queue_has_its_quota,
    "patch resourcequotas": a_quota_follows_what_is_allocated,
    "delete resourcequotas": a_quota_goes_with_the_request,
    **JOB_STORIES,
}
OF_OWNERS: Final = (  # what owners say is read from their watches, which the first tests take away
    pods_start_together_as_their_replica_set_says,
    pods_start_together_as_their_stateful_set_says,
    pods_start_together_as_their_daemon_set_says,
    pods_start_together_as_their_job_says,
)
ALL: Final = permissions("controllers")
SEEN: Final = [one for one in ALL if one.verb in ("list", "watch")]
HELD: Final = [one for one in ALL if one.is_in_maar_system]
DONE: Final = [one for one in ALL if one not in SEEN and one not in HELD]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    needs_kubernetes()
    with stage_of(tmp_path_factory.mktemp("controllers"), "controllers") as made:
        yield made


@pytest.fixture(scope="module")
def starts(stage: Stage) -> Iterator[Starts]:
    starts = Starts(stage, SEEN, "--no-leader-elect")
    yield starts
    starts.close()


@pytest.fixture(scope="module")
def running(stage: Stage) -> Iterator[Stage]:
    """The controllers as they are deployed."""
    stage.start(ME, stage.account(ME), "--listen", LISTEN)
    stage.until("the controllers are at work", lambda: stage.is_at_work(ME))
    yield stage
    stage.processes.stop(ME, signal.SIGTERM)
    assert "Traceback" not in stage.processes.log(ME).read_text()


@pytest.mark.parametrize("taken", SEEN, ids=str)
def test_they_do_not_begin_or_list_again_and_again_without(starts: Starts, taken: Permission) -> None:
    wanted = "it lists again and again" if taken.verb == "watch" else "it does not begin"
    assert starts.end_of(taken) == wanted


@pytest.mark.parametrize("taken", HELD, ids=str)
def test_they_never_lead_without(stage: Stage, taken: Permission) -> None:
    """Where they may not make a lease there is none; where they may not take one there is a free one."""
    stage.request("DELETE", f"{LEASE}/{ME}")
    if taken.verb == "patch":
        stage.make(LEASE, "Lease", ME, spec={"holderIdentity": ""})
    name = f"{taken.verb}-{taken.resource}"
    assert stage.refused_start(name, stage.account(name, taken), taken) == "it does not begin"


def test_with_all_of_them_they_begin_and_list_nothing_twice(running: Stage) -> None:
    for one in SEEN:
        asked = running.asked(ME, one)
        running.until(f"they are seen to {one}", lambda asked=asked: running.audit.allowed(asked) > 0)  # type: ignore[misc]  # bound
        assert running.audit.allowed(asked) == 1


@pytest.mark.parametrize(
    "story", list(dict.fromkeys([*STORIES.values(), *OF_OWNERS])), ids=lambda story: story.__name__
)
def test_with_all_of_them(running: Stage, story: Story) -> None:
    running.comes_true(story, f"whole-{next(NUMBERS)}")


def test_with_all_of_them_nothing_is_refused(running: Stage) -> None:
    assert running.audit.refusals(ME) == []


@pytest.mark.parametrize("taken", DONE, ids=str)
def test_a_story_fails_without(running: Stage, taken: Permission) -> None:
    story = STORIES[str(taken)]
    with running.reduced_permissions(taken):
        assert running.fails(story, f"less-{next(NUMBERS)}", taken, ME), f"{story.__name__} came true"


def shown(path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://{LISTEN}{path}") as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as refusal:
        return refusal.read().decode()


def test_what_cannot_be_written_for_long_is_in_the_log_the_metrics_and_readiness(running: Stage) -> None:
    taken = next(one for one in DONE if str(one) == "create podgroups.scheduling.volcano.sh")
    running.until("nothing fails", lambda: shown("/readyz") == "ok")
    log = running.processes.log(ME)
    before = log.read_text().count("cannot create PodGroup")
    with running.reduced_permissions(taken):
        name = f"silent-{next(NUMBERS)}"
        has_group = a_bare_pod_gets_a_group(running, name)
        sentence = "[-] writes: it cannot create PodGroup for "
        running.until("it is not ready", lambda: sentence in shown("/readyz"))
        assert 'cannot create resource "podgroups"' in shown("/readyz")
        failed = 'maar_write_failures_total{kind="PodGroup",reason="Forbidden",write="Create"}'
        assert failed in shown("/metrics")
        assert log.read_text().count("cannot create PodGroup") == before + 1
        fields = f"involvedObject.name={name},reason=FailedCreate"
        assert running.get(f"{EVENTS}?fieldSelector={fields}")["items"]
    running.until("the pod has its group", has_group)
    running.until("it is ready again", lambda: shown("/readyz") == "ok")
