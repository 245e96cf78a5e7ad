"""The scheduler's permissions: with all of them every story comes true, without any of them one fails."""

import itertools
import signal
from collections.abc import Iterator
from typing import Any, Final

import pytest

from support.lossy import lossy
from support.needs_kubernetes import needs_kubernetes
from support.permissions import Permission, permissions
from support.reduced_permissions import Holds, Stage, Starts, Story, stage_of

Json = dict[str, Any]

ME: Final = "maar-scheduler"
PODS: Final = "/api/v1/namespaces/default/pods"
CLAIMS: Final = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES: Final = "/api/v1/persistentvolumes"
EVENTS: Final = "/api/v1/namespaces/default/events"
QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"
GROUPS: Final = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
JOBS: Final = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/maar-system/leases"
CONFIGURED: Final = ("--config-map", "maar-system/maar-scheduler")
PLANNED: Final = ("--planned-starts-interval", "1s")
NUMBERS: Final = itertools.count()


def group(stage: Stage, name: str, members: int = 1, **spec: object) -> None:
    spec = {"minMember": members, "queue": "default", **spec}
    stage.make(GROUPS, "PodGroup", name, spec=spec)


def pod(stage: Stage, name: str, group: str, cpu: str = "1", **spec: object) -> None:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    spec = {
        "schedulerName": "volcano",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **spec,
    }
    annotations = {"scheduling.k8s.io/group-name": group}
    stage.make(PODS, "Pod", name, metadata={"annotations": annotations}, spec=spec)


def node_of(stage: Stage, name: str) -> str:
    return str(stage.get(f"{PODS}/{name}").get("spec", {}).get("nodeName", ""))


def events(stage: Stage, name: str, reason: str) -> list[Json]:
    fields = f"involvedObject.name={name},reason={reason}"
    return list(stage.get(f"{EVENTS}?fieldSelector={fields}")["items"])


def a_gang_is_bound(stage: Stage, name: str) -> Holds:
    group(stage, name, 2)
    for member in "ab":
        pod(stage, f"{name}-{member}", name)
    return lambda: all(node_of(stage, f"{name}-{member}") for member in "ab")


def a_bound_pod_has_an_event(stage: Stage, name: str) -> Holds:
    group(stage, name)
    pod(stage, name, name)
    return lambda: bool(events(stage, name, "Scheduled"))


def a_bind_whose_answer_is_lost_has_an_event_all_the_same(stage: Stage, name: str) -> Holds:
    assert stage.connection is not None
    stage.connection.lose("POST", f"/{name}/binding")
    return a_bound_pod_has_an_event(stage, name)


def a_pod_group_says_its_phase(stage: Stage, name: str) -> Holds:
    group(stage, name)
    pod(stage, name, name)
    return lambda: stage.get(f"{GROUPS}/{name}").get("status", {}).get("phase") in ("Inqueue", "Running")


def a_queue_says_what_it_uses(stage: Stage, name: str) -> Holds:
    stage.make(QUEUES, "Queue", name, spec={"weight": 1})
    group(stage, name, queue=name)
    pod(stage, name, name)
    return lambda: stage.get(f"{QUEUES}/{name}").get("status", {}).get("used", {}).get("cpu") == "1"


def a_pod_that_waits_says_why(stage: Stage, name: str) -> Holds:
    group(stage, name)
    pod(stage, name, name, cpu="500")

    def says() -> bool:
        conditions = stage.get(f"{PODS}/{name}").get("status", {}).get("conditions", [])
        return any(one.get("reason") == "Unschedulable" for one in conditions)

    return says


def what_matters_more_takes_the_room(stage: Stage, name: str) -> Holds:
    stage.plane.make_nodes([name], {"cpu": "1", "memory": "1Gi", "pods": "5"}, {"only": name})
    group(stage, f"{name}-low")
    pod(stage, f"{name}-low", f"{name}-low", nodeName=name)
    group(stage, f"{name}-high", priorityClassName="high")
    pod(stage, f"{name}-high", f"{name}-high", priorityClassName="high", nodeSelector={"only": name})
    return lambda: node_of(stage, f"{name}-high") == name and not stage.get(f"{PODS}/{name}-low")


def a_claim_learns_the_node_of_its_first_consumer(stage: Stage, name: str) -> Holds:
    stage.make(
        CLAIMS, "PersistentVolumeClaim", name,
        spec={
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "later",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    )  # fmt: skip
    group(stage, name)
    pod(stage, name, name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])
    note = "volume.kubernetes.io/selected-node"
    return lambda: bool(stage.get(f"{CLAIMS}/{name}")["metadata"].get("annotations", {}).get(note))


def a_volume_that_is_there_goes_to_a_claim(stage: Stage, name: str) -> Holds:
    offered = {"storageClassName": name, "accessModes": ["ReadWriteOnce"]}
    stage.make(
        "/apis/storage.k8s.io/v1/storageclasses", "StorageClass", name,
        provisioner="kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer",
    )  # fmt: skip
    free = stage.make(
        VOLUMES, "PersistentVolume", name,
        spec={**offered, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/nothing"}},
    )  # fmt: skip
    stage.must("PUT", f"{VOLUMES}/{name}/status", {**free, "status": {"phase": "Available"}})
    stage.make(
        CLAIMS, "PersistentVolumeClaim", name,
        spec={**offered, "resources": {"requests": {"storage": "1Gi"}}},
    )  # fmt: skip
    group(stage, name)
    pod(stage, name, name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])
    return lambda: stage.get(f"{VOLUMES}/{name}")["spec"].get("claimRef", {}).get("name") == name


def a_repeated_event_is_counted(stage: Stage, name: str) -> Holds:
    def reason() -> str:
        conditions = stage.get(f"{GROUPS}/{name}").get("status", {}).get("conditions", [])
        return str(conditions[-1]["reason"]) if conditions else ""

    group(stage, name, queue=name)
    pod(stage, name, name, cpu="500")
    stage.until("the group waits for its queue", lambda: bool(events(stage, name, "Unschedulable")))
    first = reason()
    stage.make(QUEUES, "Queue", name, spec={"weight": 1})
    stage.until("the group waits for something else", lambda: reason() != first)
    stage.must("DELETE", f"{QUEUES}/{name}")
    return lambda: any(one["count"] > 1 for one in events(stage, name, "Unschedulable"))


def a_job_without_pods_has_a_planned_start(stage: Stage, name: str) -> Holds:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "500"}}}
    task = {"name": "main", "replicas": 1, "template": {"spec": {"containers": [container]}}}
    spec = {"schedulerName": "volcano", "minAvailable": 1, "queue": "default", "tasks": [task]}
    made = stage.make(JOBS, "Job", name, spec=spec)
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name, "controller": True}
    metadata = {"ownerReferences": [{**owner, "uid": made["metadata"]["uid"]}]}
    spec = {"minMember": 1, "queue": "default", "minResources": {"cpu": "500"}}
    group = f"{name}-{made['metadata']['uid']}"
    stage.make(GROUPS, "PodGroup", group, metadata=metadata, spec=spec)
    return lambda: "plannedStart" in stage.get(f"{GROUPS}/{group}").get("status", {})


STORIES: Final[dict[str, Story]] = {
    "create pods/binding": a_gang_is_bound,
    "create events": a_bound_pod_has_an_event,
    "get pods": a_bind_whose_answer_is_lost_has_an_event_all_the_same,
    "patch podgroups.scheduling.volcano.sh": a_pod_group_says_its_phase,
    "patch queues/status.scheduling.volcano.sh": a_queue_says_what_it_uses,
    "patch pods/status": a_pod_that_waits_says_why,
    "patch pods": what_matters_more_takes_the_room,
    "create pods/eviction": what_matters_more_takes_the_room,
    "patch persistentvolumeclaims": a_claim_learns_the_node_of_its_first_consumer,
    "patch persistentvolumes": a_volume_that_is_there_goes_to_a_claim,
    "patch events": a_repeated_event_is_counted,
    "list jobs.batch.volcano.sh": a_job_without_pods_has_a_planned_start,
}
ALL: Final = permissions("scheduler")
SEEN: Final = [one for one in ALL if one.verb in ("list", "watch") and str(one) not in STORIES]
HELD: Final = [one for one in ALL if one.is_in_maar_system]
DONE: Final = [one for one in ALL if one not in SEEN and one not in HELD]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    needs_kubernetes()
    with stage_of(tmp_path_factory.mktemp("scheduler"), "scheduler") as made:
        made.plane.make_nodes(["wide"], {"cpu": "100", "memory": "100Gi", "pods": "1000"})
        made.make("/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass", "high", value=1000)
        made.make(
            "/apis/storage.k8s.io/v1/storageclasses", "StorageClass", "later",
            provisioner="nobody.example", volumeBindingMode="WaitForFirstConsumer",
        )  # fmt: skip
        for name in ("root", "default"):
            made.make(QUEUES, "Queue", name, spec={"weight": 1})
        yield made


@pytest.fixture(scope="module")
def starts(stage: Stage) -> Iterator[Starts]:
    starts = Starts(stage, SEEN, "--no-leader-elect")
    yield starts
    starts.close()


@pytest.fixture(scope="module")
def running(stage: Stage) -> Iterator[Stage]:
    """The scheduler as it is deployed, but for a connection on which answers can be lost."""
    with lossy(stage.account(ME)) as stage.connection:
        stage.start(ME, stage.connection.kubeconfig, *CONFIGURED, *PLANNED)
        stage.until("the scheduler is at work", lambda: stage.is_at_work(ME))
        yield stage
        stage.processes.stop(ME, signal.SIGTERM)
    assert "Traceback" not in stage.processes.log(ME).read_text()


@pytest.mark.parametrize("taken", SEEN, ids=str)
def test_it_does_not_begin_or_lists_again_and_again_without(starts: Starts, taken: Permission) -> None:
    wanted = "it lists again and again" if taken.verb == "watch" else "it does not begin"
    assert starts.end_of(taken) == wanted


@pytest.mark.parametrize("taken", HELD, ids=str)
def test_it_never_leads_without(stage: Stage, taken: Permission) -> None:
    """Where it may not make a lease there is none; where it may not take one there is a free one."""
    stage.request("DELETE", f"{LEASE}/{ME}")
    if taken.verb == "patch":
        stage.make(LEASE, "Lease", ME, spec={"holderIdentity": ""})
    name = f"{taken.verb}-{taken.resource}"
    assert stage.refused_start(name, stage.account(name, taken), taken, *CONFIGURED) == "it does not begin"


def test_with_all_of_them_it_begins_and_lists_nothing_twice(running: Stage) -> None:
    for one in SEEN:
        asked = running.asked(ME, one)
        running.until(f"it is seen to {one}", lambda asked=asked: running.audit.allowed(asked) > 0)  # type: ignore[misc]  # bound
        assert running.audit.allowed(asked) == 1


@pytest.mark.parametrize("story", list(dict.fromkeys(STORIES.values())), ids=lambda story: story.__name__)
def test_with_all_of_them(running: Stage, story: Story) -> None:
    running.comes_true(story, f"whole-{next(NUMBERS)}")


def test_with_all_of_them_nothing_is_refused(running: Stage) -> None:
    assert running.audit.refusals(ME) == []


@pytest.mark.parametrize("taken", DONE, ids=str)
def test_a_story_fails_without(running: Stage, taken: Permission) -> None:
    story = STORIES[str(taken)]
    with running.reduced_permissions(taken):
        assert running.fails(story, f"less-{next(NUMBERS)}", taken, ME), f"{story.__name__} came true"
