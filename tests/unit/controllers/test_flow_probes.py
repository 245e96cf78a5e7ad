"""Flows whose probes ask pods: what is asked, when again, and what an answer is good for."""

from datetime import UTC, datetime, timedelta

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.job_flows import JobFlows
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.job import Job, JobSpec, JobState, JobStatus, Task
from maar.core.model.job_flow import (
    Flow,
    FlowDependsOn,
    FlowProbe,
    HttpProbe,
    JobFlow,
    JobFlowSpec,
    JobTemplate,
    TcpProbe,
)
from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod import Pod, PodStatus
from maar.core.model.writes import CheckPods, ControllerWrite, Create, PodCheck

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROBE = FlowProbe(
    http_get_list=(HttpProbe(task_name="t", path="/ready", port=80),),
    tcp_socket_list=(TcpProbe(task_name="t", port=81),),
)


def pod(uid: str, phase: str = "Running") -> Pod:
    owner = OwnerReference(api_version=Job.api_version, kind="Job", name="f-a", uid="job", controller=True)
    notes = {"volcano.sh/task-spec": "t", "volcano.sh/task-index": "0"}
    metadata = Metadata(name="f-a-t-0", namespace="n", uid=uid, annotations=notes, owner_references=(owner,))
    return Pod(metadata=metadata, status=PodStatus(phase=phase, pod_ip="10.0.0.7"))  # type: ignore[arg-type]


def cluster() -> ClusterView:
    view = ClusterView()
    flows = (Flow(name="a"), Flow(name="b", depends_on=FlowDependsOn(targets=("a",), probe=PROBE)))
    flow = JobFlow(metadata=Metadata(name="f", namespace="n", uid="flow"), spec=JobFlowSpec(flows=flows))
    owner = OwnerReference(
        api_version=JobFlow.api_version, kind="JobFlow", name="f", uid="flow", controller=True
    )
    job = Job(
        metadata=Metadata(name="f-a", namespace="n", uid="job", owner_references=(owner,)),
        spec=JobSpec(tasks=(Task(name="t", replicas=1, min_available=1),)),
        status=JobStatus(state=JobState(phase="Running")),
    )
    templates = [JobTemplate(metadata=Metadata(name=name, namespace="n")) for name in "ab"]
    objects: list[AnyObject] = [flow, job, *templates, pod("pod-1")]
    for one in objects:
        view.feed(Upserted(object=one))
    return view


def asked(view: ClusterView, now: datetime) -> list[ControllerWrite]:
    wanted = JobFlows().reconcile(view, ["n/f"], now)
    return [write for _, write in wanted if isinstance(write, CheckPods | Create)]


def checks(uid: str) -> tuple[PodCheck, ...]:
    return (
        PodCheck(pod_uid=uid, address="10.0.0.7", port=80, path="/ready"),
        PodCheck(pod_uid=uid, address="10.0.0.7", port=81),
    )


def test_pods_are_asked_and_their_answers_let_the_next_job_be_made() -> None:
    view = cluster()
    assert asked(view, NOON) == [CheckPods(kind="JobFlow", key="n/f", checks=checks("pod-1"))]
    view.job_owners.checked("n/f", NOON, frozenset(checks("pod-1")[:1]))
    assert asked(view, NOON) == []  # nothing is asked again at once
    later = NOON + timedelta(seconds=5)
    assert asked(view, later) == [CheckPods(kind="JobFlow", key="n/f", checks=checks("pod-1")[1:])]
    view.job_owners.checked("n/f", later, frozenset(checks("pod-1")[1:]))
    (made,) = asked(view, later)
    assert isinstance(made, Create)
    assert made.key == "n/f-b"


def test_it_is_asked_again_in_time() -> None:
    view = cluster()
    assert ("n/f", NOON + timedelta(seconds=5)) in JobFlows().reconcile(view, ["n/f"], NOON)


def test_an_answer_counts_for_the_pod_that_gave_it() -> None:
    view = cluster()
    view.job_owners.checked("n/f", NOON, frozenset(checks("pod-1")))
    view.feed(Upserted(object=pod("pod-2")))
    later = NOON + timedelta(seconds=5)
    assert asked(view, later) == [CheckPods(kind="JobFlow", key="n/f", checks=checks("pod-2"))]


def test_pods_that_do_not_run_are_not_asked() -> None:
    view = cluster()
    view.feed(Upserted(object=pod("pod-1", "Pending")))
    assert asked(view, NOON) == []
