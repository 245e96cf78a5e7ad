"""Controllers that look at what changed want the same as controllers that look at everything."""

from typing import Final, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.apps.time_zones import zone
from maar.core.controllers.all_controllers import all_controllers
from maar.core.controllers.cluster_view import ClusterController, ClusterView
from maar.core.controllers.cron_jobs import CronJobs
from maar.core.controllers.job_flows import JobFlows, JobTemplates
from maar.core.controllers.jobs.controller import Jobs
from maar.core.controllers.jobs.dependencies import AFTER_ANNOTATION
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.controllers.queue_states import QueueStates
from maar.core.controllers.quotas import QUOTA_NAME, NamespaceQuotas
from maar.core.controllers.suspended_jobs import SuspendedJobs
from maar.core.job_plugins.plugin import no_key
from maar.core.job_plugins.registry import JobPlugins
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.job import (
    Command,
    Job,
    JobPhase,
    JobSpec,
    JobState,
    JobStatus,
    JobVolume,
    LifecyclePolicy,
    Task,
)
from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.namespace import QUOTA_LABEL, Namespace, QuotaSpec, ResourceQuota
from maar.core.model.pod import GROUP_ANNOTATION, QUEUE_ANNOTATION, Container, Pod, PodSpec, PodStatus
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec, QueueStatus
from maar.core.model.resources import Resources
from maar.core.model.volume import PersistentVolumeClaim
from maar.core.model.workload import ReplicaSet
from properties.how_many import cases
from support.controller_runs import Controlled

QUEUES: Final = ("root", "default", "a", "b", "c", "d")
NAMESPACES: Final = ("m", "n")
PHASES: Final[tuple[JobPhase | Literal[""], ...]] = (
    "", "Pending", "Running", "Restarting", "Aborting", "Aborted", "Completed",
)  # fmt: skip

queue_names = st.sampled_from((*QUEUES, "missing"))
namespaces = st.sampled_from(NAMESPACES)
numbers = st.integers(0, 2)
amounts = st.sampled_from(("1", "2", "5")).map(lambda text: Resources.parse({"cpu": text}))


@st.composite
def queues(draw: st.DrawFn) -> Queue:
    return Queue(
        metadata=QueueMetadata(name=draw(st.sampled_from(QUEUES))),
        spec=QueueSpec(
            parent=draw(queue_names),
            state=draw(st.sampled_from(("", "Closed"))),
            request=draw(st.none() | amounts),
        ),
        status=QueueStatus(state=draw(st.sampled_from(("Open", "Closed"))), allocated=draw(amounts)),
    )


@st.composite
def groups(draw: st.DrawFn) -> PodGroup:
    notes = draw(st.sampled_from(({}, {"maar.sh/made-for-pods": "true"})))
    namespace = draw(namespaces)
    name = draw(st.sampled_from((f"podgroup-uid-{namespace}", "podgroup-uid-0", "named")))
    return PodGroup(
        metadata=Metadata(name=name, namespace=namespace, annotations=notes),
        spec=PodGroupSpec(queue=draw(queue_names)),
        status=PodGroupStatus(phase=draw(st.sampled_from(("Pending", "Running", "Completed")))),
    )


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    return Job(
        metadata=Metadata(name=f"j{draw(numbers)}", namespace="n"),
        spec=JobSpec(queue=draw(queue_names)),
        status=JobStatus(state=JobState(phase=draw(st.sampled_from(("Running", "Completed"))))),
    )


@st.composite
def whole_jobs(draw: st.DrawFn) -> Job:
    number = draw(numbers)
    phase = draw(st.sampled_from(PHASES))
    notes = {AFTER_ANNOTATION: f"j{draw(numbers)}"} if draw(st.booleans()) else {}
    volumes = (JobVolume(mount_path="/data", volume_claim_name="c"),) if draw(st.booleans()) else ()
    policy = LifecyclePolicy(event="PodFailed", action=draw(st.sampled_from(("RestartJob", "RestartTask"))))
    template = msgspec.Raw(b'{"spec": {"containers": [{"name": "c", "image": "x"}]}}')
    return Job(
        metadata=Metadata(name=f"j{number}", namespace="n", uid=f"job-{number}", annotations=notes),
        spec=JobSpec(
            tasks=(Task(name="w", replicas=draw(numbers), written=template),),
            policies=(policy,) if draw(st.booleans()) else (),
            volumes=volumes,
        ),
        status=JobStatus(state=JobState(phase=phase), version=draw(numbers)),
    )


def job_owner(number: int) -> OwnerReference:
    return OwnerReference(
        api_version=Job.api_version, kind="Job", name=f"j{number}", uid=f"job-{number}", controller=True
    )


@st.composite
def job_pods(draw: st.DrawFn) -> Pod:
    number, index = draw(numbers), draw(numbers)
    notes = {"volcano.sh/task-spec": "w", "volcano.sh/task-index": str(index)}
    return Pod(
        metadata=Metadata(
            name=f"j{number}-w-{index}",
            namespace="n",
            uid=f"pod-{number}-{index}",
            annotations={**notes, "volcano.sh/job-version": str(draw(numbers))},
            owner_references=(job_owner(number),),
        ),
        status=PodStatus(phase=draw(st.sampled_from(("Pending", "Running", "Succeeded", "Failed")))),
    )


@st.composite
def job_groups(draw: st.DrawFn) -> PodGroup:
    number = draw(numbers)
    return PodGroup(
        metadata=Metadata(
            name=f"j{number}-job-{number}", namespace="n", owner_references=(job_owner(number),)
        ),
        status=PodGroupStatus(phase=draw(st.sampled_from(("Pending", "Inqueue", "Unknown")))),
    )


@st.composite
def job_commands(draw: st.DrawFn) -> Command:
    return Command(
        metadata=Metadata(name=f"c{draw(numbers)}", namespace="n", uid=f"c-{draw(numbers)}"),
        action=draw(st.sampled_from(("AbortJob", "ResumeJob", "RestartJob"))),
        target=OwnerReference(kind="Job", name=f"j{draw(numbers)}"),
    )


@st.composite
def commands(draw: st.DrawFn) -> Command:
    action = draw(st.sampled_from(("OpenQueue", "CloseQueue", "AbortJob")))
    return Command(
        metadata=Metadata(name=f"c{draw(numbers)}", namespace="n", resource_version=str(draw(numbers))),
        action=action,
        target=OwnerReference(kind="Queue", name=draw(queue_names)),
    )


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    number, namespace = draw(numbers), draw(namespaces)
    owner = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name="rs", uid=f"uid-{namespace}", controller=True
    )
    named = draw(st.sampled_from(("", "named", f"podgroup-uid-{namespace}")))
    return Pod(
        metadata=Metadata(
            name=f"p{number}",
            namespace=namespace,
            uid=f"uid-{number}",
            owner_references=(owner,) if draw(st.booleans()) else (),
            annotations={GROUP_ANNOTATION: named} if named else {},
        ),
        spec=PodSpec(
            scheduler_name=draw(st.sampled_from(("volcano", "other"))), containers=(Container(name="c"),)
        ),
    )


@st.composite
def quotas(draw: st.DrawFn) -> ResourceQuota:
    label = draw(st.sampled_from(("", *QUEUES)))
    hard: dict[str, str | int | float] = draw(
        st.sampled_from(({}, {"requests.cpu": "1"}, {"volcano.sh/namespace.weight": 3}))
    )
    metadata = Metadata(
        name=draw(st.sampled_from((QUOTA_NAME, "other"))),
        namespace=draw(namespaces),
        labels={QUOTA_LABEL: label} if label else {},
    )
    return ResourceQuota(metadata=metadata, spec=QuotaSpec(hard=hard))


def annotated(name: str, queue: str) -> Namespace:
    return Namespace(metadata=Metadata(name=name, annotations={QUEUE_ANNOTATION: queue}))


def owner_of(namespace: str, least: int) -> ReplicaSet:
    reported = {"scheduling.volcano.sh/group-min-member": str(least)}
    metadata = Metadata(name="rs", namespace=namespace, uid=f"uid-{namespace}", annotations=reported)
    return ReplicaSet(metadata=metadata)


annotated_namespaces = st.builds(annotated, namespaces, queue_names)
owners = st.builds(owner_of, namespaces, numbers)
OF_QUEUES: Final = st.one_of(queues(), queues(), groups(), jobs(), commands())
OF_GROUPS: Final = st.one_of(pods(), pods(), groups(), owners)
OF_QUOTAS: Final = st.one_of(queues(), annotated_namespaces, quotas())
claims = st.just(PersistentVolumeClaim(metadata=Metadata(name="c", namespace="n", uid="claim")))
OF_JOBS: Final = st.one_of(whole_jobs(), whole_jobs(), job_pods(), job_groups(), job_commands(), claims)
ALL: Final = st.one_of(OF_QUEUES, OF_GROUPS, OF_QUOTAS, OF_JOBS)
OBJECTS_OF: Final[dict[type[ClusterController], st.SearchStrategy[AnyObject]]] = {
    QueueStates: OF_QUEUES,
    MissingGroups: OF_GROUPS,
    NamespaceQuotas: OF_QUOTAS,
    Jobs: OF_JOBS,
}
# test_made_jobs_laws.py has the lives of the first three, test_batch_job_eviction_laws.py of the last.
ELSEWHERE: Final = (CronJobs, JobFlows, JobTemplates, SuspendedJobs)


@st.composite
def batches(draw: st.DrawFn, objects: st.SearchStrategy[AnyObject]) -> list[list[Event]]:
    """Objects that come, change and go, some of them between the same two rounds."""
    known: list[tuple[str, str]] = []
    found: list[list[Event]] = []
    for size in draw(st.lists(st.integers(1, 4), max_size=10)):
        batch: list[Event] = []
        for _ in range(size):
            if known and draw(st.integers(0, 4)) == 0:
                kind, key = draw(st.sampled_from(known))
                known.remove((kind, key))
                batch.append(Deleted(kind=kind, key=key))
            else:
                one = draw(objects)
                place = (type(one).__name__, one.key)
                known += [place] if place not in known else []
                batch.append(Upserted(object=one))
        found.append(batch)
    return found


def last(events: list[list[Event]]) -> list[Event]:
    """What is there in the end."""
    there: dict[tuple[str, str], Event] = {}
    for event in (one for batch in events for one in batch):
        if isinstance(event, Upserted):
            place = (type(event.object).__name__, event.object.key)
            there.pop(place, None)
            there[place] = event
        else:
            del there[event.kind, event.key]
    return list(there.values())


@pytest.mark.parametrize(
    ("controller", "objects"),
    [
        pytest.param(one, OBJECTS_OF[type(one)], id=type(one).__name__)
        for one in all_controllers(no_key, JobPlugins.of(), zone)
        if not isinstance(one, ELSEWHERE)
    ],
)
@settings(max_examples=cases(300))
@given(data=st.data())
def test_looking_at_what_changed_is_as_good_as_looking_at_everything(
    data: st.DataObject, controller: ClusterController, objects: st.SearchStrategy[AnyObject]
) -> None:
    events = data.draw(batches(objects))
    grown, fresh = Controlled(controller), Controlled(controller)
    for batch in events:
        grown.feed(batch)
        grown.reconcile()
    fresh.feed(last(events))
    assert sorted(map(repr, grown.reconcile())) == sorted(map(repr, fresh.reconcile()))


@given(batches(ALL))
def test_what_is_gone_leaves_nothing_behind(events: list[list[Event]]) -> None:
    cluster, new = ClusterView(), ClusterView()
    gone: list[Event] = [
        Deleted(kind=type(one.object).__name__, key=one.object.key)
        for one in last(events)
        if isinstance(one, Upserted)
    ]
    for event in [one for batch in [*events, gone] for one in batch]:
        cluster.feed(event)
    for name, value in vars(new).items():
        if isinstance(value, dict):
            assert getattr(cluster, name) == {}
    assert not any(cluster.counts.counted(name).total() for name in QUEUES)
