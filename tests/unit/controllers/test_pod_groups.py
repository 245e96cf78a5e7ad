"""Pods that came without a group get one."""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec import structs

from maar.core.controllers.group_template import group_name
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.model.batch_job import BatchJobStatus
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.namespace import Namespace
from maar.core.model.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import Resources
from maar.core.model.workload import BatchJob, ReplicaSet
from maar.core.model.writes import Create, Delete, Patch
from support.controller_runs import Controlled

LEAST: Final = "scheduling.volcano.sh/group-min-member"
QUEUE: Final = "scheduling.volcano.sh/queue-name"
OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="rs", uid="uid-rs", controller=True)


def pod(
    name: str, *owners: OwnerReference, scheduler: str = "volcano", annotations: dict[str, str] | None = None
) -> Pod:
    need = ResourceRequirements(requests=Resources.parse({"cpu": "500m"}))
    return Pod(
        metadata=Metadata(
            name=name,
            namespace="ns",
            uid=f"uid-{name}",
            owner_references=owners,
            annotations=annotations or {},
        ),
        spec=PodSpec(scheduler_name=scheduler, containers=(Container(name="c", resources=need),)),
        status=PodStatus(),
    )


def writes(*events: Event) -> list[object]:
    controller = Controlled(MissingGroups())
    controller.feed(events)
    return list(controller.reconcile())


def test_a_bare_pod_gets_a_group_of_its_own_in_the_queue_it_names() -> None:
    bare = pod("p", annotations={"scheduling.volcano.sh/queue-name": "q", "volcano.sh/preemptable": "true"})
    create, change = writes(Upserted(object=bare))
    assert isinstance(create, Create)
    assert create.key == "ns/podgroup-uid-p"
    assert create.document["spec"] == {"minMember": 1, "queue": "q", "minResources": {"cpu": "500m"}}
    metadata = create.document["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["annotations"] == {"volcano.sh/preemptable": "true", "maar.sh/made-for-pods": "true"}
    assert metadata["ownerReferences"][0]["uid"] == "uid-p"
    patch: dict[str, object] = {
        "metadata": {"annotations": {"scheduling.k8s.io/group-name": "podgroup-uid-p"}}
    }
    assert change == Patch(kind="Pod", key="ns/p", patch=patch)


def test_pods_of_one_owner_share_a_group_of_as_many_as_the_annotation_says() -> None:
    least = {"scheduling.volcano.sh/group-min-member": "2"}
    pods = [Upserted(object=pod(name, OWNER, annotations=least)) for name in ("a", "b")]
    found = writes(owner(), *pods)
    made = [one for one in found if isinstance(one, Create)]
    assert [one.key for one in made] == ["ns/podgroup-uid-rs"]
    assert made[0].document["spec"] == {"minMember": 2, "minResources": {"cpu": "1"}}
    assert sum(isinstance(one, Patch) for one in found) == 2


def test_a_group_that_is_there_is_not_made_again() -> None:
    known = Upserted(object=PodGroup(metadata=Metadata(name=group_name("uid-p"), namespace="ns")))
    (only,) = writes(known, Upserted(object=pod("p")))
    assert isinstance(only, Patch)


def test_pods_that_need_no_group_are_left_alone() -> None:
    grouped = pod("g", annotations={"scheduling.k8s.io/group-name": "x"})
    assert (
        writes(Upserted(object=pod("other", scheduler="default-scheduler")), Upserted(object=grouped)) == []
    )
    assert writes(Upserted(object=pod("p")), Deleted(kind="Pod", key="ns/p")) == []


def test_a_senseless_number_of_members_counts_as_one() -> None:
    for text in ("0", "-3", "many", "²", "9" * 5000):
        annotations = {"scheduling.volcano.sh/group-min-member": text}
        create, _ = writes(Upserted(object=pod("p", annotations=annotations)))
        assert isinstance(create, Create)
        spec = create.document["spec"]
        assert isinstance(spec, dict)
        assert spec["minMember"] == 1


def made_group(uid: str = "uid-rs", *, by_us: bool = True) -> Event:
    notes = {"maar.sh/made-for-pods": "true"} if by_us else {}
    return Upserted(
        object=PodGroup(metadata=Metadata(name=f"podgroup-{uid}", namespace="ns", uid="g", annotations=notes))
    )


def test_a_group_that_was_made_goes_when_its_last_pod_has_gone() -> None:
    controller = Controlled(MissingGroups())
    named = {"scheduling.k8s.io/group-name": "podgroup-uid-rs"}
    pods = [Upserted(object=pod(name, OWNER, annotations=named)) for name in "ab"]
    controller.feed([made_group(), *pods])
    assert controller.reconcile() == []
    controller.feed([Deleted(kind="Pod", key="ns/a")])
    assert controller.reconcile() == []
    controller.feed([Deleted(kind="Pod", key="ns/b")])
    assert controller.reconcile() == [Delete(kind="PodGroup", key="ns/podgroup-uid-rs", uid="g")]


def test_a_group_that_somebody_asked_for_stays_without_pods() -> None:
    assert writes(made_group(by_us=False)) == []


def owner(**annotations: str) -> Event:
    metadata = Metadata(name="rs", namespace="ns", uid="uid-rs", annotations=annotations)
    return Upserted(object=ReplicaSet(metadata=metadata))


def test_what_the_owner_says_counts_where_the_pods_say_nothing() -> None:
    reported = {LEAST: "3", QUEUE: "q", "volcano.sh/preemptable": "false", "other": "x"}
    create, _ = writes(owner(**reported), Upserted(object=pod("p", OWNER)))
    assert isinstance(create, Create)
    assert create.document["spec"] == {"minMember": 3, "queue": "q", "minResources": {"cpu": "1500m"}}
    metadata = create.document["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["annotations"] == {"volcano.sh/preemptable": "false", "maar.sh/made-for-pods": "true"}


def test_pods_wait_until_their_owner_is_known() -> None:
    controller = Controlled(MissingGroups())
    controller.feed([Upserted(object=pod("p", OWNER))])
    assert controller.reconcile() == []
    controller.feed([owner(**{LEAST: "2"})])
    create, _ = controller.reconcile()
    assert isinstance(create, Create)
    assert create.document["spec"] == {"minMember": 2, "minResources": {"cpu": "1"}}


def test_owners_of_kinds_that_are_not_read_are_not_waited_for() -> None:
    workflow = OwnerReference(
        api_version="argoproj.io/v1alpha1", kind="Workflow", name="w", uid="w", controller=True
    )
    found = writes(Upserted(object=pod("a", workflow)), Upserted(object=pod("b", workflow)))
    assert [one.key for one in found if isinstance(one, Create)] == ["ns/podgroup-w"]


def test_a_group_asks_for_what_the_annotation_says_where_it_can_be_read() -> None:
    for text, asked in (
        ('{"cpu": "3", "example.com/gpu": 2}', {"cpu": "3", "example.com/gpu": "2"}),
        ('{"cpu": "three"}', {"cpu": "500m"}),
        ("[]", {"cpu": "500m"}),
        ("{}", {"cpu": "500m"}),
    ):
        reported = {"scheduling.volcano.sh/group-min-resources": text}
        create, _ = writes(Upserted(object=pod("p", annotations=reported)))
        assert isinstance(create, Create)
        assert create.document["spec"] == {"minMember": 1, "minResources": asked}, text


NAMED = {"scheduling.k8s.io/group-name": "podgroup-uid-rs"}


def stored(**spec: object) -> Event:
    metadata = Metadata(
        name="podgroup-uid-rs",
        namespace="ns",
        uid="g",
        annotations={"maar.sh/made-for-pods": "true", "volcano.sh/preemptable": "true"},
    )
    asked: dict[str, Any] = {"min_resources": Resources.parse({"cpu": "500m"}), "min_member": 1, **spec}
    return Upserted(object=PodGroup(metadata=metadata, spec=PodGroupSpec(**asked)))


def test_a_made_group_follows_its_owner_and_comes_to_rest() -> None:
    controller = Controlled(MissingGroups())
    preemptable = {"volcano.sh/preemptable": "true"}
    member = Upserted(object=pod("p", OWNER, annotations=NAMED))
    controller.feed([owner(**preemptable), stored(), member])
    assert controller.reconcile() == []
    controller.feed([owner(**{LEAST: "3", QUEUE: "other"})])
    queue, rest = controller.reconcile()
    assert queue == Patch(kind="PodGroup", key="ns/podgroup-uid-rs", patch={"spec": {"queue": "other"}})
    assert rest == Patch(
        kind="PodGroup",
        key="ns/podgroup-uid-rs",
        patch={
            "spec": {"minMember": 3, "minResources": {"cpu": "1500m"}},
            "metadata": {"annotations": {"volcano.sh/preemptable": None}},
        },
    )
    assert controller.reconcile() == [queue, rest], "wanted until it is there"
    asked = Resources.parse({"cpu": "1500m"})
    controller.feed([stored(min_member=3, queue="other", min_resources=asked)])
    (left,) = controller.reconcile()
    assert left == Patch(
        kind="PodGroup", key=queue.key, patch={"metadata": {"annotations": {"volcano.sh/preemptable": None}}}
    )


def test_a_group_that_somebody_deletes_comes_back_while_one_of_its_pods_lives() -> None:
    controller = Controlled(MissingGroups())
    controller.feed([owner(), stored(), Upserted(object=pod("p", OWNER, annotations=NAMED))])
    controller.feed([Deleted(kind="PodGroup", key="ns/podgroup-uid-rs")])
    (create,) = controller.reconcile()
    assert isinstance(create, Create)
    assert (create.key, create.about) == ("ns/podgroup-uid-rs", "ns/p")
    controller.feed([Deleted(kind="Pod", key="ns/p")])
    assert controller.reconcile() == []


def test_a_group_whose_owner_is_gone_does_not_come_back() -> None:
    controller = Controlled(MissingGroups())
    controller.feed([owner(), stored(), Upserted(object=pod("p", OWNER, annotations=NAMED))])
    controller.feed(
        [Deleted(kind="ReplicaSet", key="ns/rs"), Deleted(kind="PodGroup", key="ns/podgroup-uid-rs")]
    )
    assert controller.reconcile() == []


def test_pods_that_were_orphaned_do_not_change_the_group_that_they_name() -> None:
    controller = Controlled(MissingGroups())
    controller.feed([stored(min_member=3), Upserted(object=pod("p", annotations=NAMED))])
    assert controller.reconcile() == []


def test_default_means_the_queue_of_the_namespace_and_nothing_is_written_again_and_again() -> None:
    controller = Controlled(MissingGroups())
    reported = {QUEUE: "team"}
    namespace = Upserted(object=Namespace(metadata=Metadata(name="ns", annotations=reported)))
    preemptable = {"volcano.sh/preemptable": "true"}
    member = Upserted(object=pod("p", OWNER, annotations=NAMED))
    controller.feed([namespace, owner(**preemptable, **{QUEUE: "default"}), stored(queue="team"), member])
    assert controller.reconcile() == []


def test_groups_are_made_in_the_order_of_their_pods_and_as_a_person_reads_their_names() -> None:
    """A list comes in the order of its keys, in which f-10 is before f-2."""
    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    pods = [pod(f"f-{number}") for number in (1, 10, 2, 3)]
    ages = [first, first, first, second]
    pods = [
        structs.replace(one, metadata=structs.replace(one.metadata, creation_timestamp=age))
        for one, age in zip(reversed(pods), ages, strict=True)
    ]
    made = [one.key for one in writes(*(Upserted(object=one) for one in pods)) if isinstance(one, Create)]
    assert made == [f"ns/podgroup-uid-f-{number}" for number in (2, 3, 10, 1)]


def test_a_group_says_since_when_its_owner_exists() -> None:
    since = datetime(2026, 1, 1, 12, tzinfo=UTC)
    owner = ReplicaSet(metadata=Metadata(name="rs", namespace="ns", uid="uid-rs", creation_timestamp=since))
    create, _ = writes(Upserted(object=owner), Upserted(object=pod("rs-1", OWNER)))
    assert isinstance(create, Create)
    metadata = create.document["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["annotations"]["maar.sh/owner-since"] == "2026-01-01T12:00:00Z"


DEPLOYMENT = OwnerReference(
    api_version="apps/v1", kind="Deployment", name="web", uid="uid-d", controller=True
)


def version(name: str, **annotations: str) -> Event:
    """A ReplicaSet of the Deployment."""
    notes = Metadata(
        name=name, namespace="ns", uid=f"uid-{name}", annotations=annotations, owner_references=(DEPLOYMENT,)
    )
    return Upserted(object=ReplicaSet(metadata=notes))


def version_pod(name: str, replica_set: str, **annotations: str) -> Event:
    """A pod of a ReplicaSet."""
    owner = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name=replica_set, uid=f"uid-{replica_set}", controller=True
    )
    return Upserted(object=pod(name, owner, annotations=annotations))


def test_all_versions_of_a_deployment_are_one_group() -> None:
    controller = Controlled(MissingGroups())
    controller.feed([version("web-1", **{LEAST: "2"}), version_pod("a", "web-1"), version_pod("b", "web-1")])
    create, *names = controller.reconcile()
    assert isinstance(create, Create)
    assert create.key == "ns/podgroup-uid-d"
    metadata = create.document["metadata"]
    assert isinstance(metadata, dict)
    assert [(one["kind"], one["name"], one["uid"]) for one in metadata["ownerReferences"]] == [
        ("Deployment", "web", "uid-d")
    ]
    named = {"scheduling.k8s.io/group-name": "podgroup-uid-d"}
    group = PodGroup(
        metadata=Metadata(
            name="podgroup-uid-d", namespace="ns", uid="g", annotations={"maar.sh/made-for-pods": "true"}
        ),
        spec=PodGroupSpec(min_member=2, min_resources=Resources.parse({"cpu": "1"})),
    )
    controller.feed([Upserted(object=group), *[version_pod(one, "web-1", **named) for one in "ab"]])
    assert len(names) == 2
    assert controller.reconcile() == []
    controller.feed([version("web-2", **{LEAST: "3"}), version_pod("c", "web-2")])
    follow, name = controller.reconcile()
    assert follow == Patch(
        kind="PodGroup",
        key="ns/podgroup-uid-d",
        patch={"spec": {"minMember": 3, "minResources": {"cpu": "1500m"}}},
    )
    assert isinstance(name, Patch)
    assert (name.key, name.patch) == ("ns/c", {"metadata": {"annotations": named}})


def test_pods_that_are_seen_before_their_version_come_into_the_group_of_the_deployment() -> None:
    controller = Controlled(MissingGroups())
    named = {"scheduling.k8s.io/group-name": "podgroup-uid-d"}
    controller.feed([version_pod("a", "web-1"), version_pod("b", "web-1", **named)])
    assert controller.reconcile() == []
    controller.feed([version("web-1")])
    create, name = controller.reconcile()
    assert isinstance(create, Create)
    assert isinstance(name, Patch)
    assert (create.key, name.key) == ("ns/podgroup-uid-d", "ns/a")
    controller.feed([Deleted(kind="ReplicaSet", key="ns/web-1"), Deleted(kind="Pod", key="ns/a")])
    controller.feed([Deleted(kind="Pod", key="ns/b")])
    assert controller.reconcile() == []


def test_the_group_of_an_earlier_release_stays_with_its_pods() -> None:
    controller = Controlled(MissingGroups())
    named = {"scheduling.k8s.io/group-name": "podgroup-uid-web-1"}
    controller.feed([version("web-1"), made_group("uid-web-1"), version_pod("a", "web-1", **named)])
    assert controller.reconcile() == []
    controller.feed([Deleted(kind="Pod", key="ns/a")])
    assert controller.reconcile() == [Delete(kind="PodGroup", key="ns/podgroup-uid-web-1", uid="g")]


def test_pods_of_a_job_that_succeeded_and_are_gone_count() -> None:
    reference = OwnerReference(api_version="batch/v1", kind="Job", name="j", uid="uid-j", controller=True)

    def job(succeeded: int) -> Event:
        metadata = Metadata(name="j", namespace="ns", uid="uid-j", annotations={LEAST: "4"})
        return Upserted(object=BatchJob(metadata=metadata, status=BatchJobStatus(succeeded=succeeded)))

    def least(controller: Controlled) -> object:
        create, *_ = controller.reconcile()
        assert isinstance(create, Create)
        spec = create.document["spec"]
        assert isinstance(spec, dict)
        return spec["minMember"]

    ended = structs.replace(pod("done", reference), status=PodStatus(phase="Succeeded"))
    controller = Controlled(MissingGroups())
    controller.feed([job(1), Upserted(object=ended), Upserted(object=pod("a", reference))])
    assert least(controller) == 4, "the one that has succeeded is there and counts itself"
    controller.feed([job(3)])
    assert least(controller) == 2
    controller.feed([Deleted(kind="Pod", key="ns/done")])
    assert least(controller) == 1
    controller.feed([job(9)])
    assert least(controller) == 1
